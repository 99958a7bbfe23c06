"""Events as the words that a circuit takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.arrow import to_values
from penstock.gen.casting import cast
from penstock.gen.manifest import Manifest
from penstock.gen.plan import RELATIONS, CodeField, PairField
from penstock.gen.schema import Attribute
from penstock.gen.types import Type
from penstock.gen.wire import value_bits, wire_of
from penstock.host.keys import keys_of

Words = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.uint64]
WORD_BITS = 32
TABLE_KEYS = 1 << 16
"""Where cuts lie within so many keys, a table has the code of each."""
HALF = np.uint64(2**WORD_BITS - 1)
"""The lower half of a number of 64 bits."""


class Encoder:
    """Packs the codes of an event side by side, and the values that the circuit encodes itself.

    The codes of a table come from the host's `Table`, as they change with its subscriptions.
    """

    def __init__(self, manifest: Manifest, event_bits: int) -> None:
        self.words = -(-event_bits // WORD_BITS)
        wire = wire_of(manifest.fields)
        coded = [manifest.fields[number] for number in wire.coded]
        self._codes = [
            CodeColumn(field) if isinstance(field, CodeField) else PairColumn(field)
            for field in coded
        ]
        widths = [field.width for field in coded]
        widths += manifest.table.code_bits if manifest.table else ()
        self._code_offsets = _offsets(widths, first=0)
        self._values = [_ValueColumn(attribute) for attribute in wire.values]
        value_widths = [bits + 1 for bits in wire.value_bits]
        self._value_offsets = _offsets(value_widths, first=event_bits - 1 - sum(value_widths))

    def encode(self, events: pa.RecordBatch, table_codes: Sequence[Words | None] = ()) -> Words:
        """One row of words per event: codes from the lowest bits on, the table's after them."""
        packed = np.zeros((events.num_rows, self.words + 2), dtype=np.uint64)
        columns = chain((column.codes(events) for column in self._codes), table_codes)
        for codes, offset in zip(columns, self._code_offsets, strict=True):
            if codes is not None:
                _place(packed, codes.astype(np.uint64), offset)
        for value, offset in zip(self._values, self._value_offsets, strict=True):
            found = value.numbers(events)
            if found is not None:
                numbers, present = found
                _place(packed, numbers & HALF, offset)
                _place(packed, numbers >> np.uint64(WORD_BITS), offset + WORD_BITS)
                _place(packed, present, offset + value.bits)
        return np.ascontiguousarray(packed[:, : self.words].astype(np.uint32))


def _offsets(widths: list[int], *, first: int) -> list[int]:
    """Where each of some numbers begins that lie side by side."""
    return [first + sum(widths[:index]) for index in range(len(widths))]


def _place(packed: Numbers, numbers: Numbers, offset: int) -> None:
    """Set the bits of numbers, up to a word each, in the rows of words."""
    word, shift = divmod(offset, WORD_BITS)
    placed = numbers << np.uint64(shift)
    packed[:, word] |= placed & HALF
    packed[:, word + 1] |= placed >> np.uint64(WORD_BITS)


class CodeColumn:
    """The codes of one attribute: how many cuts lie at or below a value, by a search or a table."""

    def __init__(self, field: CodeField) -> None:
        self._name = field.attribute.name
        self._type = field.attribute.type
        cuts, codes = field.cuts, field.codes
        if cuts and cuts[0] == self._type.lowest:  # every value is at or above it
            cuts, codes = cuts[1:], codes[1:]
        self._codes = np.array(codes, dtype=np.uint32)
        is_narrow = self._type.key_bits is not None and self._type.key_bits <= 64
        self._cuts = np.array(cuts, dtype=np.int64 if is_narrow else object)
        self._table: Words | None = None
        if is_narrow and cuts and int(self._cuts[-1]) - int(self._cuts[0]) < TABLE_KEYS:
            # From just below the first cut to the last; beyond, codes do not change.
            self._table = self._search(np.arange(self._cuts[0] - 1, self._cuts[-1] + 1))

    def codes(self, events: pa.RecordBatch) -> Words | None:
        """The codes of all events; ``None`` where none has the attribute."""
        column = _column(events, self._name)
        if column is None:
            return None
        if self._type.name == "STRING":
            return self._by_distinct(column)
        return self._of(column)

    def _of(self, column: pa.Array) -> Words:
        keys = keys_of(column, self._type)
        if self._table is None:
            found = self._search(keys)
        else:
            first = self._cuts[0] - 1
            found = self._table[np.clip(keys, first, self._cuts[-1]) - first]
        if column.null_count:
            found[np.asarray(column.is_null())] = 0
        return found

    def _search(self, keys: npt.NDArray[Any]) -> Words:
        found: Words = self._codes[np.searchsorted(self._cuts, keys, side="right")]
        return found

    def _by_distinct(self, column: pa.Array) -> Words:
        """Look up each distinct string once."""
        encoded = column.dictionary_encode()
        known = np.append(self._of(encoded.dictionary), np.uint32(0))
        codes: Words = known[np.asarray(encoded.indices.fill_null(len(known) - 1))]
        return codes


class _ValueColumn:
    """The values of one attribute, each as its distance from its type's lowest key."""

    def __init__(self, attribute: Attribute) -> None:
        self._name = attribute.name
        self._type = attribute.type
        self.bits = value_bits(attribute.type)

    def numbers(self, events: pa.RecordBatch) -> tuple[Numbers, Numbers] | None:
        """The values of all events, 0 where there is none, and 1 where there is one."""
        column = _column(events, self._name)
        if column is None:
            return None
        lowest = self._type.lowest
        assert isinstance(lowest, int)
        present = np.asarray(column.is_valid()).astype(np.uint64)
        # Both as numbers modulo 2**64: the distance is right, though the keys have signs.
        numbers = keys_of(column, self._type).astype(np.uint64) - np.uint64(lowest % 2**64)
        return numbers * present, present


class PairColumn:
    """How two attributes relate, compared in their common type."""

    def __init__(self, field: PairField) -> None:
        self._field = field

    def codes(self, events: pa.RecordBatch) -> Words:
        field = self._field
        left, right = (_column(events, side.name) for side in (field.left, field.right))
        absent = [
            np.ones(events.num_rows, bool) if side is None else np.asarray(side.is_null())
            for side in (left, right)
        ]
        codes = np.full(events.num_rows, RELATIONS.index("both absent"), dtype=np.uint32)
        codes[absent[0] != absent[1]] = RELATIONS.index("one absent")
        present = ~(absent[0] | absent[1])
        if left is not None and right is not None and present.any():
            mask = pa.array(present)
            first = _cast_keys(left.filter(mask), field.left.type, field.common)
            second = _cast_keys(right.filter(mask), field.right.type, field.common)
            below = np.where(first < second, RELATIONS.index("<"), RELATIONS.index("="))
            codes[present] = np.where(first > second, RELATIONS.index(">"), below)
        return codes


def _cast_keys(column: pa.Array, source: Type, common: Type) -> npt.NDArray[Any]:
    """The keys that values have in the type in which they are compared."""
    if source == common or (source.is_integral and common.is_integral):
        return keys_of(column, source)
    values = [common.key(cast(v, source, common)) for v in to_values(column) if v is not None]
    return np.array(values, dtype=object)


def _column(events: pa.RecordBatch, name: str) -> pa.Array | None:
    index = events.schema.get_field_index(name)
    return None if index < 0 else events.column(index)
