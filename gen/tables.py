"""Read and write tables and texts by their file's ending, with errors that name the file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from penstock.gen.errors import DataError
from penstock.gen.schema import Schema, arrow_type

BLOCK_BYTES = 16 * 1024 * 1024
"""How much of a text file Arrow reads at once; a row must fit in it."""


def _read_csv(path: Path, schema: Schema | None) -> pa.Table:
    """All columns as text, so that no value is guessed at; an unquoted blank is NULL."""
    blocks = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES)
    syntax = pyarrow.csv.ParseOptions(newlines_in_values=True)
    with pyarrow.csv.open_csv(path, read_options=blocks, parse_options=syntax) as reader:
        names = reader.schema.names
    return pyarrow.csv.read_csv(
        path,
        read_options=blocks,
        parse_options=syntax,
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: pa.string() for name in names},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )


def _read_json(path: Path, schema: Schema | None) -> pa.Table:
    """JSON lines; a second time where Arrow guessed a type that would change the values."""
    blocks = pyarrow.json.ReadOptions(block_size=BLOCK_BYTES)
    guessed = pyarrow.json.read_json(path, read_options=blocks)
    exact = [(field.name, _exact_type(field, schema)) for field in guessed.schema]
    if exact == list(zip(guessed.schema.names, guessed.schema.types, strict=True)):
        return guessed
    syntax = pyarrow.json.ParseOptions(explicit_schema=pa.schema(exact))
    return pyarrow.json.read_json(path, read_options=blocks, parse_options=syntax)


def _exact_type(field: pa.Field, schema: Schema | None) -> pa.DataType:
    """Text that looks like a time stays text; a number for a decimal attribute keeps its digits."""
    if pa.types.is_timestamp(field.type):
        return pa.string()
    if pa.types.is_list(field.type) and pa.types.is_timestamp(field.type.value_type):
        return pa.list_(pa.string())
    attribute = schema.find(field.name) if schema else None
    if attribute and attribute.type.is_decimal and pa.types.is_floating(field.type):
        return arrow_type(attribute.type)
    return field.type


def _read_parquet(path: Path, schema: Schema | None) -> pa.Table:
    return pyarrow.parquet.read_table(path)


def _read_arrow(path: Path, schema: Schema | None) -> pa.Table:
    return pyarrow.feather.read_table(path)


_READERS: dict[str, Callable[[Path, Schema | None], pa.Table]] = {
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
    ".csv": _read_csv,
    ".json": _read_json,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
}
TABLE_SUFFIXES = frozenset(_READERS)


def read_table(path: Path, schema: Schema | None = None) -> pa.Table:
    """The table in a Parquet, Arrow, CSV or JSON-lines file.

    The schema of the events, if these are events, tells what JSON leaves open.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: tables are {', '.join(sorted(_READERS))} files")
    try:
        table = reader(path, schema)
        table.validate(full=True)  # text that is not UTF-8, offsets beyond the data
        return table
    except FileNotFoundError:
        raise DataError(f"there is no file {str(path)!r}") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as {path.suffix[1:]}: {error}") from None


def read_text(path: Path) -> str:
    """The text of a UTF-8 file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"there is no file {str(path)!r}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: byte {error.start}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


def write_text(text: str, path: Path) -> None:
    """Write a UTF-8 file."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path} cannot be made: {error.strerror}") from None


def write_table(table: pa.Table, path: Path) -> None:
    """Write Parquet, Arrow or JSON lines; the file appears whole or not at all."""
    check_writable(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _WRITERS[path.suffix.lower()](table, partial)
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            partial.unlink()


def check_writable(path: Path) -> None:
    """Refuse, before any work is done for it, a file that `write_table` could not write."""
    if path.suffix.lower() not in _WRITERS:
        raise DataError(f"{path}: results are written as {', '.join(sorted(_WRITERS))} files")
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be written: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise DataError(f"{path} cannot be written: Is a directory")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{path} cannot be written: Permission denied")


def _write_json_lines(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for batch in table.to_batches(max_chunksize=4096):
            for row in batch.to_pylist():
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


_WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    ".parquet": pyarrow.parquet.write_table,
    ".arrow": pyarrow.feather.write_feather,
    ".feather": pyarrow.feather.write_feather,
    ".jsonl": _write_json_lines,
}
