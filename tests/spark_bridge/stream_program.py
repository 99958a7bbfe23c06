"""A stream under test, in a process of its own, which may be killed: two sinks, each to the end.

python stream_program.py FOLDER [matching|written]

FOLDER has `events`, files of JSON, and `rules`, published. Each query takes two files at a time and
writes what matches: `files` as a file sink, `batches` in folders by the number of the micro-batch.
With a second argument the micro-batch of event `PAUSE_AT` stands still at that moment, and the file
`paused-`*query* says so:

- matching: in a worker, when a part of the events has been matched and written, another has not;
- written: `batches` has written its micro-batch and not told Spark. Then `files` begins, which
  whoever kills the program must catch.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock import QuerySet, Schema
from penstock.spark_bridge import match

EVENT = "n INT, symbol STRING, price DECIMAL(10,2)"
SCHEMA = Schema.of({"n": "INT", "symbol": "STRING", "price": "DECIMAL(10,2)"})
VERSIONS = {
    1: {"cheap": "price < 10", "watched": "symbol IN ('A', 'B')", "no price": "price IS NULL"},
    2: {"cheap": "price < 5", "other": "symbol > 'B' OR symbol IS NULL", "late": "n >= 100"},
}
EACH = 50
"""Events in a file."""
PAUSE_AT = 205
TOO_LONG_SECONDS = 300
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that lives for seconds: half of its time went to its better compiler."""


def rules(texts: dict[str, str]) -> QuerySet:
    queries = QuerySet(SCHEMA)
    for weight, (id, text) in enumerate(texts.items()):
        queries.add(id, text, weight=weight)
    return queries


def put(folder: Path, number: int, events: int = EACH) -> None:
    """The next file of events, whole or not at all, later than those before."""
    folder.mkdir(exist_ok=True)
    lines = []
    for n in range(number * EACH, number * EACH + events):
        price = None if n % 7 == 0 else f"{n % 13}.{n % 100:02}"
        lines.append(
            json.dumps({"n": n, "symbol": "ABCD"[n % 4] if n % 5 else None, "price": price})
        )
    part = folder / f".{number}"
    part.write_text("".join(f"{line}\n" for line in lines))
    os.utime(part, (1_700_000_000 + number, 1_700_000_000 + number))
    part.rename(folder / f"{number}.json")


class Stream:
    """Files of events, a file at a time, and the rows of each micro-batch."""

    def __init__(
        self, spark: SparkSession, folder: Path, transform: Callable[[DataFrame], DataFrame]
    ) -> None:
        self._events = folder / "events"
        self.batches: dict[int, list[Row]] = {}
        self._events.mkdir(exist_ok=True)
        source = spark.readStream.schema(EVENT).option("maxFilesPerTrigger", 1)
        stream = transform(source.json(str(self._events)).repartition(3)).writeStream
        self.query = (
            stream.foreachBatch(lambda rows, number: self.batches.update({number: rows.collect()}))
            .option("checkpointLocation", str(folder / "checkpoint"))
            .start()
        )

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.query.stop()

    def next(self, number: int, events: int = EACH) -> list[Row]:
        """What comes of one more file."""
        put(self._events, number, events)
        self.query.processAllAvailable()
        return self.batches.pop(max(self.batches))


def session() -> SparkSession:
    return (
        SparkSession.builder.master("local[6]")  # two stand still in each query
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", QUICK_START)
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def stand_still(marker: Path) -> None:
    marker.touch()
    time.sleep(TOO_LONG_SECONDS)
    raise SystemExit(f"nobody killed the program at {marker}")


def pausing(marker: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The rows as they come, until those with the event."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if PAUSE_AT in batch.column("n").to_pylist():
                stand_still(marker)

    return run


def matched(spark: SparkSession, folder: Path, marker: Path | None) -> DataFrame:
    events = spark.readStream.schema(EVENT).option("maxFilesPerTrigger", 2)
    rows = events.json(str(folder / "events")).repartition(2).transform(match(folder / "rules"))
    return rows.mapInArrow(pausing(marker), rows.schema) if marker else rows


def into_files(spark: SparkSession, folder: Path, moment: str) -> StreamingQuery:
    marker = folder / "paused-files" if moment == "matching" else None
    stream = matched(spark, folder, marker).writeStream.format("parquet")
    stream = stream.option("checkpointLocation", str(folder / "checkpoint-files"))
    return stream.option("path", str(folder / "files")).trigger(availableNow=True).start()


def into_batches(spark: SparkSession, folder: Path, moment: str) -> StreamingQuery:
    marker = folder / "paused-batches"

    def write(batch: DataFrame, number: int) -> None:
        path = folder / "batches" / f"batch={number}"
        batch.write.mode("overwrite").parquet(str(path))
        written = batch.sparkSession.read.parquet(str(path))
        if moment == "written" and written.where(f"n = {PAUSE_AT}").count():
            stand_still(marker)

    rows = matched(spark, folder, marker if moment == "matching" else None)
    stream = rows.writeStream.foreachBatch(write).trigger(availableNow=True)
    return stream.option("checkpointLocation", str(folder / "checkpoint-batches")).start()


def main(folder: Path, moment: str) -> None:
    spark = session()
    batches = into_batches(spark, folder, moment)
    while moment == "written" and not (folder / "paused-batches").exists():
        time.sleep(0.01)
    files = into_files(spark, folder, moment)
    batches.awaitTermination()
    files.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
