"""How much of the rate of a Spark job is left when it matches events against many rules?

Rules and events are those of bench `wide`: 10 INT columns, 3 to 5 BETWEEN each, an event matches
one in a thousand. The ceiling is a job that sends the same rows through a Python worker and does
nothing with them. What else could be used is timed in the same run: joins on ranges, expressions
and functions in Spark, and two engines beside it. Slow ones get fewer events. All read events
that lie in memory, compute every column of the answer and keep none, and have run before.

Then, each in a Spark of its own: a million sparse expressions, and rules on one core and on two.
Times are on the wall, as the work is done by several processes.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from spark_apart import scaling, sparse
from spark_contestants import (
    CEILINGS,
    CONTESTANTS,
    IDS,
    JOIN,
    LONGER,
    MOST_RULES,
    NUMBERS,
    PASS_THROUGH,
    QUICK,
    WITH_LISTS,
    Contestant,
    Events,
    Run,
    pairs,
)
from spark_rules import Rules
from spark_setting import (
    CORES,
    MATCH_RATE,
    ROUNDS,
    SAMPLE_SECONDS,
    hold_to,
    session,
    shared_facts,
    wall_seconds,
    warmed,
)
from timing import Figure, merge
from workloads import ENGINE, Workload, wide

import penstock

EVENTS = 1_000_000
OF_PASS_THROUGH = {100: 0.90, 1_000: 0.85, 10_000: 0.60}
OF_JOIN = {1_000: 25, 10_000: 150}
TARGETS: dict[tuple[str, str], dict[int, float]] = {
    (IDS, PASS_THROUGH): OF_PASS_THROUGH,
    (NUMBERS, PASS_THROUGH): OF_PASS_THROUGH,
    (WITH_LISTS, PASS_THROUGH): {},
    (IDS, JOIN): OF_JOIN,
    (NUMBERS, JOIN): OF_JOIN,
    (PASS_THROUGH, JOIN): {},
}
"""Of the rate of one by that of another, by the number of rules."""
SIZES = (100, 1_000, 10_000)
FEWEST = 2_000
CHECKED_EVENTS = 1_000
QUESTION = (__doc__ or "").splitlines()[0]


def measure(spark: SparkSession, size: int, count: int, names: Sequence[str]) -> list[Figure]:
    """All contestants before the same rules, a sample of each in turn."""
    made = wide(size, events=count, match_rate=MATCH_RATE)
    rules = Rules(made)
    ends = match_ends(made)
    events = Events(made.wide, spark, CORES)
    contestants = {name: CONTESTANTS[name](rules) for name in names}
    check(contestants, events, sorted(rules.ranges))
    runs = {}
    for name, contestant in contestants.items():
        seconds_wanted = LONGER.get(name, SAMPLE_SECONDS)
        few = count if name in QUICK else enough(contestant, events, seconds_wanted)
        runs[name] = (few, ready(name, contestant(events, few), int(ends[few])))
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, (few, run) in runs.items():
            gc.collect()
            rates[name].append(few / wall_seconds(run.run))
    events.forget()
    facts = {"part": "contestants", "expressions": size, **shared_facts()}
    counts = {name: few for name, (few, _) in runs.items()}
    found = [_rate(name, size, rates[name], counts[name], ends, facts) for name in rates]
    return found + ratios(size, rates, facts)


def match_ends(made: Workload) -> Any:
    """How many matches there are in the first events, by the number of events."""
    with penstock.open(made.load(), engine=ENGINE) as matcher:
        lengths = pc.list_value_length(matcher.match(made.wide)["matches"])
    return np.concatenate([[0], np.cumsum(lengths.to_numpy(), dtype=np.int64)])


def check(contestants: dict[str, Contestant], events: Events, ids: list[str]) -> None:
    """Hold all answers to a few events against each other."""
    few = min(CHECKED_EVENTS, len(events.table))
    answers = {
        name: pairs(contestant(events, few).found(), ids)
        for name, contestant in contestants.items()
        if name not in CEILINGS
    }
    first = next(iter(answers), None)
    for name in answers:
        assert answers[name] == answers[str(first)], f"{name} and {first} find different matches"


def enough(contestant: Contestant, events: Events, seconds_wanted: float) -> int:
    """How many events make a sample that is about so long, or half as long at the least."""
    most = len(events.table)
    count = min(most, FEWEST)
    while True:
        run = contestant(events, count)
        run.run()  # the first time may compile
        taken = min(wall_seconds(run.run) for _ in range(2))
        if count == most or taken > seconds_wanted / 2:
            return count
        wanted = count * min(8.0, 1.25 * seconds_wanted / taken)
        count = min(most, int(float(f"{wanted:.2g}")))


def ready(name: str, run: Run, matches: int) -> Run:
    """A run that has been shown to find so many matches, and has become as fast as it will be."""
    assert name in CEILINGS or run.matches() == matches, f"{name} finds other matches"
    warmed(run.run, SAMPLE_SECONDS)
    return run


def _rate(
    name: str, size: int, rates: list[float], count: int, ends: Any, facts: dict[str, object]
) -> Figure:
    own = {"what": name, "events": count, "matches_per_event": int(ends[count]) / count}
    return Figure(
        f"{size:,} expressions: {name}", rates, unit="events/s", parameters={**facts, **own}
    )


def ratios(size: int, rates: dict[str, list[float]], facts: dict[str, object]) -> list[Figure]:
    """Of the medians of those that were timed."""
    return [
        Figure(
            f"{size:,} expressions: {name}, by {other}",
            [median(rates[name]) / median(rates[other])],
            unit="x",
            target=targets.get(size),
            at_most=False,
            parameters={**facts, "what": f"{name}, by {other}"},
        )
        for (name, other), targets in TARGETS.items()
        if name in rates and other in rates
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
    parser.add_argument("--events", type=int, default=EVENTS, help="at most so many")
    parts = [*CONTESTANTS, "sparse", "scaling"]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    chosen = parser.parse_args()
    if "sparse" in chosen.only:
        keep(sparse(chosen.events))
    if "scaling" in chosen.only:
        keep(scaling(chosen.events))
    names = [name for name in CONTESTANTS if name in chosen.only]
    if not names:
        return
    hold_to(CORES)
    with session(CORES) as spark:
        for size in chosen.sizes:
            fit = [name for name in names if size <= MOST_RULES.get(name, size)]
            keep(measure(spark, size, chosen.events, fit))


def keep(figures: list[Figure]) -> None:
    """A size's figures are of one run: those that it did not time are gone."""
    merge("spark", QUESTION, figures, key=("part", "expressions"))


if __name__ == "__main__":
    main()
