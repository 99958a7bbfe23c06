"""When a source has something to send and a sink takes something, cycle by cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

Pattern = Callable[[Random], Iterator[bool]]
"""From a source of chance to an endless row: may something go in this cycle?"""

LONG_STALL_CYCLES = 250
"""More than any circuit of the workloads can hold back before its input stops."""


def steady(rng: Random) -> Iterator[bool]:
    while True:
        yield True


def often(chance: float) -> Pattern:
    """Each cycle by itself goes with this chance."""

    def pattern(rng: Random) -> Iterator[bool]:
        while True:
            yield rng.random() < chance

    return pattern


def runs(longest_go: int, longest_stop: int, *, shortest_stop: int = 1) -> Pattern:
    """Some cycles that go, some that do not, and so on."""

    def pattern(rng: Random) -> Iterator[bool]:
        while True:
            yield from [True] * rng.randint(1, longest_go)
            yield from [False] * rng.randint(shortest_stop, longest_stop)

    return pattern


PATTERNS: dict[str, tuple[Pattern, Pattern]] = {
    "none": (steady, steady),
    "idle": (often(0.6), steady),
    "backpressure": (steady, often(0.5)),
    "both": (often(0.6), often(0.6)),
    "bursts": (runs(30, 12), runs(12, 12)),
    "long_stall": (steady, runs(150, LONG_STALL_CYCLES, shortest_stop=LONG_STALL_CYCLES)),
}
"""By name, for the source and for the sink."""
