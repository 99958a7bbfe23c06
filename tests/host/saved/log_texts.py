"""A small saved set and its changes, for tests that break it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import penstock
from penstock import DataError, Matcher, QuerySet, Schema

SCHEMA = Schema.of({"n": "INT", "s": "STRING", "t": "TIMESTAMP", "d": "DECIMAL(10,2)"})
LOG = "changes-1.log"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def table(*ids: str) -> pa.Table:
    """Two predicates for each id, on attributes of different types."""
    return pa.table(
        {
            "id": [id for id in ids for _ in range(2)],
            "attribute": ["s", "n"] * len(ids),
            "operator": ["IN", "<"] * len(ids),
            "operands": [["", "\u00e4"], ["5"]] * len(ids),
            "weight": [3, 0] * len(ids),
        }
    )


def first_set() -> QuerySet:
    queries = QuerySet(SCHEMA)
    queries.add("text", "n > 1 AND s LIKE '%\u00e9'", weight=4, owner="ann")
    queries.add_predicates(table("t1", "t2", "t3"))
    queries.remove("t2")
    queries.add("until", "n = 1", expires=NOON + timedelta(days=1))
    return queries


CHANGES: list[Callable[[Matcher], None]] = [
    lambda matcher: matcher.add("x", "n = 1 OR s = 'it''s'", weight=2, owner="bob"),
    lambda matcher: matcher.remove("text"),
    lambda matcher: matcher.add_predicates(table("t2", "t4")),
    lambda matcher: matcher.add("text", "d = 1.50", expires=NOON + timedelta(hours=1)),
    lambda matcher: matcher.remove_all(["t1", "x", "t4"]),
]


def state(matcher: Matcher) -> dict[str, object]:
    return {subscription.id: subscription for subscription in matcher.queries}


def opened(path: Path) -> Matcher:
    return penstock.open(path, engine="oracle", clock=lambda: NOON)


def changed_set(path: Path) -> list[dict[str, object]]:
    """Save a set and change it; what it was after the save and after each change."""
    with penstock.open(first_set(), engine="oracle", clock=lambda: NOON) as matcher:
        matcher.save(path)
        states = [state(matcher)]
        for change in CHANGES:
            change(matcher)
            states.append(state(matcher))
    return states


def refused(folder: Path, message: str) -> None:
    """The set is refused with a message, and nothing in the folder changes for it."""
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(DataError, match=message):
        opened(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
