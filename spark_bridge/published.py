"""Rules that change while streams run: a folder with a file for each version.

Who changes the rules publishes the next version, from a query set or from a table. Each
micro-batch, and each job that does not stream, uses one version: the last when it began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from penstock.gen.errors import DataError
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.host.saved.parcel import digest_of, packed, unpacked
from penstock.host.saved.snapshot import sync_folder, write_durably

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMN = "rules_version"
TABLE_COLUMN = "version"
"""The column of a table of rules that says to which version a row belongs."""
_NAME = re.compile(r"([0-9]{8})\.parcel")
_MOST = 99_999_999
_HEAD_BYTES = 64
"""Enough of a file to know its digest."""


def publish(rules: QuerySet, folder: str | Path) -> int:
    """Make rules the next version of a folder, over the same stream as those before; its number.

    The file appears whole or not at all. Two who publish at the same time get two numbers.
    """
    return _put(rules, Path(folder), None)


def publish_table(table: DataFrame, folder: str | Path, schema: Schema) -> int:
    """Publish the rules of a table's highest version under its number; the folder's last version.

    The table has a column ``version`` and those of `QuerySet.from_spark`; the rows of a version are
    all of its rules, and stay as they are. If the folder has the version, nothing is done.
    """
    folder = Path(folder)
    newest = _newest(table)
    last = last_version(folder) if folder.exists() else 0
    if newest > last:
        rows = table.where(f"{TABLE_COLUMN} = {newest}").drop(TABLE_COLUMN)
        return _put(QuerySet.from_spark(rows, schema), folder, newest)
    if not file_of(folder, newest).exists():
        raise DataError(
            f"the table's last version is {newest}, which {folder} lacks; that has {last} already\n"
            "hint: versions rise; each table needs a folder of its own"
        )
    return last


def last_version(folder: Path) -> int:
    """The highest number of the versions in a folder, 0 if there is none."""
    return max(_versions(folder), default=0)


def rules_of(folder: Path, version: int) -> QuerySet:
    """The rules of a version; DataError if its file is gone or not as it was written."""
    path = file_of(folder, version)
    try:
        return unpacked(path.read_bytes(), str(path))
    except OSError as error:
        raise _unreadable(path, error) from None
    except DataError as error:
        raise DataError(f"{error}\nhint: publish the rules again, as the next version") from None


def digest_at(folder: Path, version: int) -> str:
    """The digest that a version's file bears: a folder may be emptied and filled again."""
    path = file_of(folder, version)
    try:
        with path.open("rb") as file:
            return digest_of(file.read(_HEAD_BYTES))
    except OSError as error:
        raise _unreadable(path, error) from None


def file_of(folder: Path, version: int) -> Path:
    if not version:
        last_version(folder)  # which may know more
        raise DataError(f"there are no rules in {folder}\nhint: publish some first")
    return folder / f"{version:08}.parcel"


def _versions(folder: Path) -> list[int]:
    try:
        names = [_NAME.fullmatch(path.name) for path in folder.iterdir()]
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None
    return [int(name[1]) for name in names if name]


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"{path} cannot be read: {error.strerror}\n"
        "hint: the last version must stay, where driver and workers can read it; publish again"
    )


def _newest(table: DataFrame) -> int:
    """The highest version in a table of rules."""
    if TABLE_COLUMN not in table.columns:
        raise DataError(
            f"the table of rules has no column {TABLE_COLUMN!r}, but {', '.join(table.columns)}"
        )
    newest = table.selectExpr(f"max({TABLE_COLUMN})").collect()[0][0]
    if not isinstance(newest, int) or not 1 <= newest <= _MOST:
        raise DataError(
            f"the last version in the table of rules is {newest!r}\n"
            f"hint: versions are whole numbers from 1 to {_MOST}"
        )
    return newest


def _put(rules: QuerySet, folder: Path, wanted: int | None) -> int:
    """Put rules into a folder, under a number or the next; the number."""
    part = folder / f".{uuid4().hex}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        version = wanted or last_version(folder) + 1  # before the check, which then covers it
        _check_stream(rules, folder)
        write_durably(part, packed(rules))
        while not _linked(part, file_of(folder, version)):
            _check_stream(rules, folder)  # that of whoever was first
            if wanted:
                break
            version += 1
        sync_folder(folder)
    except OSError as error:
        raise DataError(f"rules cannot be published in {folder}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            part.unlink()
    return version


def _linked(part: Path, file: Path) -> bool:
    """Give a file that is whole its name; False if another has it."""
    try:
        file.hardlink_to(part)
    except FileExistsError:
        return False
    return True


def _check_stream(rules: QuerySet, folder: Path) -> None:
    """DataError if the last version that can be read is on another stream."""
    for version in sorted(_versions(folder), reverse=True):
        try:
            stream = rules_of(folder, version).schema
        except DataError:  # damaged: what is published now takes its place
            continue
        if stream != rules.schema:
            raise DataError(
                f"the rules in {folder} are on another stream:\n{stream}\nnot\n{rules.schema}\n"
                "hint: a stream that runs keeps its columns; publish to another folder"
            )
        return


class LastVersion(DataSource):
    """A table of one row and one column: the last version of a folder, as of each query."""

    @classmethod
    def name(cls) -> str:
        return "penstock_version"

    def schema(self) -> str:
        return f"{COLUMN} int"

    def reader(self, schema: Any) -> DataSourceReader:
        return _VersionReader(self.options["path"])


class _VersionReader(DataSourceReader):
    """Looks into the folder in a task, which each micro-batch runs anew: what the reader says on
    the driver, such as its partitions, Spark asks once for as long as a stream runs."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        version = 0
        with suppress(DataError):  # it would come out as "Exception thrown in awaitResult"
            version = last_version(self._folder)
        yield (version,)  # the tasks with rows say what is wrong with 0
