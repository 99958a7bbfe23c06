"""A query set as files: Arrow tables, and a JSON file that says what they must be.

`texts-3.arrow` has the subscriptions that came one by one, as SQL; `predicates-3-0.arrow` and so
on have those of tables of predicates (`penstock.gen.table_columns`). 3 is the generation, which
every save raises. `snapshot.json` names the generation that counts, with the stream, the policy,
the time, and the length and SHA-256 of each file; last in it stands the SHA-256 of all the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.gen.errors import DataError
from penstock.gen.language.policy_statement import parse_policy
from penstock.gen.language.script import parse_schema
from penstock.gen.queryset import QuerySet
from penstock.gen.table_columns import from_columns, to_columns
from penstock.host.saved.texts import COLUMNS, insert_texts, texts_of

INDEX = "snapshot.json"
PARTIAL = f"{INDEX}.part"
FORMAT = 1
MOST_INDEX_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a folder holds: the set as it was at a time, and its generation."""

    queries: QuerySet
    at: datetime
    generation: int


def write(folder: Path, snapshot: Snapshot) -> None:
    """Write a snapshot beside the one that counts, until it is put in its place."""
    generation = snapshot.generation
    files = []
    for number, table in enumerate(tables_of(snapshot.queries)):
        content = content_of(table)
        write_durably(folder / _name(generation, number), content)
        digest = hashlib.sha256(content).hexdigest()
        files.append({"bytes": len(content), "sha256": digest})
    head = {
        "format": FORMAT,
        "generation": generation,
        "at": snapshot.at.isoformat(),
        "stream": str(snapshot.queries.schema),
        "policy": policy_text(snapshot.queries),
        "files": files,
    }
    text = json.dumps({**head, "sha256": _digest(head)}, indent=1)
    write_durably(folder / PARTIAL, text.encode())
    sync_folder(folder)


def put_in_place(folder: Path) -> None:
    """Make the snapshot that was written last the one that counts."""
    (folder / PARTIAL).replace(folder / INDEX)


def read(folder: Path) -> Snapshot:
    """The snapshot of a folder; DataError if it is not as it was written."""
    head = _head(folder / INDEX)
    try:
        generation, at = int(head["generation"]), datetime.fromisoformat(head["at"])
        schema = parse_schema(head["stream"], str(folder / INDEX))
        text = head["policy"]
        policy = None if text is None else parse_policy(text, "the saved policy")
        queries = QuerySet(schema, policy=policy)
        for number, file in enumerate(head["files"]):
            path = folder / _name(generation, number)
            table = _read_file(path, file["bytes"], file["sha256"])
            add_table(queries, number, table, str(path))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder / INDEX} is no snapshot: {error}") from None
    return Snapshot(queries, at, generation)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file that is on disk when this returns."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def add_table(queries: QuerySet, number: int, table: pa.Table, source: str) -> None:
    """Add what one of `tables_of` holds."""
    if number:
        queries.insert_table(from_columns(table, queries.schema, source))
        return
    if table.schema != COLUMNS:
        raise DataError(f"{source}: these are no texts of subscriptions")
    insert_texts(queries, table.to_pylist(), source)


def policy_text(queries: QuerySet) -> str | None:
    return queries.policy.source.text if queries.policy else None


def _name(generation: int, number: int) -> str:
    if number == 0:
        return f"texts-{generation}.arrow"
    return f"predicates-{generation}-{number - 1}.arrow"


def tables_of(queries: QuerySet) -> Iterator[pa.Table]:
    """The texts of subscriptions, and then what is left of each table of predicates."""
    yield pa.Table.from_pylist(texts_of(queries), COLUMNS)
    for table, kept in queries.tables:
        if len(kept):
            yield to_columns(table, kept)


def content_of(table: pa.Table) -> pa.Buffer:
    """A table as the content of a file."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _head(path: Path) -> dict[str, Any]:
    """The JSON file, once it is known to be what was written."""
    try:
        if path.stat().st_size > MOST_INDEX_BYTES:
            raise DataError(f"{path} is no snapshot: it has more than {MOST_INDEX_BYTES} bytes")
        head = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise DataError(f"{path} is damaged: {error}") from None
    if not isinstance(head, dict) or head.pop("sha256", None) != _digest(head):
        raise DataError(f"{path} is damaged: its checksum is not that of what it says")
    if head.get("format") != FORMAT:
        raise DataError(
            f"{path} has format {head.get('format')!r}; this version of Penstock reads {FORMAT}"
        )
    return head


def _read_file(path: Path, size: int, digest: str) -> pa.Table:
    try:
        if path.stat().st_size != size:
            raise DataError(f"{path} is damaged: it has {path.stat().st_size} bytes, not {size}")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise DataError(f"{path} is damaged: its checksum is not that of the snapshot")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    return table_in(content, str(path))


def table_in(content: bytes, source: str) -> pa.Table:
    """The table of such a content."""
    try:
        table = pa.ipc.open_file(pa.BufferReader(content)).read_all()
        table.validate(full=True)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{source} is no Arrow file: {error}") from None
    return table


def _digest(head: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(head, sort_keys=True).encode()).hexdigest()
