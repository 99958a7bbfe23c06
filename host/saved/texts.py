"""Subscriptions that came one by one, as rows of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.gen.errors import DataError, PenstockError
from penstock.gen.language.script import parse_subscription
from penstock.gen.queryset import QuerySet
from penstock.gen.render import sql

COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.string()),
        ("weight", pa.int32()),
        ("owner", pa.string()),
        ("expires", pa.timestamp("us", "UTC")),
    ]
)


def texts_of(queries: QuerySet) -> list[dict[str, Any]]:
    """A row for each subscription that is in no table of predicates."""
    return [
        {
            "id": single.id,
            "text": sql(single.own),
            "weight": single.weight,
            "owner": single.owner,
            "expires": single.expires,
        }
        for single in queries.singles
    ]


def insert_texts(queries: QuerySet, rows: Iterable[Mapping[str, Any]], source: str) -> None:
    """Add the subscriptions of some rows; DataError if one of them is none."""
    for number, row in enumerate(rows, start=1):
        try:
            id, text, weight = row["id"], row["text"], row["weight"]
            made = parse_subscription(id, text, queries.schema, id, weight)
            queries.insert(replace(made, owner=row["owner"], expires=row["expires"]))
        except (PenstockError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{source}, subscription {number}: {error}") from None
