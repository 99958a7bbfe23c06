"""The format ``penstock``: events, expressions and matches as tables, to read and to write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition
from pyspark.sql.types import StructType

from penstock.engines import ENGINES
from penstock.gen.errors import DataError
from penstock.spark_bridge.sources.matching import OUTPUTS, Matching
from penstock.spark_bridge.sources.options import Options, refuse
from penstock.spark_bridge.sources.places import rules_at, stream_beside, table_of
from penstock.spark_bridge.sources.tables import (
    Piece,
    TableFile,
    as_declared,
    check_declared,
    spark_arrow,
    spark_schema,
)
from penstock.spark_bridge.sources.writing import TARGETS, Plan, WorkloadWriter, planned

NAME = "penstock"
WHAT = ("events", "expressions", "matches")
OF_MATCHES = ("rules", "engine", "output", "k", "into")
OF_WRITES = ("target",)
KNOWN = ("path", "what", "form", "schema", "stream", "policy", *OF_MATCHES, *OF_WRITES)


class WorkloadSource(DataSource):
    """What ``USING penstock`` and ``format("penstock")`` mean.

    Everything that can be wrong with the options is said when the table or view is made.
    """

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return _Read.of(_options(self)).columns()

    def reader(self, schema: StructType) -> DataSourceReader:
        read = _Read.of(_options(self))
        check_declared(schema, read.columns())
        return WorkloadReader(read, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        options = _options(self)
        refuse(options, (*OF_MATCHES, "form"), "is for reading: matches are not written")
        columns = spark_arrow(schema)
        what = options.choice("what", WHAT[:2], _guessed(columns))
        target = options.choice("target", TARGETS, "table")
        plan = Plan(
            str(options.needed_path()), what, target, overwrite,
            options.schema(), options.path("policy"),
        )  # fmt: skip
        return WorkloadWriter(planned(plan, columns), columns)


class WorkloadReader(DataSourceReader):
    """A partition for each row group of Parquet, one for other files."""

    def __init__(self, read: _Read, schema: StructType) -> None:
        self._read = read
        self._target = spark_arrow(schema)

    def partitions(self) -> list[InputPartition]:
        return self._read.file.pieces()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in self._read.batches(cast(Piece, partition), self._target.names):
            yield as_declared(batch, self._target)


class _Read:
    """A file, and the rules that its events are matched with, if any."""

    def __init__(self, file: TableFile, matching: Matching | None) -> None:
        self.file = file
        self.matching = matching

    @classmethod
    def of(cls, options: Options) -> _Read:
        path = options.needed_path()
        what = options.choice("what", WHAT, "matches" if "rules" in options else "events")
        if what != "matches":
            refuse(options, OF_MATCHES, f"is for matches, and these are {what}")
            refuse(options, ("policy", "stream"), "goes with option 'rules'")
        elif "rules" not in options:
            raise DataError("matches need rules\nhint: name their file or folder with option rules")
        form = options.choice("form", ("sparse", "wide", "stored"), "stored")
        if what == "expressions":
            refuse(options, ("form",), "is for events")
            return cls(TableFile(table_of(path, what), None), None)
        events = table_of(path, "events")
        if what == "events":
            stream = options.schema() or stream_beside(path)
            return cls(_in_form(TableFile(events, stream, is_wide=form == "wide"), form), None)
        rules = rules_at(options)
        file = _in_form(TableFile(events, rules.schema, is_wide=form == "wide"), form)
        engine = options.choice("engine", ENGINES, "software")
        output = options.choice("output", OUTPUTS, "ids")
        k = options.whole("k", 0, least=1)
        return cls(file, Matching.of(rules, file, engine, output, k, options.text("into")))

    def columns(self) -> StructType:
        columns = self.file.columns()
        return spark_schema(self.matching.extended(columns) if self.matching else columns)

    def batches(self, piece: Piece, names: list[str]) -> Iterator[pa.RecordBatch]:
        if self.matching is None:
            return self.file.batches(piece, names)
        return self.matching.matched(self.file, piece, names)


def _options(source: DataSource) -> Options:
    return Options(source.options, KNOWN, NAME)


def _in_form(file: TableFile, form: str) -> TableFile:
    if form == "sparse" and not file.is_sparse():
        raise DataError(f"{file.path} is wide, and stays so\nhint: leave option form out")
    return file


def _guessed(columns: pa.Schema) -> str:
    """What a table is that is written without saying so."""
    is_rules = "id" in columns.names and ("text" in columns.names or "attribute" in columns.names)
    return "expressions" if is_rules else "events"
