"""The setting of bench `spark`: rules and events, Spark on so many cores, a sink, a clock."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

CORES = 2
MATCH_RATE = 0.001
ROUNDS = 5
SAMPLE_SECONDS = 2.0
"""Of whatever does not get all events; and how long each runs before it is timed."""
PARTITIONS_PER_CORE = 2
"""Few, so that starting tasks takes little; two, so that a core that is done first is of use."""
DRIVER_MEMORY = "4g"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": DRIVER_MEMORY,
    "spark.log.level": "ERROR",
}


def shared_facts() -> dict[str, object]:
    """Parameters that all figures have."""
    return {
        "columns": 10,
        "match_rate": MATCH_RATE,
        "cores": CORES,
        "partitions": PARTITIONS_PER_CORE * CORES,
        "events_from": "memory: cached by Spark, Arrow for DuckDB, own columns for Polars",
        "clock": "wall",
    }


@contextmanager
def session(cores: int) -> Iterator[SparkSession]:
    """A session on so many cores of this machine, with Spark's own settings for what has a cost."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]").appName("penstock-bench")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def hold_to(cores: int) -> None:
    """Hold this process, and all that it starts, to so many cores, where the system allows it.

    Spark's ``local[1]`` alone does not: its Python worker and its JVM work at the same time.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-cores:]))
    pa.set_cpu_count(cores)


def alone(work: Callable[..., Any], *values: Any) -> Any:
    """The result of a function in a process of its own, with a JVM of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(work, *values).result()


def kept(spark: SparkSession, table: pa.Table, cores: int) -> DataFrame:
    """A table in Spark's memory, from where it is read at less cost than from a file."""
    frame = spark.createDataFrame(table).repartition(PARTITIONS_PER_CORE * cores).cache()
    frame.count()
    return frame


def save(frame: DataFrame) -> None:
    """Compute every column of every row, and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def wall_seconds(work: Callable[[], object]) -> float:
    """Of one run: what works in several processes has no other time that is the same for all."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def warmed(work: Callable[[], object], seconds_wanted: float) -> None:
    """Run it until so many seconds have gone by: the JVM compiles what has run for a while."""
    spent = wall_seconds(work)
    while spent < seconds_wanted:
        spent += wall_seconds(work)
