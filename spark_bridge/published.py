"""Rules that change while streams run: a folder with a file for each version.

Who changes the rules publishes the next version. Each micro-batch, and each job that does not
stream, uses one version: the last when it began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from penstock.gen.errors import DataError
from penstock.gen.queryset import QuerySet
from penstock.host.saved.parcel import packed, unpacked
from penstock.host.saved.snapshot import sync_folder, write_durably

COLUMN = "rules_version"
_NAME = re.compile(r"(\d{8})\.parcel")


def publish(rules: QuerySet, folder: str | Path) -> int:
    """Make rules the next version of a folder, over the same stream as those before; its number.

    The file appears whole or not at all. Two who publish at the same time get two numbers.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    before = last_version(folder)
    if before and (stream := rules_of(folder, before).schema) != rules.schema:
        raise DataError(
            f"the rules in {folder} are on another stream:\n{stream}\nnot\n{rules.schema}\n"
            "hint: a stream that runs keeps its columns; publish to another folder"
        )
    part = folder / f".{uuid4().hex}.part"
    write_durably(part, packed(rules))
    version = before
    try:
        while True:
            version += 1
            try:
                file_of(folder, version).hardlink_to(part)
                break
            except FileExistsError:
                continue
    finally:
        part.unlink()
    sync_folder(folder)
    return version


def last_version(folder: Path) -> int:
    """The highest number of the versions in a folder, 0 if there is none."""
    try:
        names = [_NAME.fullmatch(path.name) for path in folder.iterdir()]
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None
    return max((int(name[1]) for name in names if name), default=0)


def rules_of(folder: Path, version: int) -> QuerySet:
    path = file_of(folder, version)
    try:
        parcel = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    return unpacked(parcel, str(path))


def file_of(folder: Path, version: int) -> Path:
    return folder / f"{version:08}.parcel"


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
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def partitions(self) -> list[InputPartition]:
        version = last_version(Path(self._folder))
        if not version:
            raise DataError(f"there are no rules in {self._folder}\nhint: publish some first")
        return [InputPartition(version)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        yield (partition.value,)
