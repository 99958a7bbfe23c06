"""Tiles in a row: the whole matcher."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Protocol

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from penstock.rtl_lib.collector import COUNTER_BITS, Collector
from penstock.rtl_lib.results import match_layout
from penstock.rtl_lib.shape import Place


class AnyTile(Protocol):
    """A component with the ports of `ChainShape.tile`, which have no types."""

    place: Place
    i: Any
    o: Any
    before: Any
    results: Any


class Chain(wiring.Component):
    """Test events against all tiles' subscriptions; wires never reach past the next tile.

    Latency: ``6 + stages + tiles`` cycles from an event to its matches. Throughput: 1 event per
    cycle, as long as events have at most one non-empty chunk each; a further chunk costs a
    cycle.

    Parameters
    ----------
    tiles : sequence of AnyTile
        The tiles in order of their chunks, all of the same shape.

    Members
    -------
    i : In(shape.event)
        Events and configuration words.
    o : Out(stream.Signature(match_layout(...)))
        Matches, in order of events and of chunks.
    events, chunks, stalls : Out(32)
        The collector's counters.
    """

    def __init__(self, tiles: Sequence[AnyTile]) -> None:
        if not tiles:
            raise ValueError("a chain needs at least one tile")
        self.tiles = tuple(tiles)
        self.shape = shape = tiles[0].place.shape
        _check_agreement([tile.place for tile in tiles])
        matches = match_layout(shape.chunk_bits, shape.chunk_count, COUNTER_BITS)
        super().__init__(
            {
                "i": In(shape.event),
                "o": Out(stream.Signature(matches)),
                "events": Out(COUNTER_BITS),
                "chunks": Out(COUNTER_BITS),
                "stalls": Out(COUNTER_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = self.shape
        m.submodules.collector = collector = Collector(shape.chunk_bits, shape.chunk_count)
        events, before = flipped(self.i), None
        for number, tile in enumerate(self.tiles):
            m.submodules[f"tile_{number}"] = tile
            connect(m, events, tile.i)
            if before is None:  # nothing lies before the first tile: markers without end
                m.d.comb += [
                    tile.before.valid.eq(1),
                    tile.before.p.some.eq(0),
                    tile.before.p.last.eq(1),
                ]
            else:
                connect(m, before, tile.before)
            events, before = tile.o, tile.results
        m.d.comb += events.ready.eq(1)
        connect(m, before, collector.i)
        connect(m, collector.o, flipped(self.o))
        for counter in ("events", "chunks", "stalls"):
            m.d.comb += getattr(self, counter).eq(getattr(collector, counter))
        return m


def _check_agreement(places: Sequence[Place]) -> None:
    """ValueError if two tiles cannot be in one chain."""
    for number, place in enumerate(places):
        if place.shape != places[0].shape:
            raise ValueError(f"tile {number} has another shape than tile 0")
        if number and place.first_chunk < places[number - 1].chunks.stop:
            raise ValueError(f"tile {number} starts at chunk {place.first_chunk}, too early")
    for (one, left), (other, right) in combinations(enumerate(places), 2):
        if left.base < right.addresses.stop and right.base < left.addresses.stop:
            raise ValueError(f"tiles {one} and {other} have addresses in common")
