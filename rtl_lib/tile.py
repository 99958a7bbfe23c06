"""A group of subscriptions as gates, one link of the chain."""

from __future__ import annotations

from amaranth import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from penstock.rtl_lib.logic import Logic
from penstock.rtl_lib.network import Network
from penstock.rtl_lib.results import chunks_for
from penstock.rtl_lib.shape import ChainShape, Place
from penstock.rtl_lib.tile_frame import TileFrame


class Tile(wiring.Component):
    """Test each event against this tile's subscriptions, and pass it on to the next tile.

    Every subscription has a valid bit, high after reset; the word at address ``first_chunk + i``
    replaces those of the tile's chunk ``i``, for the events after it.

    Latency and throughput: those of `TileFrame`.

    Parameters
    ----------
    shape : ChainShape
        What all tiles of the chain agree on.
    logic : Logic
        One output per subscription.
    first_chunk : int
        The number of the tile's first chunk: a multiple of its number of chunks, rounded up to
        a power of two.

    Members
    -------
    i, o : In(shape.event), Out(shape.event)
        Events and configuration words, in and on.
    before, results : In(shape.result), Out(shape.result)
        Results of the tiles before, and the same with this tile's.
    """

    def __init__(self, shape: ChainShape, logic: Logic, *, first_chunk: int) -> None:
        logic.require_stages(shape.stages)
        self.logic = logic
        self.place = Place(
            shape,
            hit_count=len(logic.outputs),
            first_chunk=first_chunk,
            base=first_chunk,
            address_count=chunks_for(len(logic.outputs), shape.chunk_bits),
        )
        super().__init__(shape.tile)

    def valid_address(self, chunk: int) -> int:
        """Where the valid bits of one of the tile's own chunks, counted from 0, are written."""
        return self.place.chunks[chunk]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.frame = frame = TileFrame(self.place, self.logic.stages)
        m.submodules.network = network = Network(self.place.shape.widths, self.logic)
        connect(m, flipped(self), frame.link)
        m.d.comb += [
            network.codes.eq(frame.codes),
            network.enable.eq(frame.advance),
            network.enabled.eq(frame.valid_bits(m, frame.offset, are_written=Const(1), init=1)),
            frame.hits.eq(network.outputs),
        ]
        return m
