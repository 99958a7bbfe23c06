"""A part of the subscriptions of a device, indexed once and for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from penstock.gen.normal import Normal, Pattern, leaves_of
from penstock.gen.normalise import normalise
from penstock.gen.passes.weaken import weaken
from penstock.gen.queryset import PROGRESS_STEP, Progress, QuerySet
from penstock.host.events import Batch
from penstock.host.once import once
from penstock.host.software.cost import Cost
from penstock.host.software.cuts import Codes
from penstock.host.software.encode import Encoder, Entries
from penstock.host.software.ids import Ids, bits_of, in_order
from penstock.host.software.layout import Layout, layout_of
from penstock.host.software.pack import Conditions, pack
from penstock.host.software.pack_tables import TableRows
from penstock.host.software.packed import Flags, Integers, Numbers, Packed
from penstock.host.software.rank import Worth, highest_worth, worth_of
from penstock.host.software.tiles import (
    Alive,
    Scratch,
    Tests,
    Tile,
    scatter,
    scratch_for,
    tests_of,
)

Coded: TypeAlias = Codes | Entries
"""Events as codes: wide with a row each, or sparse."""
HIGHEST_SCORE = 2**63 - 1
WIDEST_PAIR_BITS = 1 << 20
"""Two attributes are compared in any type."""
TILE_CODES = 1 << 19
"""Codes that a tile has room for; of sparse events most are absent."""
LEAST_EVENTS, MOST_EVENTS = 64, 8192
"""Events of a tile: enough to use a block's rows more than once, all codes still in the cache."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Subscriptions numbered in order of their ids, their index, and what the host finishes."""

    ids: Ids
    packed: Packed
    residuals: Mapping[int, Normal]
    """Whole conditions, by number, of those that the index only narrows down."""
    is_lasting: bool = True
    """Whether it is worth a layout that takes long to find."""

    def __len__(self) -> int:
        return len(self.ids)

    @once
    def _laid_out(self) -> tuple[Layout, Cost]:
        return layout_of(self.packed, self.is_lasting)

    @property
    def layout(self) -> Layout:
        return self._laid_out[0]

    @property
    def cost(self) -> Cost:
        return self._laid_out[1]

    @once
    def tests(self) -> Tests:
        return tests_of(self.packed)

    @once
    def encoder(self) -> Encoder:
        return Encoder(self.packed.fields)

    def worth(self, weights: Integers) -> Worth:
        """What subscriptions are worth, given what the weights of each field are multiplied by.

        ValueError if scores may exceed 64 bits. The last answer is kept, as batches ask alike.
        """
        key = weights.tobytes()
        known = self._worths.get(key)
        if known is None:
            if highest_worth(self.packed, weights) > HIGHEST_SCORE:
                raise ValueError("with these weights, scores would exceed 64 bits; give lower ones")
            known = worth_of(self.packed, self.layout, weights)
            self._worths.clear()
            self._worths[key] = known
        return known

    @once
    def _worths(self) -> dict[bytes, Worth]:
        return {}

    @once
    def places(self) -> Numbers:
        """By number, the subscription's place among the members of blocks; -1 if it is single."""
        members = self.layout.blocks.members
        places = np.full(len(self) + 1, -1, np.int32)
        places[members] = np.arange(len(members), dtype=np.int32)  # free places go to the last
        return places[:-1]

    def places_in(self, other: Segment) -> Numbers:
        """How many subscriptions of another segment lie before each of this one; found once."""
        if other not in self._places_in:
            self._places_in[other] = other.ids.places(self.ids)
        return self._places_in[other]

    @once
    def _places_in(self) -> WeakKeyDictionary[Segment, Numbers]:
        return WeakKeyDictionary()

    def alive(self, flags: Flags) -> Alive:
        """The bits that let only some subscriptions match."""
        members = self.layout.blocks.members
        in_blocks = np.append(flags, False)[members]  # a free place is -1: the last, and off
        return Alive(bits_of(in_blocks).reshape(-1, 8), bits_of(flags))

    @contextmanager
    def scratch(self) -> Iterator[Scratch]:
        """Room for what is found on the way, used by nobody else meanwhile."""
        fields = len(self.packed.fields) + 1
        events = max(LEAST_EVENTS, min(MOST_EVENTS, TILE_CODES // fields))
        try:
            room = self._rooms.pop()
        except IndexError:
            room = scratch_for(self.layout, len(self), fields, events)
        yield room
        self._rooms.append(room)

    @once
    def _rooms(self) -> list[Scratch]:
        return []

    def coded(self, batch: Batch) -> Coded:
        """The events of a batch as codes, sparse if they came so."""
        if batch.is_sparse:
            return self.encoder.sparse(batch)
        return self.encoder.wide(batch)

    def tiles(
        self, coded: Coded, first: int, stop: int, scratch: Scratch
    ) -> Iterator[tuple[int, Tile]]:
        """Some events, a tile at a time with its first event; each is gone with the next."""
        size = len(scratch.pair_starts) - 1
        fields = self.layout.lists.fields
        every = np.array([0, len(fields)])
        for begin in range(first, stop, size):
            end = min(begin + size, stop)
            if not isinstance(coded, Entries):
                yield begin, Tile(coded[begin:end], every, fields)
                continue
            scatter(coded, begin, end, scratch.codes, False)
            starts = coded.starts[begin : end + 1]
            yield begin, Tile(scratch.codes[: end - begin], starts, coded.fields)
            scatter(coded, begin, end, scratch.codes, True)

    @property
    def nbytes(self) -> int:
        """Memory of the ids and of all arrays."""
        packed, (layout, _) = self.packed, self._laid_out
        lists = (array for array in layout.lists)
        arrays = [packed.literals.columns, packed.literals.weight, packed.pool, packed.starts,
                  packed.base, packed.programs.literals.columns, *layout.blocks, *lists,
                  layout.grid.row_of, layout.grid.rows, layout.grid.boxes]  # fmt: skip
        return int(self.ids.array.nbytes + sum(array.nbytes for array in arrays))


def segment_of(
    queries: QuerySet, progress: Progress | None = None, *, is_lasting: bool = True
) -> Segment:
    """The subscriptions of a query set as a segment."""
    tables = tuple(some for table, rows in queries.tables for some in TableRows.split(table, rows))
    singles = queries.singles
    parts = [table.table.ids.take(pa.array(table.rows)) for table in tables]
    parts.append(pa.array([single.id for single in singles], pa.string()))
    ids, order = in_order(pa.concat_arrays(parts))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    first = len(order) - len(singles)
    conditions: list[tuple[Normal, int]] = []
    residuals: dict[int, Normal] = {}
    for done, single in enumerate(singles):
        if progress and done % PROGRESS_STEP == 0:
            progress("normalising subscriptions", done, len(singles))
        exact = normalise(single.condition)
        if any(isinstance(leaf, Pattern) for leaf in leaves_of(exact)):
            weaker, reason = weaken(exact, widest_pair_bits=WIDEST_PAIR_BITS)
            if reason:
                residuals[int(numbers[first + done])] = exact
            exact = weaker
        conditions.append((exact, single.weight))
    if progress:
        progress("indexing subscriptions", 0, 0)
    packed = pack(Conditions(queries.schema, tables, tuple(conditions), numbers))
    return Segment(ids, packed, residuals, is_lasting)
