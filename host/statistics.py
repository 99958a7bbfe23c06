"""What a matcher has done, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True, slots=True)
class Stats:
    """What has been answered since a matcher was opened, and where its subscriptions live."""

    events: int
    matches: int
    seconds: float
    """Spent on batches, from Arrow to Arrow; of threads that match at once each counts."""
    places: Mapping[str, int]
    """How many subscriptions live in each part of the engine; see `Matcher.where`."""
    memory: int | None
    """Bytes that the engine's own structures take, where it knows."""

    @property
    def subscriptions(self) -> int:
        """How many there are."""
        return sum(self.places.values())

    @property
    def rate(self) -> float:
        """Events per second, 0 before there were any."""
        return self.events / self.seconds if self.seconds else 0.0


class Tally:
    """Adds up what threads do."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._events = 0
        self._matches = 0
        self._seconds = 0.0

    def add(self, *, events: int, matches: int, seconds: float) -> None:
        with self._lock:
            self._events += events
            self._matches += matches
            self._seconds += seconds

    def stats(self, of_device: Mapping[str, int]) -> Stats:
        """The sums so far, with what a device says of itself."""
        places = {name: count for name, count in of_device.items() if name != "bytes"}
        with self._lock:
            return Stats(self._events, self._matches, self._seconds, places, of_device.get("bytes"))
