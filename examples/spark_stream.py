"""Alerts on a stream of trades, in Spark, while the rules change.

    spark-submit examples/spark_stream.py [FOLDER]

Files of trades arrive, drawn with a fixed seed from those in trades/events.csv. Each micro-batch is
matched by the rules that were published last, and its alerts go into a folder of its own: if Spark
must run a micro-batch again, it overwrites what was there. The stream is stopped on the way, and
goes on where it was. With a FOLDER everything stays there, and the next run goes on as well.
"""

from __future__ import annotations

import csv
import os
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

import penstock
from penstock.spark_bridge import match, publish

HERE = Path(__file__).resolve().parent / "trades"
TRADES_IN_FILE = 2_000
FILES = 3
"""That arrive before something changes."""


def deliver(folder: Path) -> None:
    """One more file of trades, which appears whole."""
    folder.mkdir(exist_ok=True)
    number = len(list(folder.glob("*.csv")))
    with (HERE / "events.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    draw = random.Random(number)
    part = folder / f".{number}"
    with part.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["trade", *header])
        for trade in range(number * TRADES_IN_FILE, (number + 1) * TRADES_IN_FILE):
            writer.writerow([trade, *(draw.choice(values) for values in zip(*rows, strict=True))])
    part.rename(folder / f"{number:04}.csv")


def write(alerts: Path, batch: DataFrame, number: int) -> None:
    """What a micro-batch found, in the place that is its own however often it runs."""
    path = str(alerts / f"batch={number}")
    batch.write.mode("overwrite").parquet(path)
    found = batch.sparkSession.read.parquet(path).agg(
        F.count("*"), F.sum(F.size("matches")), F.max("rules_version")
    )
    trades, matches, version = found.collect()[0]
    print(f"{number:>11}  {version:>13}  {trades:>6}  {matches:>7}", flush=True)


def start(spark: SparkSession, folder: Path, schema: penstock.Schema) -> StreamingQuery:
    columns = ", ".join(["trade INT", *(f"{a.name} {a.type}" for a in schema)])
    trades = spark.readStream.option("header", True).option("maxFilesPerTrigger", 1)
    alerts = trades.csv(str(folder / "trades"), schema=columns).transform(match(folder / "rules"))
    stream = alerts.writeStream.foreachBatch(lambda b, number: write(folder / "alerts", b, number))
    return stream.option("checkpointLocation", str(folder / "checkpoint")).start()


def run(spark: SparkSession, folder: Path) -> None:
    rules = penstock.load(HERE / "rules.sql")
    publish(rules, folder / "rules")
    rules.remove("cheap")
    rules.add("large", "quantity >= 10000")
    (folder / "trades").mkdir(exist_ok=True)

    print("micro-batch  rules version  trades  matches")
    query = start(spark, folder, rules.schema)
    for file in range(2 * FILES):
        if file == FILES:
            publish(rules, folder / "rules")  # the next micro-batch has them
        deliver(folder / "trades")
        query.processAllAvailable()
    query.stop()

    deliver(folder / "trades")  # nobody is there to see it
    query = start(spark, folder, rules.schema)
    query.processAllAvailable()
    query.stop()

    alerts = spark.read.parquet(str(folder / "alerts"))
    trades, different = alerts.agg(F.count("trade"), F.countDistinct("trade")).collect()[0]
    print(f"\n{trades} trades, {different} different ones\n")
    print("alerts by rule and version")
    pairs = alerts.select("rules_version", F.explode("matches").alias("rule"))
    versions = sorted(row[0] for row in pairs.select("rules_version").distinct().collect())
    pairs.groupBy("rule").pivot("rules_version", versions).count().orderBy("rule").show()


def main(*folders: str) -> None:
    spark = SparkSession.builder.appName("penstock stream").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    with TemporaryDirectory() as temporary:
        folder = Path(*folders or [temporary]).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        run(spark, folder)
    spark.stop()


if __name__ == "__main__":
    # Workers would otherwise run whichever python3 is first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    main(*sys.argv[1:])
