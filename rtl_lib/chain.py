"""Tiles in a row: the whole matcher."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Protocol

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from penstock.rtl_lib.collector import COUNTER_BITS, Collector
from penstock.rtl_lib.events import config_layout
from penstock.rtl_lib.ranker import Ranker
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
    ranker : Ranker, optional
        What stands behind the collector, of the same shape. Its latency adds to that of matches.

    Members
    -------
    i : In(shape.event)
        Events and configuration words.
    o : Out(stream.Signature(match_layout(...)))
        Matches, in order of events and of chunks.
    events, chunks, stalls : Out(32)
        The collector's counters.
    best, busy
        With a ranker only: those of the ranker.
    """

    def __init__(self, tiles: Sequence[AnyTile], ranker: Ranker | None = None) -> None:
        if not tiles:
            raise ValueError("a chain needs at least one tile")
        self.tiles = tuple(tiles)
        self.ranker = ranker
        self.shape = shape = tiles[0].place.shape
        _check_agreement([tile.place for tile in tiles])
        if ranker is not None:
            _check_ranker(ranker, [tile.place for tile in tiles])
        matches = match_layout(shape.chunk_bits, shape.chunk_count, COUNTER_BITS)
        super().__init__(
            {
                "i": In(shape.event),
                "o": Out(stream.Signature(matches)),
                "events": Out(COUNTER_BITS),
                "chunks": Out(COUNTER_BITS),
                "stalls": Out(COUNTER_BITS),
                **ranked_ports(ranker),
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
        if self.ranker is None:
            connect(m, collector.o, flipped(self.o))
        else:
            self._rank(m, self.ranker, collector, events)
        for counter in ("events", "chunks", "stalls"):
            m.d.comb += getattr(self, counter).eq(getattr(collector, counter))
        return m

    def _rank(self, m: Module, ranker: Ranker, collector: Collector, events: Any) -> None:
        """Put the ranker behind the collector, and show it the words that have passed all tiles."""
        m.submodules.ranker = ranker
        connect(m, collector.o, ranker.i)
        connect(m, ranker.o, flipped(self.o))
        connect(m, ranker.best, flipped(self.best))
        m.d.comb += [
            ranker.word.eq(events.p.word.config),
            ranker.has_word.eq(events.valid & events.p.is_config),
            self.busy.eq(ranker.busy),
        ]


def ranked_ports(ranker: Ranker | None) -> dict[str, wiring.Member]:
    """The ports that a chain has because of its ranker."""
    return {name: ranker.signature.members[name] for name in ("best", "busy")} if ranker else {}


def _check_ranker(ranker: Ranker, places: Sequence[Place]) -> None:
    """ValueError if a ranker cannot stand behind these tiles."""
    shape = places[0].shape
    if (ranker.chunk_bits, ranker.chunk_count) != (shape.chunk_bits, shape.chunk_count):
        raise ValueError("the ranker has other chunks than the tiles")
    if ranker.word.shape() != config_layout(shape.chunk_bits, shape.address_bits):
        raise ValueError("the ranker has other configuration words than the tiles")
    for number, place in enumerate(places):
        if place.base < ranker.addresses.stop and ranker.addresses.start < place.addresses.stop:
            raise ValueError(f"the ranker and tile {number} have addresses in common")


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
