"""Where things are in a folder: events, expressions, the stream; and rules, in whichever form."""

from __future__ import annotations

from pathlib import Path

import penstock
from penstock.gen.errors import DataError
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.host.saved.folder import SavedSet
from penstock.host.saved.parcel import unpacked
from penstock.host.saved.snapshot import INDEX
from penstock.spark_bridge.published import last_version, rules_of
from penstock.spark_bridge.sources.options import Options

EVENTS, SCHEMA, SUMMARY = "events.parquet", "schema.sql", "workload.json"
EXPRESSIONS = ("expressions.parquet", "subscriptions.parquet")
MOST_RULE_BYTES = 1 << 30
"""Of the file of a query set, and of what is sent to the workers."""


def table_of(path: Path, what: str) -> Path:
    """The file of events or expressions that a folder holds; any other path is the file's own."""
    if not path.exists():
        raise DataError(f"there is no file or folder {str(path)!r}")
    if not path.is_dir():
        return path
    names = (EVENTS,) if what == "events" else EXPRESSIONS
    for name in names:
        if (path / name).is_file():
            return path / name
    raise DataError(f"{path} holds no {what}: none of {', '.join(names)} is there")


def stream_beside(path: Path) -> Schema | None:
    """The stream that a ``schema.sql`` in a folder, or beside a file, declares."""
    file = (path if path.is_dir() else path.parent) / SCHEMA
    return penstock.load_schema(file) if file.is_file() else None


def is_saved(path: Path) -> bool:
    return (path / INDEX).is_file()


def is_published(path: Path) -> bool:
    return path.is_dir() and bool(last_version(path))


def rules_at(options: Options) -> QuerySet:
    """The rules of the option ``rules``: a file or folder that `load` takes, a saved set, a folder
    where versions are published, of which the last counts, or the file of a version."""
    path = options.path("rules")
    assert path is not None
    stream, policy = options.text("stream"), options.path("policy")
    if path.is_file() and path.stat().st_size > MOST_RULE_BYTES:
        raise DataError(f"{path} has {path.stat().st_size:,} bytes, above {MOST_RULE_BYTES:,}")
    if path.suffix == ".parcel" and path.is_file():
        return unpacked(path.read_bytes(), str(path))
    if is_saved(path):
        saved, queries = SavedSet.open(path)
        saved.close()
        return queries
    if is_published(path):
        return rules_of(path, last_version(path))
    return penstock.load(path, schema=options.schema(), stream=stream, policy=policy)
