"""Subscriptions that match until a given time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from threading import Lock
from typing import TypeAlias

from penstock.gen.instants import in_utc
from penstock.gen.queryset import QuerySet

Clock: TypeAlias = Callable[[], datetime]


def system_clock() -> datetime:
    """The time now."""
    return datetime.now(UTC)


class ForwardClock:
    """A clock that stands still while the one it follows is set back.

    What has expired does not come back, and changes are logged in the order of their times.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._latest = datetime.min.replace(tzinfo=UTC)

    def __call__(self) -> datetime:
        with self._lock:
            self._latest = max(self._latest, in_utc(self._clock()))
            return self._latest


class Expiries:
    """Which subscriptions of a set expire next.

    What has been removed, or added again with another time, is told apart when its turn comes.
    """

    def __init__(self, queries: QuerySet) -> None:
        self._queries = queries
        self._heap = list(queries.expiries())
        heapify(self._heap)

    def add(self, expiries: Iterable[tuple[datetime, str]]) -> None:
        """Note those of more subscriptions."""
        for entry in expiries:
            heappush(self._heap, entry)

    def is_due(self, now: datetime) -> bool:
        """Whether anything may have expired; costs next to nothing."""
        first = self._heap[:1]  # in one step, as another thread may empty the heap
        return bool(first) and first[0][0] <= now

    def pop_due(self, now: datetime) -> list[str]:
        """The ids of the subscriptions that have expired, each given once."""
        due: dict[str, None] = {}
        while self.is_due(now):
            time, id = heappop(self._heap)
            if id in self._queries and self._queries[id].expires == time:
                due[id] = None
        return list(due)


def expire(queries: QuerySet, now: datetime) -> None:
    """Take out of a set what has expired."""
    for id in [id for time, id in queries.expiries() if time <= now]:
        queries.remove(id)
