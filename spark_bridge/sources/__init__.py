"""Data sources: workloads and matches as tables, also from SQL alone, and streams of events.

register_sources(spark)
spark.read.format("penstock").option("rules", "rules.sql").load("events.parquet")
spark.readStream.format("penstock_events").option("preset", "uni").load()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register_sources(spark: SparkSession) -> None:
    """Let a session find the formats ``penstock`` and ``penstock_events``.

    Where the package is installed when the session starts, Spark finds them by itself.
    """
    from penstock.spark_bridge.sources.event_stream import EventSource
    from penstock.spark_bridge.sources.workload import WorkloadSource

    for source in (WorkloadSource, EventSource):
        spark.dataSource.register(source)
