"""A program for Spark, run by tests in a process of its own: rules on a few rows, as JSON.

python spark_program.py MASTER|connect [ZIP]
"""

import json
import os
import sys

from pyspark.sql import SparkSession

import penstock
from penstock.spark_bridge import match, register, shipping


def session(master: str) -> SparkSession:
    if master == "connect":
        return SparkSession.builder.remote("local[2]").getOrCreate()
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )


def main(master: str, *archives: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session(master)
    for archive in archives:
        spark.sparkContext.addPyFile(archive)
    rules = penstock.QuerySet(penstock.Schema.of({"n": "INT", "s": "STRING"}))
    for number in range(200):
        rules.add(f"r{number:03}", f"n = {number} OR s = 'x{number}'")
    frame = spark.range(0, 300, 1, 4).selectExpr("CAST(id AS INT) AS n", "'x1' AS s")
    found = []
    for most in (shipping.MOST_INLINE, 0):  # in the task, and as a file
        shipping.MOST_INLINE = most
        rows = frame.transform(match(rules)).collect()
        found.append(sorted((row.n, row.matches) for row in rows))
    register(spark, rules, "match_rules")
    frame.createOrReplaceTempView("events")
    rows = spark.sql("SELECT n, match_rules(n, s) AS matches FROM events").collect()
    found.append(sorted((row.n, row.matches) for row in rows))
    wanted = [(n, sorted({"r001", f"r{n:03}"} if n < 200 else {"r001"})) for n in range(300)]
    print(json.dumps({"right": [answer == wanted for answer in found], "at": penstock.__file__}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
