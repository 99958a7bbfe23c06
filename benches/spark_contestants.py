"""The ways to find what rules match events, with Spark and beside it, that bench `spark` compares.

The rules are conjunctions of ranges. What a way finds it gives as rows: each event with the list of
what matches it, or each event once for each rule that matches it, whichever costs it less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType
from spark_rules import ROW, Rules
from spark_setting import MATCH_RATE, kept, save

from penstock.spark_bridge import match

LIST = "matches"
"""The column with the list of an event's matches."""


class Events:
    """The events as an Arrow table, and in Spark's memory as many as are asked for."""

    def __init__(self, table: pa.Table, spark: SparkSession, cores: int) -> None:
        self.table, self.spark, self.cores = table.combine_chunks(), spark, cores
        self._frames: dict[int, DataFrame] = {}

    def frame(self, count: int) -> DataFrame:
        if count not in self._frames:
            self._frames[count] = kept(self.spark, self.table.slice(0, count), self.cores)
        return self._frames[count]

    def forget(self) -> None:
        for frame in self._frames.values():
            frame.unpersist()
        self._frames.clear()


class Run(Protocol):
    """A contestant before so many events, with all made ready that can be."""

    def run(self) -> object:
        """What is timed: all that it has to say is computed."""

    def matches(self) -> int:
        """How many there are."""

    def found(self) -> pa.Table:
        """Every row of the answer."""


@dataclass(frozen=True)
class SparkRun:
    frame: DataFrame
    whole_stage: bool = True
    """Whether Spark may make one function of all that it does with a row."""

    def run(self) -> None:
        save(self._planned())

    def matches(self) -> int:
        frame = self._planned()
        if LIST not in frame.columns:
            return frame.count()
        return int(frame.select(F.sum(F.size(LIST))).collect()[0][0] or 0)

    def found(self) -> pa.Table:
        return self._planned().toArrow()

    def _planned(self) -> DataFrame:
        spark = self.frame.sparkSession
        spark.conf.set("spark.sql.codegen.wholeStage", str(self.whole_stage).lower())
        return self.frame


@dataclass(frozen=True)
class LocalRun:
    work: Callable[[], pa.Table]

    def run(self) -> None:
        self.work()

    def matches(self) -> int:
        return int(self.work().num_rows)

    def found(self) -> pa.Table:
        return self.work()


Contestant: TypeAlias = Callable[[Events, int], Run]
"""Makes a run over the first events."""


def passed_through(rules: Rules) -> Contestant:
    """The ceiling: rows to a Python worker and back, with nothing done."""

    def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return _in_spark(lambda frame: frame.mapInArrow(unchanged, frame.schema))


def passed_with_lists(rules: Rules) -> Contestant:
    """The ceiling of what adds lists of ids: as many as match, made once, found by nobody."""
    share, ids = MATCH_RATE * len(rules.ranges), sorted(rules.ranges)

    def with_lists(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made: dict[int, pa.ListArray] = {}
        for batch in batches:
            rows = batch.num_rows
            if rows not in made:
                offsets = (np.arange(rows + 1) * share).astype(np.int32)
                values = [ids[n % len(ids)] for n in range(offsets[-1])]
                made[rows] = pa.ListArray.from_arrays(offsets, pa.array(values, pa.string()))
            yield batch.append_column(LIST, made[rows])

    def transform(frame: DataFrame) -> DataFrame:
        added = StructField(LIST, ArrayType(StringType()))
        return frame.mapInArrow(with_lists, StructType([*frame.schema.fields, added]))

    return _in_spark(transform)


def penstock_ids(rules: Rules) -> Contestant:
    return _in_spark(match(rules.made.load()))


def penstock_numbers(rules: Rules) -> Contestant:
    return _in_spark(match(rules.made.load(), output="numbers"))


def range_join(rules: Rules) -> Contestant:
    """Rules as a table that each task has. An event with no match has no row: less work."""
    condition = F.expr(rules.join_condition())

    def transform(frame: DataFrame) -> DataFrame:
        bounds = frame.sparkSession.createDataFrame(rules.bounds)
        return frame.join(F.broadcast(bounds), condition).select(*frame.columns, ROW)

    return _in_spark(transform)


def expressions(rules: Rules) -> Contestant:
    """An expression per rule, in a list of which those are kept that hold.

    One function of them all is more than the JVM can compile: Spark would try each time and then
    interpret them, at a fiftieth of the rate.
    """
    tests = [
        f"CASE WHEN {' AND '.join(part.sql() for part in ranges)} THEN '{id}' END"
        for id, ranges in rules.ranges.items()
    ]
    text = f"filter(array({', '.join(tests)}), id -> id IS NOT NULL) AS {LIST}"
    return lambda events, count: SparkRun(events.frame(count).selectExpr("*", text), False)


def pandas_loop(rules: Rules) -> Contestant:
    """A function in numpy that goes through the rules; from test to test fewer rows are left."""
    columns = [attribute.name for attribute in rules.made.schema]
    place = {name: number for number, name in enumerate(columns)}
    ids = np.array(list(rules.ranges), object)
    tests = [
        [(place[column], low, high) for column, low, high in ranges]
        for ranges in rules.ranges.values()
    ]

    def looped(*series: pd.Series) -> pd.Series:
        values = [each.to_numpy() for each in series]
        rows_of = []
        for (first, low, high), *others in tests:
            rows = np.flatnonzero((values[first] >= low) & (values[first] <= high))
            for column, low, high in others:
                left = values[column][rows]
                rows = rows[(left >= low) & (left <= high)]
            rows_of.append(rows)
        rows = np.concatenate(rows_of)
        order = np.argsort(rows, kind="stable")
        found = np.repeat(ids, [len(each) for each in rows_of])[order]
        ends = np.cumsum(np.bincount(rows, minlength=len(values[0])))
        return pd.Series(np.split(found, ends[:-1]))

    udf = F.pandas_udf(looped, "array<string>")
    return _in_spark(lambda frame: frame.withColumn(LIST, udf(*columns)))


def in_duckdb(rules: Rules) -> Contestant:
    """The same range join in DuckDB, from Arrow and to Arrow."""
    connection = duckdb.connect()
    connection.register("bounds", rules.bounds)
    connection.execute("CREATE TABLE rules AS SELECT * FROM bounds")
    condition = rules.join_condition()

    def make(events: Events, count: int) -> Run:
        connection.execute(f"SET threads = {events.cores}")
        table = events.table.slice(0, count)

        def work() -> pa.Table:
            connection.register("events", table)
            query = f"SELECT events.*, {ROW} FROM events JOIN rules ON {condition}"
            return connection.sql(query).to_arrow_table()

        return LocalRun(work)

    return make


def in_polars(rules: Rules) -> Contestant:
    """A filter per rule in Polars, all of them as one piece of work for its threads."""
    import polars as pl  # which takes the number of threads from what holds this process

    def make(events: Events, count: int) -> Run:
        table = pl.from_arrow(events.table.slice(0, count))
        assert isinstance(table, pl.DataFrame)
        lazy = table.lazy()
        filters = [
            lazy.filter([pl.col(column).is_between(low, high) for column, low, high in ranges])
            .with_columns(pl.lit(id).alias(ROW))
            for id, ranges in rules.ranges.items()
        ]  # fmt: skip
        return LocalRun(lambda: pl.concat(pl.collect_all(filters), rechunk=False).to_arrow())

    return make


def _in_spark(transform: Callable[[DataFrame], DataFrame]) -> Contestant:
    return lambda events, count: SparkRun(transform(events.frame(count)))


PASS_THROUGH, WITH_LISTS = "pass-through", "pass-through, lists added"
IDS, NUMBERS = "penstock", "penstock, numbers"
JOIN, EXPRESSIONS = "Spark join", "Spark expressions"
CONTESTANTS: dict[str, Callable[[Rules], Contestant]] = {
    PASS_THROUGH: passed_through,
    WITH_LISTS: passed_with_lists,
    IDS: penstock_ids,
    NUMBERS: penstock_numbers,
    JOIN: range_join,
    EXPRESSIONS: expressions,
    "pandas_udf": pandas_loop,
    "DuckDB": in_duckdb,
    "Polars": in_polars,
}
CEILINGS = (PASS_THROUGH, WITH_LISTS)
"""Those that match nothing."""
QUICK = (*CEILINGS, IDS, NUMBERS)
"""Those that have all events at every size."""
MOST_RULES = {EXPRESSIONS: 1_000}
"""More take Spark minutes to plan."""
LONGER = {EXPRESSIONS: 6.0}
"""Seconds of a sample where Spark takes more than a second to plan, which is no matching."""


def pairs(found: pa.Table, ids: list[str]) -> list[tuple[Any, ...]]:
    """Each event, by its values, with each rule that matches it, in order.

    ``ids`` are all in order: what the numbers of an answer stand for.
    """
    if LIST in found.column_names:
        lists = found[LIST].combine_chunks()
        rows = found.drop_columns([LIST]).take(pc.list_parent_indices(lists))
        values = lists.flatten()
        if pa.types.is_integer(values.type):
            values = pa.array(ids, pa.string()).take(values)
        found = rows.append_column(ROW, values)
    columns = [column.to_pylist() for column in found.columns]
    return sorted(zip(*columns, strict=True))
