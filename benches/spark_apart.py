"""What bench `spark` measures in processes of its own: cores by number, and a million rules."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from spark_contestants import CONTESTANTS, IDS, LIST, PASS_THROUGH, Events
from spark_rules import Rules
from spark_setting import (
    CORES,
    MATCH_RATE,
    PARTITIONS_PER_CORE,
    ROUNDS,
    SAMPLE_SECONDS,
    alone,
    hold_to,
    kept,
    save,
    session,
    shared_facts,
    wall_seconds,
    warmed,
)
from timing import Figure
from workloads import ENGINE, Workload, preset, wide

import penstock
from penstock.spark_bridge import match

SCALED_RULES, SCALING_TARGET = 10_000, 1.7
SPARSE, SPARSE_EVENTS, SPARSE_TARGET = 1_000_000, 40_000, 3_000
CHECKED_EVENTS = 1_000
GENERATED_EVENTS = 200_000
"""As bench `software` has them: a workload of a million is made once for both."""


def scaling(count: int) -> list[Figure]:
    """The rates on one core and on two, each in a Spark that is held to as many."""
    made = wide(SCALED_RULES, events=count, match_rate=MATCH_RATE)
    rates = {cores: alone(rates_on, cores, made.folder, count) for cores in (1, CORES)}
    facts = {"part": "scaling", "expressions": SCALED_RULES, **shared_facts(), "events": count}
    return [
        figure
        for what in (IDS, PASS_THROUGH)
        for figure in _scaled(what, {cores: of[what] for cores, of in rates.items()}, facts)
    ]


def _scaled(
    what: str, rates: dict[int, list[float]], facts: dict[str, object]
) -> Iterator[Figure]:  # fmt: skip
    for cores, samples in rates.items():
        partitions = PARTITIONS_PER_CORE * cores
        yield Figure(
            f"{SCALED_RULES:,} expressions: {what}, Spark held to {cores} of the cores",
            samples,
            unit="events/s",
            parameters={**facts, "what": what, "cores": cores, "partitions": partitions},
        )
    yield Figure(
        f"{SCALED_RULES:,} expressions: {what}, {CORES} cores by 1",
        [median(rates[CORES]) / median(rates[1])],
        unit="x",
        target=SCALING_TARGET if what == IDS else None,
        at_most=False,
        parameters={**facts, "what": f"{what}, {CORES} cores by 1"},
    )


def rates_on(cores: int, folder: Path, count: int) -> dict[str, list[float]]:
    hold_to(cores)
    made = Workload(folder)
    rules = Rules(made)
    rates: dict[str, list[float]] = {}
    with session(cores) as spark:
        events = Events(made.wide.slice(0, count), spark, cores)
        for what in (IDS, PASS_THROUGH):
            run = CONTESTANTS[what](rules)(events, count).run
            warmed(run, SAMPLE_SECONDS)
            rates[what] = [count / wall_seconds(run) for _ in range(ROUNDS)]
    return rates


def sparse(count: int) -> list[Figure]:
    """A million expressions: the rate of each core, and how long it takes to open the engines."""
    count = min(count, SPARSE_EVENTS)
    made = preset("uni", SPARSE, GENERATED_EVENTS)
    rates, opening, matches = alone(sparse_rates, CORES, made.folder, count)
    facts = {
        "part": "sparse", "expressions": SPARSE, "preset": "uni", **shared_facts(), "columns": 1,
        "match_rate": None, "events": count, "matches_per_event": matches / count,
    }  # fmt: skip
    return [
        Figure(
            f"{SPARSE:,} sparse expressions: {IDS}, each core",
            [rate / CORES for rate in rates],
            unit="events/s",
            target=SPARSE_TARGET if SPARSE == 1_000_000 else None,
            at_most=False,
            parameters={**facts, "what": IDS},
        ),
        *(
            Figure(f"{SPARSE:,} sparse expressions: {what}", [taken],
                   parameters={**facts, "what": what})
            for what, taken in opening.items()
        ),
    ]  # fmt: skip


def sparse_rates(cores: int, folder: Path, count: int) -> tuple[list[float], dict[str, float], int]:
    """Events/s of all cores; seconds to pack and to open; matches."""
    hold_to(cores)
    made = Workload(folder)
    queries, table = made.load(), made.sparse.slice(0, count)
    checked = table.slice(0, CHECKED_EVENTS)
    with penstock.open(queries, engine=ENGINE) as matcher:
        expected = matcher.match(checked)[LIST].to_pylist()
    (column,) = table.column_names
    with session(cores) as spark:
        transforms: list[Any] = []
        packing = wall_seconds(lambda: transforms.append(match(queries, events=column)))
        few, all_events = kept(spark, checked, cores), kept(spark, table, cores)
        first, again = (wall_seconds(lambda: save(transforms[0](few))) for _ in range(2))
        found = spark.createDataFrame(checked).coalesce(1).transform(transforms[0]).toArrow()
        assert found[LIST].to_pylist() == expected, "other matches than without Spark"
        answered = transforms[0](all_events)
        warmed(partial(save, answered), SAMPLE_SECONDS)
        rates = [count / wall_seconds(partial(save, answered)) for _ in range(ROUNDS)]
        matches = answered.selectExpr(f"sum(size({LIST}))").collect()[0][0]
    opening = {"rules packed": packing, "first answer of both cores": first - again}
    return rates, opening, int(matches)
