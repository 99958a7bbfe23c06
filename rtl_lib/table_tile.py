"""A group of subscriptions as memory contents, one link of the chain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from amaranth import Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from penstock.rtl_lib.delay import delayed
from penstock.rtl_lib.lookup import Lookup
from penstock.rtl_lib.results import chunks_for, index_width
from penstock.rtl_lib.shape import ChainShape, Place
from penstock.rtl_lib.tile_frame import TileFrame

GATE_INPUTS = 4
"""What one LUT takes."""


class TableTile(wiring.Component):
    """Test each event against subscriptions that are written while events flow.

    Each field has a memory with a row per code, and each row a bit per subscription: whether
    the subscription admits that code. A subscription matches where all fields admit it and its
    valid bit is high. Valid bits are low after reset; memories start with zeros, and a reset
    leaves them as they are.

    Words at the tile's addresses replace a chunk of the valid bits or of a row, for the events
    after them.

    Latency and throughput: those of `TileFrame`, so of a `Tile` in the same chain.

    Parameters
    ----------
    shape : ChainShape
        What all tiles of the chain agree on. It must have a stage for the memories and one per
        level of 4-input gates: 2 stages for up to 3 fields, 3 for up to 15.
    fields : sequence of int
        Which codes of an event have a memory here. Others do not matter.
    capacity : int
        Number of subscriptions.
    first_chunk : int
        The number of the tile's first chunk, as for a `Tile`.
    base : int
        The tile's first address: a multiple of `address_count`.

    Members
    -------
    i, o : In(shape.event), Out(shape.event)
        Events and configuration words, in and on.
    before, results : In(shape.result), Out(shape.result)
        Results of the tiles before, and the same with this tile's.
    """

    def __init__(
        self,
        shape: ChainShape,
        fields: Sequence[int],
        *,
        capacity: int,
        first_chunk: int,
        base: int,
    ) -> None:
        self.fields = tuple(fields)
        if not self.fields or len(set(self.fields)) < len(self.fields):
            raise ValueError(f"fields must be different ones, at least one, not {self.fields}")
        if not all(0 <= field < len(shape.widths) for field in self.fields):
            raise ValueError(f"an event has {len(shape.widths)} fields, not all of {self.fields}")
        self.stages = stages_for(len(self.fields))
        if shape.stages < self.stages:
            raise ValueError(
                f"{len(self.fields)} fields need {self.stages} stages, not {shape.stages}"
            )
        self.chunk_index_bits = (chunks_for(capacity, shape.chunk_bits) - 1).bit_length()
        self.code_bits = max(shape.widths[field] for field in self.fields)
        self.place = Place(
            shape,
            hit_count=capacity,
            first_chunk=first_chunk,
            base=base,
            address_count=2
            ** (index_width(len(self.fields) + 1) + self.code_bits + self.chunk_index_bits),
        )
        super().__init__(shape.tile)

    @property
    def address_count(self) -> int:
        """How many addresses the tile has; a power of two."""
        return self.place.address_count

    def valid_address(self, chunk: int) -> int:
        """Where the valid bits of one of the tile's own chunks, counted from 0, are written."""
        return self._address(0, 0, chunk)

    def row_address(self, field: int, code: int, chunk: int) -> int:
        """Where one chunk of a field's row for a code is written."""
        if field not in self.fields:
            raise ValueError(f"field {field} has no memory here, only {self.fields}")
        if not 0 <= code < 2 ** self.place.shape.widths[field]:
            raise ValueError(f"field {field} has no code {code}")
        return self._address(1 + self.fields.index(field), code, chunk)

    def _address(self, table: int, code: int, chunk: int) -> int:
        """From the high bits down: 0 for valid bits or 1 + memory, code, chunk."""
        if not 0 <= chunk < len(self.place.chunks):
            raise ValueError(f"the tile has {len(self.place.chunks)} chunks, so no chunk {chunk}")
        row = table << self.code_bits | code
        return self.place.base + (row << self.chunk_index_bits | chunk)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.frame = frame = TileFrame(self.place, self.stages)
        connect(m, flipped(self), frame.link)
        codes = delayed(m, frame.codes, 1, frame.advance)
        chunk = frame.offset[: self.chunk_index_bits]
        table = frame.offset[self.chunk_index_bits + self.code_bits :]
        vectors = [frame.valid_bits(m, chunk, are_written=table == 0, init=0)]
        for number, field in enumerate(self.fields):
            start = sum(self.place.shape.widths[:field])
            code = codes[start : start + self.place.shape.widths[field]]
            is_written = frame.writes & (table == 1 + number)
            rows = [
                self._rows(m, f"rows_{field}_{index}", frame, code, is_written & (chunk == index))
                for index in range(len(self.place.chunks))
            ]
            vectors.append(Cat(*rows)[: self.place.hit_count])
        m.d.comb += frame.hits.eq(self._all(m, vectors, frame.advance))
        return m

    def _rows(
        self, m: Module, name: str, frame: TileFrame, code: Value, is_written: Value
    ) -> Value:
        """A chunk of a field's rows: the one for the code, a stage after it."""
        rows = Lookup(self.place.shape.chunk_bits, 2 ** len(code))
        m.submodules[name] = rows
        m.d.comb += [
            rows.enable.eq(frame.advance),
            rows.writes.eq(is_written),
            rows.address.eq(code),
            rows.write_address.eq(frame.offset[self.chunk_index_bits :]),
            rows.write_row.eq(frame.bits),
        ]
        return rows.row

    def _all(self, m: Module, vectors: Sequence[Value], enable: Value) -> Value:
        """The AND of all vectors, a stage for each level of gates."""
        for _ in range(self.stages - 1):
            groups = [vectors[n : n + GATE_INPUTS] for n in range(0, len(vectors), GATE_INPUTS)]
            vectors = [delayed(m, reduce(and_, group), 1, enable) for group in groups]
        (hits,) = vectors
        return hits


def stages_for(field_count: int) -> int:
    """The stages of a tile: one for memories, then gates to AND their rows and the valid bits."""
    levels = 0
    while GATE_INPUTS**levels < field_count + 1:
        levels += 1
    return 1 + levels
