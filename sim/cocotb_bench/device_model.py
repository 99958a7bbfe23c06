"""What the circuit of a query set must answer, by a BE-Tree over what is switched on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.gen.build import Build
from penstock.gen.normal import Event, holds
from penstock.gen.normalise import disjuncts, normalise
from penstock.gen.passes.weaken import weaken
from penstock.gen.plan import CHUNK_BITS
from penstock.gen.queryset import QuerySet
from penstock.sim.be_tree import BETree
from penstock.sim.cocotb_bench.cycle_coverage import NO_CHANGE, NO_CHUNK, OFF, ON
from penstock.sim.cocotb_bench.stimulus import Chunks


class DeviceModel:
    """A BE-Tree with the conditions as the circuit has them, weakened where it weakens them.

    So answers are compared bit by bit. That the host makes the right ones of them, `exact` tells.
    """

    def __init__(self, queries: QuerySet, built: Build) -> None:
        self._tree = BETree(queries.schema)
        self._ids = {
            (tile.first_chunk + place // CHUNK_BITS, place % CHUNK_BITS): built.manifest.ids[entry]
            for tile in built.manifest.tiles
            for place, entry in enumerate(tile.entries)
        }
        self._places = {id: place for place, id in self._ids.items()}
        self._residuals = {e.id: e.residual for e in built.plan.entries if e.residual}
        self._conditions = {
            id: disjuncts(weaken(normalise(queries[id].condition))[0]) for id in self._places
        }
        for id, conjunctions in self._conditions.items():
            self._tree.insert(id, conjunctions)

    def answer(self, event: Event) -> Chunks:
        """The non-empty chunks of an event."""
        return chunks_of(self._places, self._tree.match(event))

    def exact(self, event: Event) -> list[str]:
        """What is left when the host has finished what the circuit cannot decide."""
        through = self._tree.match(event)
        decided = [id for id in through if id not in self._residuals]
        # What has no place on the circuit is tested on every event.
        doubtful = [id for id in self._residuals if id in through or id not in self._places]
        return sorted(decided + [id for id in doubtful if holds(self._residuals[id], event)])

    def switch(self, chunk: int, bits: int) -> tuple[str, ...]:
        """Do what a word with valid bits does; its effects."""
        ids = {bit: id for (number, bit), id in self._ids.items() if number == chunk}
        if not ids:
            return (NO_CHUNK,)
        effects = set()
        for bit, id in ids.items():
            is_on = bool(bits >> bit & 1)
            if is_on and id not in self._tree:
                self._tree.insert(id, self._conditions[id])
                effects.add(ON)
            elif not is_on and id in self._tree:
                self._tree.delete(id)
                effects.add(OFF)
        return tuple(sorted(effects)) or (NO_CHANGE,)


def chunks_of(places: Mapping[str, tuple[int, int]], ids: Iterable[str]) -> Chunks:
    """The non-empty chunks in which these ids have their bits, in order."""
    chunks: dict[int, int] = {}
    for id in ids:
        chunk, bit = places[id]
        chunks[chunk] = chunks.get(chunk, 0) | 1 << bit
    return tuple(sorted(chunks.items()))
