"""What Spark SQL answers: the reference that nobody here wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.gen.schema import Schema, arrow_type
from penstock.gen.types import DATE, TIMESTAMP, Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROW = "row number"


@dataclass(frozen=True)
class Refused:
    """Spark raised this, before or while it ran."""

    reason: str


Answers = list[bool | None] | Refused
"""A condition's three-valued value for each event, or that Spark refused it."""


def table_of(schema: Schema, events: Sequence[Mapping[int, Value]]) -> pa.Table:
    """The events as an Arrow table, with a column that counts them."""
    columns = {}
    for attribute in schema:
        values = [event.get(attribute.index) for event in events]
        if attribute.type in (DATE, TIMESTAMP):
            held = pa.int32() if attribute.type == DATE else pa.int64()
            array = pa.array(values, held).cast(arrow_type(attribute.type))
        else:
            array = pa.array(values, arrow_type(attribute.type))
        columns[attribute.name] = array
    columns[ROW] = pa.array(range(len(events)), pa.int32())
    return pa.table(columns)


def events_frame(
    spark: SparkSession, schema: Schema, events: Sequence[Mapping[int, Value]]
) -> DataFrame:
    """The events as a DataFrame, named like the stream."""
    return spark.createDataFrame(table_of(schema, events)).alias(schema.stream)


def select_answers(frame: DataFrame, texts: Sequence[str]) -> list[Answers]:
    """Every text's value for every event: one job for all, one each if that job fails."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions

    answers: list[Answers] = [Refused("")] * len(texts)
    columns = {}
    for index, text in enumerate(texts):
        try:
            column = functions.expr(text).cast("boolean").alias(f"answer {index}")
            frame.select(column)
            columns[index] = column
        except PySparkException as error:
            answers[index] = Refused(_first_line(error))
    for index, got in _run(frame, columns).items():
        answers[index] = got
    return answers


def _run(frame: DataFrame, columns: Mapping[int, object]) -> dict[int, Answers]:
    from pyspark.errors import PySparkException

    if not columns:
        return {}
    try:
        table = frame.select(ROW, *columns.values()).orderBy(f"`{ROW}`").toArrow()
    except PySparkException as error:
        if len(columns) == 1:
            return {index: Refused(_first_line(error)) for index in columns}
        halves = list(columns.items())
        middle = len(halves) // 2
        return _run(frame, dict(halves[:middle])) | _run(frame, dict(halves[middle:]))
    return {index: table[f"answer {index}"].to_pylist() for index in columns}


def where_answers(frame: DataFrame, texts: Sequence[str]) -> list[set[int]]:
    """The numbers of the rows that ``where`` keeps, for each text, in one job."""
    from pyspark.sql import functions

    kept = [
        frame.where(text).select(functions.lit(index).alias("text"), f"`{ROW}`")
        for index, text in enumerate(texts)
    ]
    joined = kept[0]
    for other in kept[1:]:
        joined = joined.unionAll(other)
    rows: list[set[int]] = [set() for _ in texts]
    for index, row in joined.collect():
        rows[index].add(row)
    return rows


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
