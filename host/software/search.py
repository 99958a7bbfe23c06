"""All events of a batch against a segment, on one thread or on several."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np

from penstock.host.software.match import SLACK, match_tile
from penstock.host.software.order import Found
from penstock.host.software.packed import Integers, Numbers
from penstock.host.software.parts import Part
from penstock.host.software.rank import Worth, rank_tile
from penstock.host.software.segment import Coded

ROOM = 1 << 22
"""Matches that are collected before they are put aside. Memory for more would go back to the system
after each batch, and come anew page by page."""
LEAST_SHARE = 64
"""Events that are worth a thread's while."""


def searched(part: Part, coded: Coded, rows: int, threads: Threads) -> Found:
    """What of a part matches each event."""
    return threads.over(rows, lambda first, stop: _searched(part, coded, first, stop))


def ranked(part: Part, coded: Coded, rows: int, k: int, worth: Worth, threads: Threads) -> Found:
    """The k best of what matches each event."""
    k = min(k, len(part.segment))
    return threads.over(rows, lambda first, stop: _ranked(part, coded, first, stop, k, worth))


class Threads:
    """Shares out the events of a batch."""

    def __init__(self, count: int, pool: Executor | None) -> None:
        self._count = count
        self._pool = pool

    def over(self, rows: int, work: Callable[[int, int], Found]) -> Found:
        """The answers of the work for events from a first one up to another, in order."""
        if self._pool is None or rows < LEAST_SHARE * self._count:
            return work(0, rows)
        bounds = [rows * n // self._count for n in range(self._count + 1)]
        parts = list(self._pool.map(work, bounds[:-1], bounds[1:]))
        starts = np.cumsum([0, *(len(part.numbers) for part in parts)])
        return Found(
            np.concatenate([part.ends + at for part, at in zip(parts, starts, strict=False)]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )


def _searched(part: Part, coded: Coded, first: int, stop: int) -> Found:
    segment = part.segment
    room = min(max(ROOM, 2 * len(segment)), (stop - first) * len(segment)) + SLACK
    out, used = np.empty(room, np.int32), 0
    aside: list[Numbers] = []
    before = 0
    ends: Integers = np.zeros(stop - first, np.int64)
    with segment.scratch() as scratch:
        for begin, tile in segment.tiles(coded, first, stop, scratch):
            mine = ends[begin - first : begin - first + len(tile.codes)]
            done = 0
            while done < len(mine):
                if room - used < len(segment) + SLACK:
                    aside.append(out[:used].copy())
                    before, used = before + used, 0
                begun = done
                done, used = match_tile(
                    tile, done, segment.layout, segment.tests, part.alive, scratch, out, used, mine
                )
                mine[begun:done] += before
    numbers = np.concatenate([*aside, out[:used]]) if aside else out[:used]
    return Found(ends, numbers, np.zeros(0, np.int64))


def _ranked(part: Part, coded: Coded, first: int, stop: int, k: int, worth: Worth) -> Found:
    segment = part.segment
    size = k * (stop - first)
    scores, numbers, used = np.empty(size, np.int64), np.empty(size, np.int32), 0
    ends: Integers = np.zeros(stop - first, np.int64)
    with segment.scratch() as scratch:
        for begin, tile in segment.tiles(coded, first, stop, scratch):
            mine = ends[begin - first : begin - first + len(tile.codes)]
            used = rank_tile(
                tile, k, segment.layout, segment.tests, part.alive, worth,
                scratch, scores, numbers, used, mine,
            )  # fmt: skip
    return Found(ends, numbers[:used], scores[:used])
