"""How long does an event take with 5,000 Boolean formulas that are no conjunctions?

Full binary trees of depth 6 over 128 BOOLEAN attributes: 63 times AND or OR, whichever a coin says,
over 64 attributes or negations of them. An event has nine in ten of the attributes. About half of
such formulas match an event; the ids of all of them are written. One core, wide events.
"""

from __future__ import annotations

import argparse
import random
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from timing import Figure, enough, in_turn, merge, one_core
from workloads import ENGINE

import penstock

FORMULAS = 5_000
TARGET_MICROSECONDS = 100
DEPTH = 6
ATTRIBUTES = [f"b{number:03}" for number in range(128)]
PRESENT = 0.9
EVENTS = 20_000
CHECKED_EVENTS = 3
SEED = 1
QUESTION = (__doc__ or "").splitlines()[0]


def formula(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(("", "NOT ")) + rng.choice(ATTRIBUTES)
    left, right = formula(rng, depth - 1), formula(rng, depth - 1)
    return f"({left} {rng.choice(('AND', 'OR'))} {right})"


def query_set(count: int) -> penstock.QuerySet:
    rng = random.Random(SEED)
    queries = penstock.QuerySet(penstock.Schema.of(dict.fromkeys(ATTRIBUTES, "BOOLEAN")))
    for number in range(count):
        queries.add(f"f{number:05}", formula(rng, DEPTH))
    return queries


def random_events(count: int) -> pa.Table:
    rng = np.random.default_rng(SEED)
    shape = (len(ATTRIBUTES), count)
    values, absent = rng.random(shape) < 0.5, rng.random(shape) >= PRESENT
    columns = zip(ATTRIBUTES, values, absent, strict=True)
    return pa.table({name: pa.array(column, mask=mask) for name, column, mask in columns})


def measure(count: int) -> list[Figure]:
    queries, events = query_set(count), random_events(EVENTS)
    few = events.slice(0, CHECKED_EVENTS)
    with penstock.open(queries, engine="oracle") as oracle:
        expected = oracle.match(few)
    started = time.perf_counter()
    with penstock.open(queries, engine=ENGINE) as matcher:
        opening = time.perf_counter() - started
        assert matcher.match(few).equals(expected), "the engine disagrees with the oracle"
        some = enough(lambda count: matcher.match(events.slice(0, count)), len(events))
        table = events.slice(0, some)
        (samples,) = in_turn([lambda: matcher.match(table)])
        matches = pc.mean(pc.list_value_length(matcher.match(table)["matches"])).as_py()
    return [
        Figure(
            f"{count:,} formulas of depth {DEPTH}",
            [sample / some * 1e6 for sample in samples],
            unit="us/event",
            target=TARGET_MICROSECONDS if count == FORMULAS else None,
            parameters={
                "formulas": count,
                "depth": DEPTH,
                "attributes": len(ATTRIBUTES),
                "events": some,
                "matches_per_event": matches,
                "seconds_to_open": opening,
            },
        )
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--sizes", type=int, nargs="+", default=(FORMULAS,), metavar="N")
    chosen = parser.parse_args()
    one_core()
    for size in chosen.sizes:
        merge("formulas", QUESTION, measure(size), key=("formulas",))


if __name__ == "__main__":
    main()
