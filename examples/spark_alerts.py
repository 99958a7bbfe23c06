"""Alerts on a DataFrame of trades, in Spark: which rules match each trade, and which alert most.

    spark-submit examples/spark_alerts.py [TRADES]

The trades are drawn, with a fixed seed, column by column from those in trades/events.csv.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock
from penstock.spark_bridge import match, register, top_k

HERE = Path(__file__).resolve().parent
TRADES = 200_000


def trades(spark: SparkSession, count: int, schema: penstock.Schema) -> DataFrame:
    """Trades with the values of the example's, mixed."""
    types = ", ".join(f"{attribute.name} {attribute.type}" for attribute in schema)
    few = spark.read.csv(str(HERE / "trades" / "events.csv"), header=True, schema=types)
    rows = [row.asDict() for row in few.collect()]
    mixed = spark.range(count).withColumnRenamed("id", "trade")
    for seed, attribute in enumerate(schema):
        values = F.array(*(F.lit(row[attribute.name]).cast(str(attribute.type)) for row in rows))
        place = F.floor(F.rand(seed) * len(rows)).cast("int") + 1
        mixed = mixed.withColumn(attribute.name, F.element_at(values, place))
    return mixed


def main(count: int) -> None:
    spark = SparkSession.builder.appName("penstock alerts").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    rules = penstock.load(HERE / "trades" / "rules.sql")
    stream = trades(spark, count, rules.schema)

    print("the first trades with what matches them")
    alerts = stream.transform(match(rules))
    alerts.select("trade", "symbol", "price", "matches").orderBy("trade").show(5, truncate=False)

    print("alerts by rule")
    pairs = stream.transform(match(rules, output="pairs"))
    pairs.groupBy("match").count().orderBy("match").show(truncate=False)

    print("the two best of each trade, by score")
    best = stream.transform(top_k(rules, 2, output="pairs"))
    best.groupBy("match").agg(F.count("*").alias("times"), F.max("score").alias("score")).orderBy(
        F.desc("times"), "match"
    ).show(truncate=False)

    print("the same rules as a function of SQL")
    register(spark, rules, "alerts_of")
    stream.createOrReplaceTempView("trades")
    names = ", ".join(attribute.name for attribute in rules.schema)
    spark.sql(f"SELECT count(*) AS alarming FROM trades WHERE size(alerts_of({names})) >= 4").show()
    spark.stop()


if __name__ == "__main__":
    # Workers would otherwise run whichever python3 is first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TRADES)
