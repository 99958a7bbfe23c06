"""Query sets and events that the circuits of the benches are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.host.events import Batch, to_table
from penstock.sim.workload import WorkloadSpec, generate_events, generate_expressions, schema_for

NAMES = ("language", "generated", "crowds")


@dataclass(frozen=True, slots=True)
class Workload:
    """A query set, events for it, and how many subscriptions to put into a tile."""

    name: str
    queries: QuerySet
    events: pa.RecordBatch
    tile_size: int
    seed: int


def workload(name: str, event_count: int) -> Workload:
    """The workload of this name, one of `NAMES`, with so many events."""
    makers = {"language": _language, "generated": _generated, "crowds": _crowds}
    return makers[name](event_count)


def _language(event_count: int) -> Workload:
    """Every operator on attributes of several types; some conditions the host must finish."""
    queries = QuerySet(
        Schema.of(
            {
                "n": "INT", "m": "INT", "price": "DECIMAL(10,2)", "name": "STRING",
                "ratio": "DOUBLE", "day": "DATE", "flag": "BOOLEAN", "alias": "STRING",
            }
        )
    )  # fmt: skip
    for number, text in enumerate(_texts()):
        queries.add(f"{number:02} {text}", text)
    pools: dict[str, list[Any]] = {
        "n": [-(2**31), 0, 4, 5, 6, 9, 10, 11, 15, 16, 2**31 - 1],
        "m": [0, 5, 9, 10, 11],
        "price": [Decimal(text) for text in ("-1", "4.99", "5", "9.99", "10", "10.01", "15.01")],
        "name": ["", "a", "ab", "abc", "abd", "ac", "b", "c", "d", "\u00e9"],
        "ratio": [-0.0, 0.0, 0.5, 1.0, 1.5, float("nan"), float("inf"), -1.0],
        "day": ["2026-02-28", "2026-03-01", "2026-03-02", "2026-04-01"],
        "flag": [True, False],
        "alias": ["ab", "abc", "b"],
    }
    rng = Random(3)
    rows = [
        {name: rng.choice(pool) for name, pool in pools.items() if rng.random() < 0.75}
        for _ in range(event_count - 1)
    ]
    events = Batch.of(to_table([*rows, {}], queries.schema), queries.schema).wide()
    return Workload("language", queries, events, tile_size=512, seed=3)


def _texts() -> Iterator[str]:
    for operand, low, middle, high in (
        ("n", "5", "10", "15"),
        ("price", "5", "10", "15"),
        ("name", "'a'", "'abc'", "'c'"),
        ("ratio", "0.0D", "1.0D", "CAST('NaN' AS DOUBLE)"),
    ):
        for operator in ("<", "<=", "=", ">=", ">", "<>", "<=>"):
            yield f"{operand} {operator} {middle}"
        yield f"{operand} BETWEEN {low} AND {high}"
        yield f"{operand} IN ({low}, {middle}, {high})"
        yield f"{operand} NOT IN ({low}, {middle})"
        yield f"{operand} IS NULL"
        yield f"{operand} IS NOT NULL"
    for operator in ("<", "<=", "=", ">=", ">", "<>", "<=>"):
        yield f"n {operator} m"
    yield from (
        "name LIKE 'ab%'",
        "NOT name LIKE 'ab%'",
        "NOT (n <=> 10)",
        "flag AND n > 5 AND price < 10",
        "NOT flag OR (day >= DATE '2026-03-01' AND ratio > 0.5D)",
        "(n = 10 OR m = 10) AND NOT (name = 'b' AND flag)",
        "name LIKE 'a%c' AND n IS NOT NULL",
        "name LIKE '%b' OR ratio < 1.0D",
        "name = alias",
        "day = DATE '2026-03-02'",
        "TRUE",
    )


def _generated(event_count: int) -> Workload:
    spec = WorkloadSpec(
        expressions=90, attributes=10, cardinality=20, predicates=3, predicate_spread=1,
        pairs=7, pair_spread=3, events=event_count, seed=5,
    )  # fmt: skip
    queries = QuerySet(schema_for(spec))
    queries.add_predicates(generate_expressions(spec))
    drawn = Batch.of(generate_events(spec), queries.schema).wide()
    # Values beyond all that are drawn: the generator's own never leave the constants behind.
    edges = [dict.fromkeys(spec.attribute_names, value) for value in (-1, spec.cardinality)]
    events = pa.concat_batches(
        [drawn, Batch.of(to_table(edges, queries.schema), queries.schema).wide()]
    )
    return Workload("generated", queries, events, tile_size=32, seed=5)


def _crowds(event_count: int) -> Workload:
    """Events that match nothing, one subscription, hosts of them, or all.

    The first tile has three chunks, so that its fourth chunk number is nobody's.
    """
    queries = QuerySet(Schema.of({"level": "INT", "mark": "INT"}))
    for number in range(1, 97):
        queries.add(f"level {number:03}", f"level >= {number}")
    for number in range(1, 41):
        queries.add(f"mark {number:03}", f"mark = {number} OR level >= 100")
    rng = Random(9)
    rows = []
    for _ in range(event_count):
        kind = rng.random()
        row = {"mark": rng.randint(0, 41)} if kind < 0.75 else {}
        if kind > 0.45:
            row["level"] = rng.choice([0, 1, 31, 32, 33, 64, 96, 99, 100, rng.randint(0, 101)])
        rows.append(row)
    events = Batch.of(to_table(rows, queries.schema), queries.schema).wide()
    return Workload("crowds", queries, events, tile_size=96, seed=9)
