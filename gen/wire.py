"""How an event lies on the wire: codes that the host makes, values that the circuit encodes.

The codes come first, in the order of their fields, and share their place with configuration
words. The values come last, below the bit that tells the two apart: each as its distance from
its type's lowest key, with a bit on top that tells whether there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from penstock.gen.plan import CodeField, Field, PairField, Source
from penstock.gen.schema import Attribute
from penstock.gen.types import Type

WIDEST_VALUE_BITS = 64
MOST_THRESHOLDS = 2**15 - 1
"""A configuration word has no room for the place of one more."""


@dataclass(frozen=True, slots=True)
class Wire:
    """What of an event goes to the circuit."""

    coded: tuple[int, ...]
    """The fields whose codes the host makes."""
    values: tuple[Attribute, ...]
    """The attributes that go as they are, in the order of the schema."""

    @property
    def value_bits(self) -> tuple[int, ...]:
        """Bits of each value, the one for presence not counted."""
        return tuple(value_bits(attribute.type) for attribute in self.values)


def wire_of(fields: Sequence[Field]) -> Wire:
    """How events with these fields lie on the wire."""
    coded = tuple(n for n, field in enumerate(fields) if field.source is Source.HOST)
    raw = chain(*(attributes_of(field) for field in fields if field.source is not Source.HOST))
    return Wire(coded, tuple(sorted(set(raw), key=lambda attribute: attribute.index)))


def attributes_of(field: Field) -> tuple[Attribute, ...]:
    """What the code of a field is made from."""
    return (field.left, field.right) if isinstance(field, PairField) else (field.attribute,)


def value_bits(of: Type) -> int:
    """Bits of a value on the wire, of a type whose values can be there."""
    assert of.key_bits is not None and of.key_bits <= WIDEST_VALUE_BITS
    return of.key_bits


def sources_for(field: Field) -> tuple[Source, ...]:
    """All that can make the code of a field: the host, and circuits that compare numbers."""
    types = [attribute.type for attribute in attributes_of(field)]
    if any(of.key_bits is None or of.key_bits > WIDEST_VALUE_BITS for of in types):
        return (Source.HOST,)
    if isinstance(field, PairField):
        types.append(field.common)
        is_plain = len(set(types)) == 1 or all(of.is_integral for of in types)
        return (Source.HOST, Source.COMPARE) if is_plain else (Source.HOST,)
    if len(thresholds_of(field)[0]) > MOST_THRESHOLDS:
        return (Source.HOST,)
    return (Source.HOST, Source.RANK, Source.DIRECT)


def thresholds_of(field: CodeField) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where values on the wire change their code, and the codes below, between and above.

    n INT, cuts 5, 9, codes 1, 2, 3   ->   thresholds lowest, 5, 9, codes 0, 1, 2, 3

    Numbers are as on the wire: an absent value is below all of them, a present one from the
    lowest up. Where nothing changes, there is no threshold.
    """
    lowest, present = field.attribute.type.lowest, 1 << value_bits(field.attribute.type)
    assert isinstance(lowest, int)
    stretches = {present: field.codes[0]}
    for cut, code in zip(field.cuts, field.codes[1:], strict=True):
        assert isinstance(cut, int)
        stretches[present + cut - lowest] = code  # the first, if no value is below the first cut
    thresholds, codes = [], [0]
    for threshold, code in stretches.items():
        if code != codes[-1]:
            thresholds.append(threshold)
            codes.append(code)
    return tuple(thresholds), tuple(codes)


def search_steps(field: CodeField) -> int:
    """Steps of the search for a value's place among the thresholds."""
    return max(1, len(thresholds_of(field)[0]).bit_length())
