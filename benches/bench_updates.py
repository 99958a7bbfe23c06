"""How many updates per second does a matcher of a million take, and what does matching lose?

Workload `uni`. Batches of 1,000 subscriptions are added as tables of predicates, and as many are
removed, the oldest first, so that the set keeps its size and what is removed has long been in its
main index. Singles are added from their text, which must be parsed. Then another thread matches,
with and without updates at the wanted rate, in turn; the updates that were made are counted.

First with everything on one core, then on all that there are.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from bench_load import text_of
from timing import Figure, merge
from workloads import ENGINE, Workload, preset

import penstock

SIZE = 1_000_000
UPDATES_PER_SECOND = 50_000
PACE = 1.1 * UPDATES_PER_SECOND
"""While matching: a little more than wanted, so that what is wanted can be met."""
KEPT_RATE = 0.5
"""Of the rate of matching without updates."""
BATCH = 1_000
SPARE_BATCHES = 100
SINGLES = 500
ROUNDS = 5
ROUND_SECONDS = 1.0
MATCH_SECONDS = 2.0
EVENTS = 20_000
EVENT_BATCH = 500
QUESTION = (__doc__ or "").splitlines()[0]

Done = TypeVar("Done")


@dataclass
class Standing:
    """The subscriptions of a workload as a ring of batches, of which all but a few are in force."""

    matcher: penstock.Matcher
    made: Workload
    batches: int
    """In the ring."""
    oldest: int = 0
    """The first batch in force; the one that is added next is SPARE_BATCHES before it."""

    def part(self, place: int) -> pa.Table:
        return self.made.part(place % self.batches * BATCH, BATCH)

    def step(self) -> tuple[float, float]:
        """Add the next batch and remove the oldest; the seconds that each took."""
        new = self.part(self.oldest - SPARE_BATCHES)
        old = pc.unique(self.part(self.oldest)["id"]).to_pylist()
        started = time.perf_counter()
        self.matcher.add_predicates(new)
        added = time.perf_counter()
        self.matcher.remove_all(old)
        removed = time.perf_counter()
        self.oldest += 1
        return added - started, removed - added


def measure(size: int, cores: int) -> list[Figure]:
    made = preset("uni", size + SPARE_BATCHES * BATCH, EVENTS)
    queries = penstock.QuerySet(made.schema)
    queries.add_predicates(made.part(0, size))
    facts = {"expressions": size, "cores": cores, "batch": BATCH}
    with on(cores), penstock.open(queries, engine=ENGINE) as matcher:
        standing = Standing(matcher, made, size // BATCH + SPARE_BATCHES)
        matcher.match(made.sparse.slice(0, EVENT_BATCH))
        return [
            *sustained(standing, facts),
            *singles(matcher, standing, facts),
            *matching_meanwhile(standing, facts),
        ]


def sustained(standing: Standing, facts: dict[str, object]) -> list[Figure]:
    """Updates one batch after the other, with nothing else to do."""
    adds, removes, both = [], [], []
    for _ in range(ROUNDS):
        steps, started = [], time.perf_counter()
        while time.perf_counter() < started + ROUND_SECONDS:
            steps.append(standing.step())
        count = len(steps) * BATCH
        adds.append(count / sum(add for add, _ in steps))
        removes.append(count / sum(remove for _, remove in steps))
        both.append(2 * count / sum(add + remove for add, remove in steps))
    found = {"adds": adds, "removes": removes, "adds and removes": both}
    return [
        _figure(f"{what} in batches", rates, UPDATES_PER_SECOND, facts)
        for what, rates in found.items()
    ]


def singles(
    matcher: penstock.Matcher, standing: Standing, facts: dict[str, object]
) -> list[Figure]:
    """Subscriptions that are not in force, added and removed one by one."""
    rows = standing.part(standing.oldest - SPARE_BATCHES).to_pylist()
    texts: dict[str, str] = {}
    for row in rows:
        texts[row["id"]] = " AND ".join(filter(None, (texts.get(row["id"]), text_of(row))))
    few = list(texts.items())[:SINGLES]
    adds, removes = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for id, text in few:
            matcher.add(id, text)
        added = time.perf_counter()
        for id, _ in few:
            matcher.remove(id)
        adds.append(len(few) / (added - started))
        removes.append(len(few) / (time.perf_counter() - added))
    return [
        _figure("adds, one by one", adds, None, facts),
        _figure("removes, one by one", removes, UPDATES_PER_SECOND, facts),
    ]


def matching_meanwhile(standing: Standing, facts: dict[str, object]) -> list[Figure]:
    """The rate of a thread that matches, without and with updates, in turn."""
    kept, paces = [], []
    for _ in range(ROUNDS):
        alone, _ = events_per_second(standing, lambda: time.sleep(MATCH_SECONDS))
        beside, pace = events_per_second(standing, lambda: updates_per_second(standing))
        kept.append(beside / alone)
        paces.append(pace)
    return [
        _figure("updates while matching", paces, UPDATES_PER_SECOND, facts),
        Figure(
            _name("matching meanwhile, by matching alone", facts),
            kept,
            unit="x",
            target=KEPT_RATE,
            at_most=False,
            parameters={**facts, "what": "matching meanwhile"},
        ),
    ]


def events_per_second(standing: Standing, beside: Callable[[], Done]) -> tuple[float, Done]:
    """How many events a thread matches while something else is done, and what that came to."""
    finished = threading.Event()
    matched = 0

    def match() -> None:
        nonlocal matched
        while not finished.is_set():
            start = matched % EVENTS
            standing.matcher.match(standing.made.sparse.slice(start, EVENT_BATCH))
            matched += EVENT_BATCH

    thread, started = threading.Thread(target=match), time.perf_counter()
    thread.start()
    try:
        done = beside()
    finally:
        finished.set()
        thread.join()
    return matched / (time.perf_counter() - started), done


def updates_per_second(standing: Standing) -> float:
    """Update at the wanted rate, or as near to it as they come; which rate that was."""
    started = time.perf_counter()
    updates = 0
    while (now := time.perf_counter() - started) < MATCH_SECONDS:
        time.sleep(max(0, updates / PACE - now))
        standing.step()
        updates += 2 * BATCH
    return updates / (time.perf_counter() - started)


def _figure(
    what: str, rates: list[float], target: float | None, facts: dict[str, object]
) -> Figure:
    return Figure(
        _name(what, facts),
        rates,
        unit="/s",
        target=target,
        at_most=False,
        parameters={**facts, "what": what},
    )


def _name(what: str, facts: dict[str, object]) -> str:
    cores = "1 core" if facts["cores"] == 1 else f"{facts['cores']} cores"
    return f"{facts['expressions']:,} expressions, {cores}: {what}"


@contextmanager
def on(cores: int) -> Iterator[None]:
    """Hold this thread, and those that it starts, to some of the cores that it has."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[-cores:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def main() -> None:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--sizes", type=int, nargs="+", default=(SIZE,), metavar="N")
    chosen = parser.parse_args()
    for size in chosen.sizes:
        for cores in sorted({1, os.cpu_count() or 1}):
            merge("updates", QUESTION, measure(size, cores), key=("expressions", "cores"))


if __name__ == "__main__":
    main()
