"""Files of events and of expressions as tables of Spark: columns, partitions, batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from penstock.gen.arrow import convert
from penstock.gen.errors import DataError
from penstock.gen.schema import Schema, arrow_type
from penstock.gen.tables import TABLE_SUFFIXES, read_table
from penstock.host.events import Batch

BATCH_ROWS = 1 << 15
MOST_TEXT_BYTES = 1 << 31
"""Files other than Parquet are read at once, by one task."""
_TYPELESS = (".csv", ".json", ".jsonl", ".ndjson")


@dataclass
class Piece(InputPartition):
    """What a task reads: a row group of a Parquet file, or all of another file (-1).

    ``size`` and ``changed`` tell whether it is still the file that was planned with.
    """

    path: str
    group: int
    size: int
    changed: int


class TableFile:
    """A file of rows. Attributes of the stream have their types where the file has none;
    ``is_wide`` makes a column per attribute of one column of maps."""

    def __init__(self, path: Path, stream: Schema | None, *, is_wide: bool = False) -> None:
        if path.suffix.lower() not in TABLE_SUFFIXES:
            raise DataError(f"{path}: tables are {', '.join(sorted(TABLE_SUFFIXES))} files")
        if not path.is_file():
            raise DataError(f"there is no file {str(path)!r}")
        self.path = path
        self._stream = stream
        self._is_wide = is_wide
        self._is_parquet = path.suffix.lower() == ".parquet"
        if not self._is_parquet and path.stat().st_size > MOST_TEXT_BYTES:
            raise DataError(
                f"{path} has {path.stat().st_size:,} bytes, and {path.suffix} files are read at "
                f"once\nhint: up to {MOST_TEXT_BYTES:,}; write larger ones as Parquet"
            )
        if is_wide and stream is None:
            raise DataError(
                f"{path}: to make columns of maps, the attributes must be known\n"
                "hint: name them with option schema or rules, or put a schema.sql beside it"
            )

    def columns(self) -> pa.Schema:
        """The columns, as Spark will have them."""
        found = self._parquet().schema_arrow if self._is_parquet else self._read_all().schema
        if self._is_wide and is_sparse(found):
            assert self._stream is not None
            return self._stream.to_arrow()
        return pa.schema([pa.field(f.name, self._plain(f), f.nullable) for f in found])

    def is_sparse(self) -> bool:
        """Whether the events are maps, as the table will have them."""
        return is_sparse(self.columns())

    def pieces(self) -> list[InputPartition]:
        stat = self.path.stat()
        groups = range(self._parquet().num_row_groups) if self._is_parquet else [-1]
        return [Piece(str(self.path), n, stat.st_size, stat.st_mtime_ns) for n in groups]

    def batches(self, piece: Piece, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of what a task reads, as in `columns`."""
        try:
            stat = self.path.stat()
            if (stat.st_size, stat.st_mtime_ns) != (piece.size, piece.changed):
                raise DataError(
                    f"{self.path} was changed since it was looked at\n"
                    "hint: a view or DataFrame looks once; make it again to read what is there now"
                )
            yield from self._batches(piece, names)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.path} cannot be read: {error}") from None

    def _batches(self, piece: Piece, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not self._is_parquet:
            table = self._read_all()
            table = self._widened(table) if self._widens(table.schema) else table
            yield from table.select(names).to_batches(BATCH_ROWS)
            return
        with self._parquet() as file:
            widens = self._widens(file.schema_arrow)
            read = None if widens else list(names)
            groups = [piece.group]
            for batch in file.iter_batches(BATCH_ROWS, row_groups=groups, columns=read):
                batch.validate(full=True)
                table = pa.Table.from_batches([batch])
                yield from (self._widened(table) if widens else table).select(names).to_batches()

    def _widens(self, columns: pa.Schema) -> bool:
        return self._is_wide and is_sparse(columns)

    def _widened(self, table: pa.Table) -> pa.Table:
        """A column per attribute of the stream."""
        assert self._stream is not None
        there = Batch.of(table, self._stream).wide()
        columns = [
            there.column(a.name)
            if a.name in there.schema.names
            else pa.nulls(table.num_rows, arrow_type(a.type))
            for a in self._stream
        ]
        return pa.table(columns, schema=self._stream.to_arrow())

    def _parquet(self) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self.path)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.path} cannot be read as parquet: {error}") from None

    def _read_all(self) -> pa.Table:
        """All rows; what is text in the file has the type of its attribute."""
        table = read_table(self.path, self._stream)
        if self._stream is None or self.path.suffix.lower() not in _TYPELESS:
            return table
        for place, name in enumerate(table.column_names):
            attribute = self._stream.find(name)
            if attribute is not None:
                column = table.column(place).combine_chunks()
                typed = convert(column, attribute.type, f"{self.path}: column {name!r}")
                table = table.set_column(place, name, typed)
        return table

    def _plain(self, field: pa.Field) -> pa.DataType:
        """The type of a column without what Spark does not have."""
        of = field.type
        if pa.types.is_dictionary(of):
            of = of.value_type
        if pa.types.is_null(of):
            return pa.string()
        try:
            return spark_arrow(from_arrow_schema(pa.schema([field.with_type(of)]))).field(0).type
        except Exception as error:
            if not type(error).__module__.startswith("pyspark"):
                raise
            raise DataError(
                f"{self.path}: column {field.name!r} is {of}, which Spark does not have"
            ) from None


def is_sparse(columns: pa.Schema) -> bool:
    """Whether events are maps: one column, with maps."""
    return len(columns) == 1 and bool(pa.types.is_map(columns.field(0).type))


def spark_arrow(struct: StructType) -> pa.Schema:
    """The Arrow schema in which Spark wants rows of its own."""
    return to_arrow_schema(struct, timezone="UTC")


def spark_schema(columns: pa.Schema) -> StructType:
    return from_arrow_schema(columns)


def check_declared(declared: StructType, own: StructType) -> None:
    """DataError unless the columns that a user declared are some of those that there are."""
    there = {field.name: field.dataType for field in own.fields}
    for field in declared.fields:
        if field.name not in there:
            raise DataError(f"there is no column {field.name!r}, but {', '.join(there)}")
        wanted, found = field.dataType.simpleString(), there[field.name].simpleString()
        if wanted != found:
            raise DataError(
                f"column {field.name!r} is {found}, not {wanted}\n"
                "hint: leave the columns out, or cast them in the query"
            )


def as_declared(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """A batch with exactly the columns and types that Spark was told."""
    table = pa.Table.from_batches([batch]).select(target.names).cast(target).combine_chunks()
    (made,) = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=target)]
    return made
