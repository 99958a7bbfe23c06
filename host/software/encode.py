"""Events as codes, the fields of a set side by side or one entry after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from penstock.gen.plan import RELATIONS
from penstock.host.encode import PairColumn
from penstock.host.events import Batch, Column
from penstock.host.software.compiled import compiled
from penstock.host.software.cuts import Codes, Cuts
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
        for number, cuts, column in self._columns(batch):
            cuts.encode(column.values, codes[:, number])
        for number, pair in self._pairs:
            codes[:, number] = _relations(pair, batch)
        return codes

    def sparse(self, batch: Batch) -> Entries:
        """The entries of each event one after the other, in the order of the fields."""
        every = np.arange(batch.rows)
        columns = list(self._columns(batch))
        numbers = [number for number, _, _ in columns] + [number for number, _ in self._pairs]
        events = [every if column.events is None else column.events for _, _, column in columns]
        events += [every] * len(self._pairs)
        bounds = np.cumsum([0, *map(len, events)])
        codes = np.empty(int(bounds[-1]), np.uint32)
        for (_, cuts, column), first, stop in zip(columns, bounds, bounds[1:], strict=False):
            cuts.encode(column.values, codes[first:stop])
        for place, (_, pair) in enumerate(self._pairs, start=len(columns)):
            codes[bounds[place] : bounds[place + 1]] = _relations(pair, batch)
        owners = np.concatenate([np.zeros(0, np.int64), *events])
        starts = np.zeros(batch.rows + 1, np.int64)
        np.cumsum(np.bincount(owners, minlength=batch.rows), out=starts[1:])
        fields = np.repeat(np.array(numbers, np.int32), np.diff(bounds))
        placed = Entries(starts, np.empty_like(fields), np.empty_like(codes))
        _place(owners, fields, codes, starts[:-1].copy(), placed)
        return placed

    def _columns(self, batch: Batch) -> Iterator[tuple[int, Cuts, Column]]:
        """Field, cuts and values of each attribute that any event carries."""
        for index, column in batch.columns.items():
            if index in self._cuts:
                yield *self._cuts[index], column


def _relations(pair: PairColumn, batch: Batch) -> Codes:
    codes: Codes = _RELATION_CODES[pair.codes(batch.wide())]
    return codes


@compiled
def _place(
    owners: Integers, fields: Numbers, codes: Codes, places: Integers, into: Entries
) -> None:
    for n in range(len(owners)):
        at = places[owners[n]]
        places[owners[n]] = at + 1
        into.fields[at] = fields[n]
        into.codes[at] = codes[n]
