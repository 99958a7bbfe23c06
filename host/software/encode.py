"""Events as codes, the fields of a set side by side or one entry after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from penstock.gen.plan import RELATIONS
from penstock.host.encode import PairColumn
from penstock.host.events import Batch
from penstock.host.keys import has_short_keys, short_keys_of
from penstock.host.software.cuts import ABSENT, Codes, Cuts
from penstock.host.software.lookup import count_entries, lookup_of, write_column, write_entries
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
        none = np.zeros(0, np.int64)
        of = [field.attribute.type if isinstance(field, CutField) else None for field in fields]
        is_short = [type is not None and has_short_keys(type) for type in of]
        self._short = {f.attribute.index: n for n, f in enumerate(fields) if is_short[n]}
        self._lookup = lookup_of(
            [
                field.cuts.keys if isinstance(field, CutField) and short else none
                for field, short in zip(fields, is_short, strict=True)
            ]
        )
        self._long: dict[int, tuple[int, Cuts]] = {}
        self._pairs: list[tuple[int, PairColumn]] = []
        for number, field in enumerate(fields):
            if not isinstance(field, CutField):
                self._pairs.append((number, PairColumn(field.pair)))
            elif not is_short[number]:
                self._long[field.attribute.index] = (number, field.cuts)
        self._count = len(fields)

    def wide(self, batch: Batch) -> Codes:
        """A row per event with a code per field, and one more that is 0."""
        codes = np.zeros((batch.rows, self._count + 1), np.uint32)
        for index, column in batch.columns.items():
            if index in self._short:
                number, values = self._short[index], column.values
                keys = short_keys_of(values, batch.schema.attributes[index].type)
                write_column(keys, number, *self._lookup, codes[:, number])
                if values.null_count:
                    codes[np.asarray(values.is_null()), number] = ABSENT
        for number, _, found in self._others(batch):
            codes[:, number] = found
        return codes

    def sparse(self, batch: Batch) -> Entries:
        """The entries of each event one after the other."""
        attributes, events, keys = batch.short_entries
        numbers = np.full(len(batch.schema), -1, np.int32)
        numbers[[*self._short]] = [*self._short.values()]
        others = list(self._others(batch))
        owners = [np.arange(batch.rows) if events is None else events for _, events, _ in others]
        starts = np.zeros(batch.rows + 1, np.int64)
        count_entries(attributes, events, numbers, starts)
        for mine in owners:
            starts[1:] += np.bincount(mine, minlength=batch.rows)
        np.cumsum(starts, out=starts)
        into = Entries(starts, np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint32))
        places = starts[:-1].copy()
        write_entries(
            attributes, events, keys, numbers, places, *self._lookup, into.fields, into.codes
        )
        for (number, _, codes), mine in zip(others, owners, strict=True):
            at = places[mine]
            places[mine] += 1
            into.fields[at], into.codes[at] = number, codes
        return into

    def _others(self, batch: Batch) -> Iterator[tuple[int, Integers | None, Codes]]:
        """Field, events and codes of long keys and of pairs."""
        for index, (number, cuts) in self._long.items():
            column = batch.columns.get(index)
            if column is not None:
                yield number, column.events, cuts.codes_of(column.values)
        for number, pair in self._pairs:
            yield number, None, _relations(pair, batch)


def _relations(pair: PairColumn, batch: Batch) -> Codes:
    codes: Codes = _RELATION_CODES[pair.codes(batch.wide())]
    return codes
