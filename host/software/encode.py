"""Events as codes, the fields of a set side by side or one entry after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from penstock.gen.plan import RELATIONS
from penstock.host.encode import PairColumn
from penstock.host.events import Batch
from penstock.host.software.compiled import compiled
from penstock.host.software.cuts import Codes
from penstock.host.software.packed import RELATION_CODES, CutField, Field, Integers, Numbers

_RELATION_CODES = np.array([RELATION_CODES[name] for name in RELATIONS], np.uint32)


class Entries(NamedTuple):
    """Events as codes: event ``e`` has those from ``starts[e]`` to ``starts[e + 1]``."""

    starts: Integers
    fields: Numbers
    codes: Codes


class Encoder:
    """Makes the codes of some fields for batches of events."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._cuts = {
            field.attribute.index: (number, field.cuts)
            for number, field in enumerate(fields)
            if isinstance(field, CutField)
        }
        self._pairs = [
            (number, PairColumn(field.pair))
            for number, field in enumerate(fields)
            if not isinstance(field, CutField)
        ]
        self._count = len(fields)

    def wide(self, batch: Batch) -> Codes:
        """A row per event with a code per field, and one more that is 0."""
        codes = np.zeros((batch.rows, self._count + 1), np.uint32)
        for number, events, found in self._columns(batch):
            codes[slice(None) if events is None else events, number] = found
        return codes

    def sparse(self, batch: Batch) -> Entries:
        """The entries of each event one after the other, in the order of the fields."""
        every = np.arange(batch.rows)
        columns = sorted(self._columns(batch), key=lambda column: column[0])
        numbers = [number for number, _, _ in columns]
        events = [every if rows is None else rows for _, rows, _ in columns]
        sizes = [len(rows) for rows in events]
        none = np.zeros(0, np.int64)
        owners = np.concatenate([none, *events])
        starts = np.zeros(batch.rows + 1, np.int64)
        np.cumsum(np.bincount(owners, minlength=batch.rows), out=starts[1:])
        fields = np.repeat(np.array(numbers, np.int32), sizes)
        codes = np.concatenate([none.astype(np.uint32), *(found for _, _, found in columns)])
        placed = Entries(starts, np.empty_like(fields), np.empty_like(codes))
        _place(owners, fields, codes, starts[:-1].copy(), placed)
        return placed

    def _columns(self, batch: Batch) -> Iterator[tuple[int, Integers | None, Codes]]:
        """Field, events and codes of each field that any event may have a value of."""
        for index, column in batch.columns.items():
            if index in self._cuts:
                number, cuts = self._cuts[index]
                yield number, column.events, cuts.codes_of(column.values)
        for number, pair in self._pairs:
            yield number, None, _RELATION_CODES[pair.codes(batch.wide())]


@compiled
def _place(
    owners: Integers, fields: Numbers, codes: Codes, places: Integers, into: Entries
) -> None:
    for n in range(len(owners)):
        at = places[owners[n]]
        places[owners[n]] = at + 1
        into.fields[at] = fields[n]
        into.codes[at] = codes[n]
