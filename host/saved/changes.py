"""Changes to a query set as the payloads of a log.

A payload is a line of JSON and, after it, for each table of predicates that is added its columns
(`penstock.gen.table_columns`) as an Arrow IPC stream, whose lengths the line gives:

    {"at": "2026-03-02T14:30:00+00:00", "remove": ["old", "older"]}
    {"at": "2026-03-02T14:30:01+00:00", "add": [{"id": "new", "text": "n = 1", "weight": 0,
     "owner": "", "expires": null}], "tables": [2048]}

``at`` is when the change was made: what had expired by then was gone before it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from penstock.gen.errors import DataError
from penstock.gen.queryset import QuerySet
from penstock.gen.table_columns import from_columns, to_columns
from penstock.host.expiries import Expiries
from penstock.host.saved.texts import insert_texts, texts_of


def added(queries: QuerySet, at: datetime) -> bytes:
    """The payload of subscriptions that come."""
    tables = [_stream(to_columns(table, kept)) for table, kept in queries.tables if len(kept)]
    head = {"at": at, "add": texts_of(queries), "tables": [len(table) for table in tables]}
    return b"".join([_line(head), *tables])


def removed(ids: Sequence[str], at: datetime) -> bytes:
    """The payload of subscriptions that go."""
    return _line({"at": at, "remove": list(ids)})


def apply(payload: bytes, queries: QuerySet, expiries: Expiries, source: str) -> None:
    """Make a change again; DataError if it cannot have been made."""
    line, _, streams = payload.partition(b"\n")
    try:
        head = json.loads(line)
        for id in expiries.pop_due(_time(head["at"])):
            queries.remove(id)
        if "remove" in head:
            for id in head["remove"]:
                queries.remove(id)
            return
        added = _added(head, streams, queries.empty(), source)
        queries.extend(added)
        expiries.add(added.expiries())
    except (ValueError, TypeError, LookupError, pa.ArrowException, OSError) as error:
        raise DataError(f"{source} is no change of this set: {error}") from None


def _added(head: dict[str, Any], streams: bytes, queries: QuerySet, source: str) -> QuerySet:
    """The subscriptions that a change adds, put into an empty set."""
    rows = [{**row, "expires": row["expires"] and _time(row["expires"])} for row in head["add"]]
    insert_texts(queries, rows, source)
    for length in head["tables"]:
        columns = pa.ipc.open_stream(streams[:length]).read_all()
        columns.validate(full=True)
        queries.insert_table(from_columns(columns, queries.schema, source))
        streams = streams[length:]
    return queries


def _line(head: dict[str, Any]) -> bytes:
    return json.dumps(head, default=datetime.isoformat).encode() + b"\n"


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.utcoffset() is None:
        raise ValueError(f"the time {text} names no zone")
    return time
