"""Match bits as lists of ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.manifest import Manifest
from penstock.gen.plan import CHUNK_BITS
from penstock.host.device import MATCHES, SCORED_MATCHES

Integers: TypeAlias = npt.NDArray[np.int64]


class Decoder:
    """Knows which subscription stands behind each match bit.

    ``table_ids`` are those of the table by match bit; ``others`` have none, but a place among the
    ids.
    """

    def __init__(
        self,
        manifest: Manifest,
        table_ids: Sequence[str | None] = (),
        others: Iterable[str] = (),
    ) -> None:
        names = sorted({*manifest.ids, *(id for id in table_ids if id is not None), *others})
        self.ids = pa.array(names, pa.string())
        rank = {id: place for place, id in enumerate(names)}
        self._ranks: Integers = np.full(manifest.chunk_count * CHUNK_BITS, -1, dtype=np.int64)
        for tile in manifest.tiles:
            first = tile.first_chunk * CHUNK_BITS
            ranks = [rank[manifest.ids[entry]] for entry in tile.entries]
            self._ranks[first : first + len(ranks)] = ranks
        self._has_table = manifest.table is not None
        if manifest.table:
            first = manifest.table.first_chunk * CHUNK_BITS
            ranks = [-1 if id is None else rank[id] for id in table_ids]
            self._ranks[first : first + len(ranks)] = ranks

    def pairs(
        self, events: Integers, chunks: Integers, bits: npt.NDArray[np.uint32]
    ) -> tuple[Integers, Integers]:
        """Event and place of the id, in order of both, for every bit that is set."""
        if not len(bits):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        flags = np.unpackbits(bits.view(np.uint8), bitorder="little")
        rows, columns = np.divmod(np.flatnonzero(flags), CHUNK_BITS)
        ranks = self._ranks[chunks[rows] * CHUNK_BITS + columns]
        assert ranks.min() >= 0, "a match bit without a subscription is set"
        # One number for both sorts several times as fast as two.
        keys = events[rows] * len(self.ids) + ranks
        if self._has_table:  # several bits may mean the same id
            keys = np.unique(keys)
        else:
            keys.sort()
        return np.divmod(keys, len(self.ids))

    def lists(self, events: Integers, ranks: Integers, count: int) -> pa.Array:
        """``list<string>`` for so many events, from pairs in order."""
        offsets = np.zeros(count + 1, dtype=np.int32)
        np.cumsum(np.bincount(events, minlength=count), out=offsets[1:])
        ids = self.ids.take(pa.array(ranks))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), ids).cast(MATCHES)

    def best(
        self, events: Integers, places: Integers, scores: Integers, *, count: int, k: int
    ) -> pa.Array:
        """``list<struct<id, score>>`` for so many events: the k best of each, equal ones by id."""
        order = np.lexsort((places, -scores, events))
        events, places, scores = events[order], places[order], scores[order]
        starts = np.searchsorted(events, np.arange(count))
        kept = np.arange(len(events)) - starts[events] < k
        offsets = np.zeros(count + 1, dtype=np.int32)
        np.cumsum(np.bincount(events[kept], minlength=count), out=offsets[1:])
        matches = pa.StructArray.from_arrays(
            [self.ids.take(pa.array(places[kept])), pa.array(scores[kept])], ["id", "score"]
        )
        return pa.ListArray.from_arrays(pa.array(offsets), matches).cast(SCORED_MATCHES)
