"""The last step of writing: parts become one whole, which is checked and moved into its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import penstock
from penstock.gen.errors import DataError
from penstock.gen.policy import Policy
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.gen.tables import read_table
from penstock.host.saved.folder import SavedSet
from penstock.host.saved.snapshot import sync_folder
from penstock.spark_bridge.published import last_version, publish, rules_of
from penstock.spark_bridge.sources.places import (
    EVENTS,
    EXPRESSIONS,
    SCHEMA,
    SUMMARY,
    is_published,
    is_saved,
    stream_beside,
)

if TYPE_CHECKING:
    from penstock.spark_bridge.sources.writing import Plan


GROUP_ROWS = 1 << 16


def commit_events(plan: Plan, parts: Sequence[Path], whole: Path, columns: pa.Schema) -> None:
    """Put all events into one file, after those that are there if they stay."""
    folder = Path(plan.folder)
    with _alone_in(folder):
        place = folder / EVENTS
        if plan.stream is not None:
            _check_stream(plan.stream, folder)
        before = [place] if place.exists() and not plan.overwrite else []
        if before:
            _check_same(place, columns)
        write_groups(whole, columns, _tables_of([*before, *parts], columns))
        if plan.stream is not None:
            _put_stream(plan.stream, folder, whole.parent)
        _put(whole, place)


def commit_expressions(plan: Plan, parts: Sequence[Path], whole: Path, columns: pa.Schema) -> None:
    """Check all expressions as a query set, then make them what the folder holds."""
    folder = Path(plan.folder)
    tables = [columns.empty_table(), *(pq.read_table(part) for part in parts)]
    added = pa.concat_tables(tables)
    whole.mkdir()
    if plan.target == "saved":
        _save(plan, added, whole)
    elif plan.target == "published":
        last = rules_of(folder, last_version(folder)) if is_published(folder) else None
        made = _loaded(plan, added, whole, last)
        if last is not None and not plan.overwrite:
            made = _joined(last, made, folder)
        publish(made, folder)
    else:
        with _alone_in(folder):
            _put_table(plan, added, whole)


def _put_table(plan: Plan, added: pa.Table, whole: Path) -> None:
    folder = Path(plan.folder)
    stream = plan.stream or stream_beside(folder)
    assert stream is not None, "planned() did not look for a stream"
    _check_stream(stream, folder)
    places = [folder / name for name in EXPRESSIONS]
    place = next((place for place in places if place.exists()), places[0])
    if place.exists() and not plan.overwrite:
        added = _after(read_table(place), added, place)
    _loaded(plan, added, whole, None)
    _put_stream(stream, folder, whole)
    _put(whole / EXPRESSIONS[0], place)


def _save(plan: Plan, added: pa.Table, whole: Path) -> None:
    folder, now = Path(plan.folder), datetime.now(UTC)
    if not is_saved(folder):
        SavedSet.make(folder, _loaded(plan, added, whole, None), now).close()
        return
    saved, current = SavedSet.open(folder)
    try:
        made = _loaded(plan, added, whole, current)
        if not plan.overwrite:
            made = _joined(current, made, folder)
        saved.replace(made, now)
    finally:
        saved.close()


def _joined(before: QuerySet, added: QuerySet, folder: Path) -> QuerySet:
    """Both, in the first; DataError if they share an id."""
    try:
        before.extend(added)
    except ValueError as error:
        raise DataError(f"{folder}: {error}") from None
    return before


def _loaded(plan: Plan, table: pa.Table, whole: Path, before: QuerySet | None) -> QuerySet:
    """The query set of a table, read from a folder as it will be: what `load` takes is right."""
    folder = Path(plan.folder)
    stream = plan.stream or stream_beside(folder) or (before.schema if before else None)
    if stream is None:
        raise DataError("expressions need a stream\nhint: name it with option schema")
    if before is not None and not plan.overwrite and stream != before.schema:
        raise DataError(
            f"the rules in {folder} are on another stream:\n{before.schema}\nnot\n{stream}"
        )
    policy: Policy | Path | None = plan.policy
    if policy is None and before is not None:
        policy = before.policy
    pq.write_table(table, whole / EXPRESSIONS[0])
    (whole / SCHEMA).write_text(f"{stream};\n", encoding="utf-8")
    return penstock.load(whole, policy=policy)


def _after(before: pa.Table, added: pa.Table, place: Path) -> pa.Table:
    """The rows of two tables of expressions; columns that one of them lacks are NULL."""
    before, added = _decoded(before), _decoded(added)
    if ("text" in before.column_names) != ("text" in added.column_names):
        raise DataError(
            f"{place} holds {_kind(before)}, and these are {_kind(added)}\n"
            "hint: a table holds one of the two; option target 'saved' takes both"
        )
    if "operands" in before.column_names and "operands" in added.column_names:
        of = before.schema.field("operands").type
        if of != added.schema.field("operands").type:
            text = pa.list_(pa.string())
            before, added = (_with_operands(table, text) for table in (before, added))
    try:
        return pa.concat_tables([before, added], promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(f"the columns are not those of {place}: {error}") from None


def _kind(table: pa.Table) -> str:
    return "texts" if "text" in table.column_names else "predicates"


def _with_operands(table: pa.Table, of: pa.DataType) -> pa.Table:
    place = table.column_names.index("operands")
    return table.set_column(place, "operands", table["operands"].cast(of))


def _decoded(table: pa.Table) -> pa.Table:
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _check_same(place: Path, columns: pa.Schema) -> None:
    """DataError unless new events have the columns of those that are there."""
    there = _decoded(pq.read_schema(place).empty_table()).schema
    before, now = ([(f.name, str(f.type)) for f in schema] for schema in (there, columns))
    if sorted(before) != sorted(now) and not there.equals(columns):
        shown = (", ".join(f"{name} {of}" for name, of in found) for found in (before, now))
        raise DataError(
            f"the events in {place} have the columns\n{next(shown)}\nnot\n{next(shown)}\n"
            "hint: append events of the same columns, or write to another folder"
        )


def write_groups(path: Path, columns: pa.Schema, tables: Iterable[pa.Table]) -> int:
    """Write tables as row groups of the size that a workload has, and say how many rows."""
    rows, held = 0, columns.empty_table()
    with pq.ParquetWriter(path, columns) as writer:
        for table in tables:
            rows += table.num_rows
            held = pa.concat_tables([held, table])
            while held.num_rows >= GROUP_ROWS:
                writer.write_table(held.slice(0, GROUP_ROWS), GROUP_ROWS)
                held = held.slice(GROUP_ROWS)
        if held.num_rows:
            writer.write_table(held, GROUP_ROWS)
    return rows


def _tables_of(files: Sequence[Path], columns: pa.Schema) -> Iterator[pa.Table]:
    for path in files:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                yield _decoded(table).select(columns.names).cast(columns)


def _check_stream(stream: Schema, folder: Path) -> None:
    """DataError if the folder holds anything of another stream."""
    there = stream_beside(folder)
    others = [name for name in (EVENTS, *EXPRESSIONS) if (folder / name).exists()]
    if there is not None and there != stream and others:
        raise DataError(
            f"{folder} holds {', '.join(others)} of another stream:\n{there}\nnot\n{stream}\n"
            "hint: write to another folder"
        )


def _put_stream(stream: Schema, folder: Path, parts: Path) -> None:
    if stream_beside(folder) != stream:
        file = parts / f"{SCHEMA}.part"
        file.write_text(f"{stream};\n", encoding="utf-8")
        _put(file, folder / SCHEMA)


def _put(file: Path, place: Path) -> None:
    """Move a file into its place in one step, once it is on disk."""
    with file.open("rb") as written:
        os.fsync(written.fileno())
    # A summary tells of all that `generate` wrote, which this is not.
    (place.parent / SUMMARY).unlink(missing_ok=True)
    file.replace(place)
    sync_folder(place.parent)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Nobody else puts anything into the folder: what is appended to must not change meanwhile."""
    import fcntl  # not on Windows

    was_there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    except BaseException:
        if not was_there:
            with suppress(OSError):  # it has something in it
                folder.rmdir()
        raise
    finally:
        os.close(descriptor)
