"""The table region as the host keeps it: what its codes and rows mean, and how they change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.gen.errors import DeviceError
from penstock.gen.expr import Expression
from penstock.gen.normal import TRUE, Conjunction, Normal
from penstock.gen.normalise import TooManyDisjuncts, disjuncts, normalise
from penstock.gen.passes.weaken import weaken
from penstock.gen.plan import CHUNK_BITS, CodeField, TableRegion
from penstock.gen.schema import Attribute
from penstock.gen.types import Key
from penstock.gen.values import ValueSet
from penstock.host.config_words import ConfigWord, Update
from penstock.host.encode import CodeColumn, Words

MAX_PLACES = 16
"""A condition that spreads into more conjunctions than this is refused."""
ABSENT = 0
"""The code of absence; values have the codes from 1 on."""


class Table:
    """Subscriptions as memory contents: adding or removing one gives the words to send.

    A subscription has a place, which is a match bit, for each conjunction that its condition
    spreads into. Each attribute has codes for the stretches of values that present subscriptions
    tell apart. A new one may split what a code stands for: a part keeps the code, other parts get
    free codes, and those get a copy of its row. So events with old codes find what they found.
    When a subscription goes, codes that nothing tells apart any more become one again.

    A table stands for the region of a circuit that has just been loaded, all its memories zero.
    """

    def __init__(self, region: TableRegion) -> None:
        self.region = region
        self.ids: list[str | None] = [None] * region.capacity
        """By match bit, the subscription that it stands for."""
        self.residuals: dict[str, Normal] = {}
        """The conditions that the host tests on what comes through."""
        self.alone: dict[str, Normal] = {}
        """The conditions that the host tests on every event."""
        self._places: dict[str, tuple[int, ...]] = {}
        self._valid = 0
        self._memories = [
            _Memory(attribute, bits)
            for attribute, bits in zip(region.attributes, region.code_bits, strict=True)
        ]

    def __contains__(self, id: object) -> bool:
        return id in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, id: str, condition: Expression) -> Update:
        """Place a subscription; DeviceError, and nothing changed, if there is no room for it."""
        if id in self._places:
            raise ValueError(f"subscription {id!r} is in the table already")
        exact = normalise(condition)
        weaker, reason = weaken(exact, widest_pair_bits=0)
        is_alone = bool(reason) and weaker == TRUE
        parts = () if is_alone else _spread(id, weaker)
        places = self._free_places(id, len(parts))
        refinements = [
            memory.refined(id, _sets(parts, memory.attribute)) for memory in self._memories
        ]
        rows = self._write_rows(places, refinements)
        self._places[id] = places
        for place in places:
            self.ids[place] = id
        if reason:
            (self.alone if is_alone else self.residuals)[id] = exact
        # The rows have changed where nothing looks yet: at codes and places that were free.
        return Update(before=rows, after=self._write_valid(self._valid | _mask(places)))

    def remove(self, id: str) -> Update:
        """Give up a subscription's places; KeyError if it is not here."""
        if id not in self._places:
            raise KeyError(f"no subscription {id!r} in the table")
        places = self._places.pop(id)
        for place in places:
            self.ids[place] = None
        self.residuals.pop(id, None)
        self.alone.pop(id, None)
        words = self._write_valid(self._valid & ~_mask(places))
        for memory in self._memories:
            memory.join_codes(self._valid)
        # Codes may mean more now, which the places must not see while they are valid.
        return Update(before=words)

    def codes(self, events: pa.RecordBatch) -> list[Words | None]:
        """The codes of a batch, attribute by attribute, as they mean now."""
        return [memory.column.codes(events) for memory in self._memories]

    def _free_places(self, id: str, count: int) -> tuple[int, ...]:
        free = [place for place, holder in enumerate(self.ids) if holder is None]
        if count > len(free):
            raise DeviceError(
                f"the table is full: {id!r} takes {count} of its {self.region.capacity} places "
                f"and {len(free)} are free\n"
                "hint: remove subscriptions, or build with more spare places"
            )
        return tuple(free[:count])

    def _write_rows(
        self, places: Sequence[int], refinements: Sequence[_Refinement]
    ) -> tuple[ConfigWord, ...]:
        """Take over new codes, and write the rows in which the places or the codes are new."""
        words: list[ConfigWord] = []
        if not places:
            return ()
        for number, (memory, refined) in enumerate(zip(self._memories, refinements, strict=True)):
            before = list(memory.rows)
            for code, admitted in sorted(refined.admitted.items()):
                row = before[refined.origins.get(code, code)] & ~_mask(places)
                row |= _mask(p for p, admits in zip(places, admitted, strict=True) if admits)
                memory.rows[code] = row
                words += [
                    ConfigWord(self.region.row_address(number, code, chunk), bits)
                    for chunk, bits in _changed_chunks(before[code], row)
                ]
            memory.set_codes(refined.starts, refined.codes)
        return tuple(words)

    def _write_valid(self, valid: int) -> tuple[ConfigWord, ...]:
        changed = _changed_chunks(self._valid, valid)
        self._valid = valid
        return tuple(ConfigWord(self.region.valid_address(chunk), bits) for chunk, bits in changed)


@dataclass(frozen=True, slots=True)
class _Refinement:
    """New codes of an attribute, fine enough for more tests."""

    starts: tuple[Key, ...]
    codes: tuple[int, ...]
    origins: dict[int, int]
    """For each code that was free: the code that was split for it."""
    admitted: dict[int, tuple[bool, ...]]
    """For each code, absence included: which of the tests admit it."""


@dataclass(slots=True)
class _Memory:
    """One attribute: its stretches of values from each start on, their codes, and a row per code.

    Different codes in use have rows that differ in some valid place.
    """

    attribute: Attribute
    bits: int
    starts: tuple[Key, ...] = ()
    codes: tuple[int, ...] = ()
    rows: list[int] = field(default_factory=list)
    column: CodeColumn = field(init=False)

    def __post_init__(self) -> None:
        self.rows = [0] * 2**self.bits
        self.set_codes((self.attribute.type.lowest,), (1,))

    def set_codes(self, starts: tuple[Key, ...], codes: tuple[int, ...]) -> None:
        if (starts, codes) == (self.starts, self.codes):
            return
        self.starts, self.codes = starts, codes
        self.column = CodeColumn(CodeField(self.attribute, starts, (ABSENT, *codes)))

    def refined(self, id: str, sets: Sequence[ValueSet | None]) -> _Refinement:
        """Codes that tell apart what some sets of values tell apart; ``None`` is all values."""
        known = [values for values in sets if values is not None]
        cuts = {cut for values in known for cut in values.cuts}
        starts = tuple(sorted({*self.starts, *cuts}))
        free = (code for code in range(1, len(self.rows)) if code not in self.codes)
        chosen: dict[tuple[int, tuple[bool, ...]], int] = {}
        admitted = {ABSENT: tuple(values is None or values.null for values in sets)}
        origins: dict[int, int] = {}
        codes = []
        for start in starts:
            origin = self.codes[bisect_right(self.starts, start) - 1]
            admits = tuple(values is None or values.has(start) for values in sets)
            if (origin, admits) not in chosen:
                code = next(free, None) if origin in admitted else origin
                if code is None:
                    raise self._full(id)
                if code != origin:
                    origins[code] = origin
                chosen[origin, admits] = code
                admitted[code] = admits
            codes.append(chosen[origin, admits])
        return _Refinement(starts, tuple(codes), origins, admitted)

    def join_codes(self, valid: int) -> None:
        """One code for all stretches whose rows agree in the valid places."""
        first: dict[int, int] = {}
        joined = [first.setdefault(self.rows[code] & valid, code) for code in self.codes]
        kept = [n for n, code in enumerate(joined) if n == 0 or code != joined[n - 1]]
        self.set_codes(tuple(self.starts[n] for n in kept), tuple(joined[n] for n in kept))

    def _full(self, id: str) -> DeviceError:
        return DeviceError(
            f"the table has {len(self.rows) - 1} codes for the values of {self.attribute.name}, "
            f"and with {id!r} there is more to tell apart\n"
            "hint: remove subscriptions with other constants, or build with this one in the set"
        )


def _spread(id: str, condition: Normal) -> tuple[Conjunction, ...]:
    try:
        return disjuncts(condition, MAX_PLACES)
    except TooManyDisjuncts as error:
        raise DeviceError(f"subscription {id!r} does not fit into a table: {error}") from None


def _sets(parts: Sequence[Conjunction], attribute: Attribute) -> list[ValueSet | None]:
    """What each conjunction admits of an attribute; ``None`` where it does not look at it."""
    tests = [{test.attribute.index: test.values for test in part.tests} for part in parts]
    return [by_index.get(attribute.index) for by_index in tests]


def _mask(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


def _changed_chunks(before: int, after: int) -> list[tuple[int, int]]:
    """Number and new content of the chunks in which two rows of bits differ."""
    chunks = []
    differing = before ^ after
    while differing:
        chunk = ((differing & -differing).bit_length() - 1) // CHUNK_BITS
        chunks.append((chunk, after >> chunk * CHUNK_BITS & 2**CHUNK_BITS - 1))
        differing &= -1 << (chunk + 1) * CHUNK_BITS
    return chunks
