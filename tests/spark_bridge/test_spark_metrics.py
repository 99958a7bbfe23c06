"""What Spark says of matching: metrics of a job, of a stream, and of its own nodes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_blocks import ROOT

from penstock import DataError, QuerySet, Schema
from penstock.spark_bridge import match, publish, top_k
from penstock.spark_bridge.observed import NUMBERS

pytestmark = pytest.mark.xdist_group("spark")
ROWS = 4000
NAMES = [
    *("events", "matches", "batches", "seconds", "longest_seconds"),
    *("opened", "opening_seconds", "by_partition"),
]


@pytest.fixture(scope="module")
def rules() -> QuerySet:
    queries = QuerySet(Schema.of({"n": "INT"}))
    for number in range(12):
        queries.add(f"r{number:02}", f"n < {number}")
    return queries


@pytest.fixture(scope="module")
def frame(spark):
    """Rows in 4 partitions, of which only the first has matches; in batches of 300."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 300)
    yield spark.range(0, ROWS, 1, 4).selectExpr("CAST(id AS INT) AS n", "id AS other")
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def observation():
    from pyspark.sql import Observation

    return Observation()


def rows_of(frame) -> list[str]:
    return sorted(map(str, frame.collect()))


def asked(rules, kind, **options):
    return top_k(rules, 2, **options) if kind == "best" else match(rules, **options)


@pytest.mark.parametrize("output", ["ids", "numbers", "pairs"])
@pytest.mark.parametrize("kind", ["all", "best"])
def test_metrics_count_what_was_matched_and_change_nothing(frame, rules, kind, output):
    if (kind, output) == ("best", "numbers"):
        return
    plain = frame.transform(asked(rules, kind, output=output))
    seen = observation()
    answers = frame.transform(asked(rules, kind, output=output, observe=seen))
    assert answers.schema == plain.schema
    assert rows_of(answers) == rows_of(plain)
    found = seen.get
    assert [*found] == NAMES
    each = [11 - n for n in range(11)] if kind == "all" else [min(2, 11 - n) for n in range(11)]
    assert (found["events"], found["matches"], found["batches"]) == (ROWS, sum(each), 16)
    parts = found["by_partition"]
    assert [part.partition for part in parts] == [0, 1, 2, 3]
    assert [part.events for part in parts] == [1000] * 4
    assert [part.batches for part in parts] == [4] * 4
    assert [part.matches for part in parts] == [sum(each), 0, 0, 0]
    assert 0 < found["longest_seconds"] == max(part.seconds for part in parts)
    assert found["seconds"] == pytest.approx(sum(part.seconds for part in parts))


@pytest.mark.parametrize("output", ["ids", "pairs"])
def test_engines_are_counted_when_they_are_opened(spark, frame, output):
    queries = QuerySet(Schema.of({"n": "INT"}))
    queries.add(f"new to all workers, {output}", "n < 0")
    first, second = observation(), observation()
    for seen in (first, second):
        answers = frame.transform(match(queries, output=output, observe=seen))
        assert answers.count() == (0 if output == "pairs" else ROWS)
        assert (seen.get["events"], seen.get["matches"]) == (ROWS, 0)
    assert 1 <= first.get["opened"] <= 4 and first.get["opening_seconds"] > 0
    total = first.get["opened"] + second.get["opened"]
    assert total <= 4  # one for each worker, of which there may be more than cores


@pytest.mark.parametrize("output", ["ids", "pairs"])
def test_with_shards_each_event_counts_once(frame, rules, output):
    seen = observation()
    answers = frame.transform(match(rules, shards=3, output=output, observe=seen))
    plain = frame.transform(match(rules, output=output))
    assert rows_of(answers) == rows_of(plain)
    found = seen.get
    assert (found["events"], found["matches"]) == (ROWS, 66)
    assert sum(part.matches for part in found["by_partition"]) == 66
    assert {part.events for part in found["by_partition"]} == {ROWS}  # each met them all
    assert found["batches"] == 3 * 16


def test_no_rows_no_columns_and_few_rows(frame, rules):
    seen = observation()
    assert frame.where("n < 0").transform(match(rules, observe=seen)).count() == 0
    empty = {"events": 0, "matches": 0, "batches": 0, "seconds": 0, "longest_seconds": 0}
    assert seen.get == {**empty, "opened": 0, "opening_seconds": 0, "by_partition": []}
    queries = QuerySet(Schema.of({"n": "INT"}))
    queries.add("all", "TRUE")
    seen = observation()
    assert frame.select().transform(match(queries, observe=seen)).count() == ROWS
    assert seen.get["matches"] == ROWS
    seen = observation()
    assert frame.transform(match(rules, observe=seen)).limit(3).count() == 3
    assert seen.get["events"] <= ROWS  # what had been matched when there was enough


def test_columns_that_are_not_asked_for_take_no_metrics_along(frame, rules):
    seen = observation()
    answers = frame.transform(match(rules, observe=seen)).where("other > 5").select("other")
    assert answers.count() == ROWS - 6
    assert seen.get["matches"] == 66
    both = frame.transform(match(rules, observe="one"))
    twice = both.transform(match(rules, observe="two", into="again"))
    assert twice.where("matches <> again").count() == 0


def test_metrics_of_a_stream_are_in_its_progress(spark, tmp_path, rules):
    publish(rules, tmp_path / "rules")
    spark.range(0, 40, 1, 4).selectExpr("CAST(id AS INT) AS n").write.parquet(f"{tmp_path}/events")
    stream = spark.readStream.schema("n int").option("maxFilesPerTrigger", 2)
    alerts = stream.parquet(f"{tmp_path}/events").transform(
        match(tmp_path / "rules", output="pairs", observe="alerts")
    )
    query = alerts.writeStream.format("memory").queryName("observed_alerts")
    query = query.trigger(availableNow=True).start()
    query.awaitTermination()
    seen = [p.observedMetrics["alerts"] for p in query.recentProgress if p.numInputRows]
    assert len(seen) == 2  # of four files
    assert [row.events for row in seen] == [20, 20]
    assert sum(row.matches for row in seen) == 66 == spark.table("observed_alerts").count()
    parts = [part for row in seen for part in row.by_partition]
    assert sum(part["matches"] for part in parts) == 66
    told = json.loads(query.recentProgress[0].json)["observedMetrics"]["alerts"]
    assert told["events"] == 20


def test_what_cannot_be_observed_is_refused(spark, frame, rules, tmp_path):
    frame.limit(1).write.parquet(f"{tmp_path}/events")
    stream = spark.readStream.schema(frame.schema).parquet(f"{tmp_path}/events")
    with pytest.raises(ValueError, match=r"(?s)an Observation waits for one\nhint: give observe a"):
        stream.transform(match(rules, observe=observation()))
    with pytest.raises(TypeError, match=r"a name or a pyspark\.sql\.Observation, not 3"):
        match(rules, observe=3)
    with pytest.raises(ValueError, match="not an empty name"):
        top_k(rules, 1, observe="")
    with pytest.raises(DataError, match=f"has a column '{NUMBERS}' already"):
        frame.selectExpr("*", f"1 AS `{NUMBERS}`").transform(match(rules, observe="name"))


def test_spark_measures_its_python_workers(spark, frame, rules):
    """The names that the page gives, as Spark's pages of queries show them."""
    node = frame.transform(match(rules))._jdf.queryExecution().executedPlan()
    while "MapInArrow" not in node.nodeName():
        node = node.children().apply(0)
    found = {}
    metrics = node.metrics().iterator()
    while metrics.hasNext():
        found[metrics.next()._2().name().get()] = True
    page = (ROOT / "docs" / "spark-metrics.md").read_text()
    shown = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| time")]
    assert len(shown) >= 3
    assert not [name for name in shown if name not in found], [*found]


CONNECT = """
import json
from pyspark.sql import Observation, SparkSession
import penstock
from penstock.spark_bridge import match

spark = SparkSession.builder.remote("local[2]").getOrCreate()
rules = penstock.QuerySet(penstock.Schema.of({"n": "INT"}))
rules.add("few", "n < 3")
frame = spark.range(0, 100, 1, 2).selectExpr("CAST(id AS INT) AS n")
found = []
for shards in (1, 2):
    rules.add(f"many {shards}", "n >= 10")
    for output in ("ids", "pairs"):
        seen = Observation()
        transform = match(rules, output=output, shards=shards, observe=seen)
        count = frame.transform(transform).count()
        parts = [part["matches"] for part in seen.get["by_partition"]]
        found.append([count, seen.get["events"], seen.get["matches"], sum(parts)])
text = match(rules).explain(frame)
try:
    frame.selectExpr("n + (1L << 40) AS n").transform(match(rules)).collect()
    error = ""
except Exception as raised:
    error = str(raised)
print(json.dumps({"found": found, "explained": text, "error": error}))
spark.stop()
"""


@pytest.mark.slow
def test_metrics_explanations_and_errors_under_connect():
    import pyspark

    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYSPARK", "COV"))}
    home = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", CONNECT], cwd=Path(sys.prefix, "bin"), env={**kept, **home},
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["found"] == [
        [100, 100, 93, 93], [93, 100, 93, 93], [100, 100, 183, 183], [183, 100, 183, 183],
    ]  # fmt: skip
    assert "n  int  to the engine, as n INT" in found["explained"]
    assert "Traceback" not in found["error"]
    assert "DataError: column 'n': 1099511627776 does not fit INT" in found["error"]
