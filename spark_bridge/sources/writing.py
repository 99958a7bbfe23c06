"""Writing events and expressions: workers write parts, the driver puts the whole in its place.

Parts go to a hidden folder beside the one that is written. Only when all are there, and what they
hold has been checked, is it moved in one step; until then readers see what was there before, and
after a failure they go on to.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from penstock.gen.arrow import may_become
from penstock.gen.errors import DataError, PenstockError, nearest
from penstock.gen.schema import Schema
from penstock.spark_bridge.sources.committing import (
    commit_events,
    commit_expressions,
    write_groups,
)
from penstock.spark_bridge.sources.places import is_saved, stream_beside
from penstock.spark_bridge.sources.tables import is_sparse

TARGETS = ("table", "saved", "published")


@dataclass(frozen=True)
class Plan:
    """What is written, where, and how."""

    folder: str
    what: str
    target: str
    overwrite: bool
    stream: Schema | None
    policy: Path | None


@dataclass
class Part(WriterCommitMessage):
    """What a task wrote: a file in the hidden folder, or none if it had no rows."""

    file: str | None
    size: int


def planned(plan: Plan, columns: pa.Schema) -> Plan:
    """The plan, once it is known that what is to be written can be; on the driver, before tasks."""
    folder = Path(plan.folder)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; name a folder to write to")
    if plan.what == "events":
        _check_events(plan, columns)
    elif plan.stream is None and plan.target == "table" and stream_beside(folder) is None:
        raise DataError(
            f"expressions need a stream, and {folder} has no schema.sql\n"
            "hint: option schema is a file with CREATE STREAM, or the statement itself"
        )
    if plan.what == "expressions" and plan.target == "table" and is_saved(folder):
        raise DataError(f"{folder} is a saved set\nhint: write to it with option target 'saved'")
    return plan


def _check_events(plan: Plan, columns: pa.Schema) -> None:
    if plan.target != "table":
        raise DataError(f"option target {plan.target!r} is for expressions, and these are events")
    stream = plan.stream or stream_beside(Path(plan.folder))
    if stream is None or is_sparse(columns):
        return
    found = [(field, stream.find(field.name)) for field in columns]
    if all(attribute is None for _, attribute in found):
        hint = nearest(columns.names[0] if columns.names else "", (a.name for a in stream))
        raise DataError(f"no column is an attribute of stream {stream.stream!r}\nhint: {hint}")
    for field, attribute in found:
        if attribute is not None and not may_become(field.type, attribute.type):
            raise DataError(
                f"column {field.name!r} is {field.type}, which cannot be compared as "
                f"{attribute.type}, the type of attribute {attribute.name!r}"
            )


class WorkloadWriter(DataSourceArrowWriter):
    """Made on the driver; `write` runs in the tasks, `commit` or `abort` on the driver again."""

    def __init__(self, plan: Plan, columns: pa.Schema) -> None:
        folder = Path(plan.folder)
        self._plan = plan
        self._columns = columns
        self._parts = folder.parent / f".{folder.name}.{uuid4().hex}.parts"
        try:
            self._parts.mkdir(parents=True)
        except OSError as error:
            raise DataError(f"{folder} cannot be written: {error.strerror}") from None

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Part:
        if not self._parts.is_dir():
            raise DataError(
                f"a worker does not see {self._parts}\n"
                "hint: the folder must be on storage that the driver and all workers share"
            )
        path = self._parts / f"{uuid4().hex}.parquet"
        try:
            rows = write_groups(path, self._columns, _tables(iterator, self._columns))
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
        if not rows:
            path.unlink()
            return Part(None, 0)
        return Part(path.name, path.stat().st_size)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        plan, folder = self._plan, Path(self._plan.folder)
        try:
            parts = [self._arrived(message) for message in messages]
            files = [path for path in parts if path is not None]
            if plan.what == "events":
                whole = self._parts / "whole.parquet"
                commit_events(plan, files, whole, self._columns)
            else:
                commit_expressions(plan, files, self._parts / "whole", self._columns)
        except OSError as error:
            raise DataError(f"{folder} cannot be written: {error.strerror or error}") from None
        except PenstockError as error:
            hidden = str(self._parts / "whole")
            raise DataError(str(error).replace(hidden, str(folder))) from None
        finally:
            shutil.rmtree(self._parts, ignore_errors=True)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        shutil.rmtree(self._parts, ignore_errors=True)

    def _arrived(self, message: WriterCommitMessage | None) -> Path | None:
        """The file that a task says it wrote."""
        if not isinstance(message, Part):
            raise DataError("a task did not say what it wrote; nothing was changed")
        if message.file is None:
            return None
        path = self._parts / message.file
        if not path.is_file() or path.stat().st_size != message.size:
            raise DataError(
                f"the driver does not see what a worker wrote to {path}; nothing was changed\n"
                "hint: the folder must be on storage that the driver and all workers share"
            )
        return path


def _tables(batches: Iterable[pa.RecordBatch], columns: pa.Schema) -> Iterator[pa.Table]:
    for batch in batches:
        yield pa.Table.from_batches([batch]).select(columns.names).cast(columns)
