"""The engines that the shared suite runs on, and the set of subscriptions it opens on them.

One set for nearly all tests: the simulated engine compiles a circuit for each.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import penstock
from penstock import Matcher, QuerySet, Schema
from penstock.host.events import Batch, rows_of, to_table
from penstock.sim import oracle

OPTIONS: dict[str, dict[str, Any]] = {"simulated": {"spare": 12, "k": 2}}
"""How an engine is opened, where its defaults would leave a part of it out."""

ENGINES = [
    pytest.param(name, marks=pytest.mark.xdist_group("simulated") if name == "simulated" else ())
    for name in penstock.ENGINES
]

SCHEMA = Schema.of(
    {"price": "DECIMAL(10,2)", "symbol": "STRING", "n": "INT", "m": "INT", "d": "DOUBLE"}
)
NEVER = datetime(9999, 12, 31, tzinfo=UTC)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)

TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "z cheap": ("price < 10", {}),
    "a": ("symbol IN ('A', 'B') AND n >= 5", {"weight": 5, "owner": "ann"}),
    "Z": ("n > m", {"weight": 3, "owner": "bob", "expires": NEVER}),
    "no price": ("price IS NULL OR NOT (n = 5)", {"owner": "ann"}),
    "\u00e9": ("weight(symbol LIKE 'A%', 2) OR weight(n BETWEEN 1 AND 5, 7)", {"weight": 1}),
    "always": ("n = 1 OR n <> 1 OR n IS NULL", {"owner": "ann"}),
    "never": ("n < 1 AND n > 2", {"weight": 9}),
    "nan": ("d > 1e308 OR symbol = ''", {}),
    "zero": ("d = 0", {"owner": "\u00e4nn"}),
    "\U0001f600": ("n = -2147483648", {}),
    "\uffff": ("n <= -2147483648", {}),
}
PREDICATES = pa.table(
    {
        "id": ["t1", "t1", "t2"],
        "attribute": ["n", "symbol", "m"],
        "operator": [">=", "IN", "IS NULL"],
        "operands": [["5"], ["A", "B"], []],
        "weight": [2, 0, 1],
    }
)
EVENTS: list[dict[str, Any]] = [
    {"price": Decimal("9.99"), "symbol": "A", "n": 5, "m": 4},
    {"price": Decimal(10), "symbol": "AB", "n": 6, "m": 7, "d": -0.0},
    {},
    {"symbol": "B", "n": 5, "d": float("inf")},
    {"n": 2, "m": 1, "d": 0.0},
    {"symbol": "", "n": -(2**31), "m": 2**31 - 1},
    {"n": 2**31 - 1, "m": -(2**31), "d": 1e308, "symbol": "\U0001f600"},
]


def wide(events: list[dict[str, Any]] = EVENTS) -> pa.Table:
    return pa.Table.from_pylist(events, SCHEMA.to_arrow())


def sparse(events: list[dict[str, Any]] = EVENTS) -> pa.Table:
    pairs = [[(key, str(value)) for key, value in event.items()] for event in events]
    return pa.table({"attributes": pa.array(pairs, pa.map_(pa.string(), pa.string()))})


def with_nan() -> pa.Table:
    """The events, NaN where the first has no value: dicts and texts are not asked to tell it."""
    values = [event.get("d") for event in EVENTS]
    column = pa.array([float("nan"), *values[1:]], pa.float64(), from_pandas=False)
    return wide().set_column(SCHEMA["d"].index, "d", column)


def query_set() -> QuerySet:
    queries = QuerySet(SCHEMA)
    for id, (text, more) in TEXTS.items():
        queries.add(id, text, **more)
    queries.add_predicates(PREDICATES)
    return queries


def opened(engine: str, queries: QuerySet | str | None = None, **more: Any) -> Matcher:
    """The set on an engine, as the shared suite opens it."""
    options = {**OPTIONS.get(engine, {}), **more}
    return penstock.open(query_set() if queries is None else queries, engine=engine, **options)


def rows(events: Any) -> list[dict[int, Any]]:
    return rows_of(Batch.of(to_table(events, SCHEMA), SCHEMA).wide(), SCHEMA)


def wanted(matcher: Matcher, events: Any, keep: Callable[[str], bool] = bool) -> list[list[str]]:
    """What the definition says of the matcher's set as it is."""
    asked = [subscription for subscription in matcher.queries if keep(subscription.id)]
    return [oracle.matches(asked, row) for row in rows(events)]


def best(
    queries: Iterable[Any], events: Any, k: int, weights: Mapping[int, int]
) -> list[list[tuple[str, int]]]:
    asked = list(queries)
    return [oracle.top_k(asked, row, k, weights) for row in rows(events)]


def answers(table: pa.Table) -> list[list[str]]:
    found: list[list[str]] = table["matches"].to_pylist()
    return found


def scored(table: pa.Table) -> list[list[tuple[str, int]]]:
    return [
        [(match["id"], match["score"]) for match in row] for row in table["matches"].to_pylist()
    ]
