"""Load query sets from files: SQL, tables of text, tables of predicates, whole folders."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pyarrow as pa

from penstock.gen import ownership
from penstock.gen.arrow import convert, to_text
from penstock.gen.errors import NAMES_SHOWN, DataError, Problem, QueryError
from penstock.gen.instants import instant
from penstock.gen.language.policy_statement import parse_policy
from penstock.gen.language.script import Script, parse_schema, parse_script
from penstock.gen.policy import Policy
from penstock.gen.predicates import COLUMNS
from penstock.gen.queryset import PROGRESS_STEP, Progress, QuerySet
from penstock.gen.schema import Schema
from penstock.gen.tables import TABLE_SUFFIXES, read_table, read_text
from penstock.gen.types import BIGINT, STRING

SCHEMA_FILE = "schema.sql"
FOLDER_TABLES = ("expressions.parquet", "subscriptions.parquet")


def load(
    path: str | Path,
    *,
    schema: Schema | str | Path | None = None,
    stream: str | None = None,
    policy: Policy | str | Path | None = None,
    progress: Progress | None = None,
) -> QuerySet:
    """The query set of a file or folder; nothing is loaded if anything in it is wrong.

    A ``.sql`` file declares its own stream. A table (Parquet, Arrow, CSV, JSON lines) has
    either the columns id and text, or those of `penstock.gen.predicates`, and takes its
    schema from ``schema`` or from a ``schema.sql`` beside it. A folder holds such a table.
    ``stream`` picks one of several streams that a ``.sql`` file declares. ``policy`` says what
    the owners of subscriptions may use, and which rows they see.
    """
    path = Path(path)
    if path.is_dir():
        path = _table_in(path)
    if not path.exists():
        raise DataError(f"there is no file {str(path)!r}")
    if progress:
        progress("reading the file", 0, 0)
    if isinstance(policy, str | Path):
        policy = load_policy(policy)
    if path.suffix.lower() == ".sql":
        script = parse_script(read_text(path), str(path), policy)
        return _from_script(script, path, stream, schema, policy)
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise DataError(
            f"{path}: query sets are .sql files, folders, or tables "
            f"({', '.join(sorted(TABLE_SUFFIXES))})"
        )
    queries = QuerySet(_schema_for(path, schema, stream), policy=policy)
    add_table(queries, read_table(path), str(path), progress)
    return queries


def load_schema(path: str | Path) -> Schema:
    """The schema that a ``.sql`` file declares with one CREATE STREAM."""
    return parse_schema(read_text(Path(path)), str(path))


def load_policy(path: str | Path) -> Policy:
    """The policy that a file says with CREATE POLICY statements."""
    return parse_policy(read_text(Path(path)), str(path))


def _from_script(
    script: Script,
    path: Path,
    stream: str | None,
    schema: Schema | str | Path | None,
    policy: Policy | None,
) -> QuerySet:
    if script.problems:
        raise QueryError(script.problems)
    if schema is not None:
        raise DataError(f"{path} declares its own stream; a schema is for tables only")
    names = list(script.streams)
    if not names:
        raise QueryError(Problem(f"{path}: no stream is declared", hint="start with CREATE STREAM"))
    if stream is None and len(names) > 1:
        raise DataError(f"{path} declares {len(names)} streams; choose one: {', '.join(names)}")
    chosen = next((n for n in names if stream is None or n.lower() == stream.lower()), None)
    if chosen is None:
        raise DataError(f"{path} declares no stream {stream!r}, only {', '.join(names)}")
    queries = QuerySet(script.streams[chosen], policy=policy)
    for subscription in script.subscriptions[chosen].values():
        queries.insert(subscription)
    return queries


def _table_in(folder: Path) -> Path:
    for name in FOLDER_TABLES:
        if (folder / name).exists():
            return folder / name
    raise DataError(f"{folder} holds no query set: none of {', '.join(FOLDER_TABLES)} is there")


def _schema_for(path: Path, schema: Schema | str | Path | None, stream: str | None) -> Schema:
    if schema is None:
        beside = path.parent / SCHEMA_FILE
        if not beside.exists():
            raise DataError(f"{path} needs a schema: pass one, or put CREATE STREAM in {beside}")
        schema = beside
    found = schema if isinstance(schema, Schema) else load_schema(schema)
    if stream is not None and stream.lower() != found.stream.lower():
        raise DataError(f"the schema of {path} is that of stream {found.stream!r}, not {stream!r}")
    return found


def add_table(
    queries: QuerySet, table: pa.Table, source: str, progress: Progress | None = None
) -> None:
    """Add the subscriptions of a table of texts, or of predicates."""
    if "text" in table.column_names and "id" in table.column_names:
        _add_texts(queries, table, source, progress)
    elif "attribute" in table.column_names:
        if progress:
            progress("checking predicates", 0, table.num_rows)
        queries.add_predicates(table, source=source)
    else:
        names = table.column_names[:NAMES_SHOWN] + ["..."] * (table.num_columns > NAMES_SHOWN)
        raise DataError(
            f"{source} has the columns {', '.join(names)}; "
            f"a query set has either id and text, or {', '.join(COLUMNS)}"
        )


def _add_texts(queries: QuerySet, table: pa.Table, source: str, progress: Progress | None) -> None:
    optional = ("weight", *ownership.COLUMNS)
    doubled = [n for n in ("id", "text", *optional) if table.column_names.count(n) > 1]
    if doubled:
        raise DataError(f"{source} has the column {doubled[0]} twice")
    problems: list[Problem] = []
    for row, (id, text, weight, owner, expires) in enumerate(_text_rows(table, source), start=1):
        if progress and row % PROGRESS_STEP == 1:
            progress("parsing subscriptions", row - 1, table.num_rows)
        name = f"{source} row {row}"
        try:
            if id is None or text is None:
                raise ValueError("id and text must both be there")
            until = None if expires is None else instant(expires)
            queries.add_text(id, text, name, weight=weight, owner=owner, expires=until)
        except QueryError as error:
            problems.extend(error.problems)
        except ValueError as error:
            problems.append(Problem(f"{name}: {error}"))
    if problems:
        raise QueryError(problems)


def _text_rows(
    table: pa.Table, source: str
) -> Iterator[tuple[str | None, str | None, int, str, int | None]]:
    """Id, text, weight, owner and expiry in microseconds, row by row."""
    ids = to_text(table["id"].combine_chunks(), f"{source}: column id")
    texts = convert(table["text"].combine_chunks(), STRING, f"{source}: column text")
    weights = None
    if "weight" in table.column_names:
        what = f"{source}: column weight"
        weights = convert(table["weight"].combine_chunks(), BIGINT, what).fill_null(0)
    owners = ownership.owners_in(table, source)
    expires = ownership.expiries_in(table, source)
    micros = None if expires is None else expires.cast(pa.int64())
    columns = ((ids, None), (texts, None), (weights, 0), (owners, ""), (micros, None))
    return zip(
        *(repeat(none) if column is None else column.to_pylist() for column, none in columns),
        strict=False,  # what is not there has no end
    )
