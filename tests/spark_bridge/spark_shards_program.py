"""A program for Spark, run by tests in a process of its own: a set in shards on workers apart.

python spark_shards_program.py MASTER|connect
"""

import json
import os
import sys

from pyspark.sql import SparkSession
from spark_program import session

import penstock
from penstock.spark_bridge import match, shipping, top_k


def open_parts(spark: SparkSession) -> dict[int, list[str]]:
    """By process, the parts of sets that the workers have open."""

    def seen(batches):
        import time

        import pyarrow as pa

        from penstock.spark_bridge import worker

        for _ in batches:
            time.sleep(0.3)  # so that each worker gets one of the tasks
            parts = [[key.part for key in worker._OPEN]]
            yield pa.record_batch({"process": [os.getpid()], "parts": parts})

    frame = spark.range(0, 8, 1, 8).mapInArrow(seen, "process bigint, parts array<string>")
    return {row.process: row.parts for row in frame.collect()}


def main(master: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session(master)
    rules = penstock.QuerySet(penstock.Schema.of({"n": "INT", "s": "STRING"}))
    for number in range(200):
        rules.add(f"r{number:03}", f"n = {number} OR s = 'x{number}'", weight=number % 7)
    frame = spark.range(0, 300, 1, 4).selectExpr("CAST(id AS INT) AS n", "'x1' AS s")
    right = []
    for most in (shipping.MOST_INLINE, 0):  # in the task, and as files
        shipping.MOST_INLINE = most
        for transforms in (
            [match(rules, shards=n, output="numbers") for n in (1, 2)],
            [top_k(rules, 2, shards=n) for n in (1, 2)],
        ):
            rows = [sorted(frame.transform(one).collect()) for one in transforms]
            right.append(rows[0] == rows[1] and len(rows[0]) == 300)
    print(json.dumps({"right": right, "open": open_parts(spark)}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
