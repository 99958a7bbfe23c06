"""The software engine as a device: segments that are matched one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from penstock.gen.queryset import Progress, QuerySet
from penstock.host.device import MATCHES, SCORED_MATCHES
from penstock.host.events import Batch
from penstock.host.software.ids import Ids, gathered
from penstock.host.software.order import Found, Joined, joined
from penstock.host.software.parts import Part, places_among_all
from penstock.host.software.rank import Worth
from penstock.host.software.residuals import finished, scored
from penstock.host.software.search import Threads, ranked, searched
from penstock.host.software.segment import HIGHEST_SCORE, Segment
from penstock.host.software.store import Store

LEAST_EVENTS, MOST_EVENTS = 64, 1 << 16
MOST_MATCHES, MOST_CODES = 1 << 23, 1 << 25
"""Of a batch: answers that are still in the cache when they are written as ids."""
FIRST_MATCHES = 1 << 12
"""Matches per event that are reckoned with before any have been seen."""


class SoftwareDevice:
    """Matches with compiled loops over flat arrays, on as many threads as asked for.

    Any number of other threads may use it at the same time.
    """

    def __init__(
        self, queries: QuerySet, progress: Progress | None = None, *, threads: int = 1
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._store = Store(queries, progress)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._threads = Threads(threads, self._pool)
        self._matches_per_event = float(FIRST_MATCHES)

    @property
    def batch_events(self) -> int:
        """As many as give so many matches, going by the last batch, and so many codes."""
        codes = MOST_CODES // (1 + len(self._store.parts()[0].segment.packed.fields))
        most = min(codes, int(MOST_MATCHES / self._matches_per_event))
        return max(LEAST_EVENTS, min(MOST_EVENTS, most))

    def match(self, events: Batch, only: pa.Array | None = None) -> pa.Array:
        parts = self._parts(only)
        return _lists(parts, self._found(parts, events), events.rows)

    def match_numbers(self, events: Batch) -> pa.Array:
        parts = self._parts(None)
        answers = self._found(parts, events)
        numbers = answers.numbers
        if len(parts) > 1 or not parts[0].is_whole:
            numbers = places_among_all(parts)[numbers]
        return _list_array(answers, pa.array(numbers, pa.int32()), events.rows)

    def top_k(
        self, events: Batch, k: int, weights: Mapping[int, int], only: pa.Array | None = None
    ) -> pa.Array:
        parts, found = [], []
        for part in self._parts(only):
            sure, doubtful = part.split(part.segment.residuals)
            parts.append(sure)
            found.append(self._rank(sure, events, k, weights))
            if doubtful:
                matches = self._search(doubtful, events)
                parts.append(doubtful)
                found.append(scored(part.segment, matches, events, k, weights))
        best = joined([part.segment for part in parts], found, k)
        ids = _ids(parts, best)
        ranks = pa.StructArray.from_arrays([ids, pa.array(best.scores)], names=["id", "score"])
        return _list_array(best, ranks, events.rows).cast(SCORED_MATCHES)

    def add(self, queries: QuerySet) -> None:
        self._store.add(queries)

    def remove(self, ids: Sequence[str]) -> None:
        self._store.remove(ids)

    def where(self, id: str) -> str:
        return self._store.where(id)

    def counters(self) -> Mapping[str, int]:
        return {}

    def stats(self) -> Mapping[str, int]:
        return self._store.stats()

    def close(self) -> None:
        self._store.close()
        if self._pool:
            self._pool.shutdown()

    def _parts(self, only: pa.Array | None) -> list[Part]:
        """The parts at this moment, with no others than those asked for."""
        parts = self._store.parts()
        if only is None:
            return list(parts)
        ids = Ids(only)
        return [part.only(numbers[numbers >= 0]) for part in parts for numbers in [part.find(ids)]]

    def _found(self, parts: Sequence[Part], events: Batch) -> Joined:
        found = [finished(part.segment, self._search(part, events), events) for part in parts]
        answers = joined([part.segment for part in parts], found, 0)
        self._matches_per_event = 1 + len(answers.numbers) / max(1, events.rows)
        return answers

    def _search(self, part: Part, events: Batch) -> Found:
        coded = part.segment.coded(events)
        return searched(part, coded, events.rows, self._threads)

    def _rank(self, part: Part, events: Batch, k: int, weights: Mapping[int, int]) -> Found:
        segment = part.segment
        coded, worth = segment.coded(events), _worth(segment, weights)
        return ranked(part, coded, events.rows, k, worth, self._threads)


def _worth(segment: Segment, weights: Mapping[int, int]) -> Worth:
    fields = segment.packed.fields
    factors = [weights.get(field.attribute.index, 1) for field in fields]
    if max(factors, default=1) > HIGHEST_SCORE:
        raise ValueError(f"an attribute's weight must be below 2**63, not {max(factors)}")
    return segment.worth(np.array([*factors, 1], np.int64))


def _ids(parts: Iterable[Part], answers: Joined) -> pa.Array:
    return gathered([part.segment.ids for part in parts], answers.numbers)


def _lists(parts: Sequence[Part], answers: Joined, rows: int) -> pa.Array:
    return _list_array(answers, _ids(parts, answers), rows).cast(MATCHES)


def _list_array(answers: Joined, values: pa.Array, rows: int) -> pa.Array:
    offsets = np.zeros(rows + 1, np.int32)
    offsets[1:] = answers.ends
    return pa.ListArray.from_arrays(pa.array(offsets), values)
