"""Sets in shards on DataFrames: the same answers as in one piece, and as Spark's own ``where``."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from markdown_blocks import ROOT, PageRunner
from spark_answers import ROW, events_frame, where_answers
from table_texts import COLUMNS, OPERATORS, VALUES

from penstock import DataError, QuerySet, Schema
from penstock.spark_bridge import match, publish, sharded, shipping, top_k

pytestmark = pytest.mark.xdist_group("spark")

SCHEMA = Schema.of(COLUMNS)
EVENTS = [{SCHEMA[name].index: value for name, value in row.items()} for row in VALUES]
IDS = ["", " ", "a", "A", "aa", "b", "z\u00e9", "\u00e9", "\uffff", "\U0001f600", "10", "9"]


def rules_of(seed: int, count: int) -> tuple[QuerySet, dict[str, str]]:
    """Random rules, with ids in no order; their texts by id."""
    rng = random.Random(seed)
    ids = rng.sample(IDS, min(count, len(IDS)))
    ids += [f"r{number}" for number in rng.sample(range(10_000), count - len(ids))]
    texts = {}
    for id in ids:
        one, other = rng.sample(OPERATORS, 2)
        texts[id] = rng.choice([one, f"({one}) OR ({other})", f"NOT ({one})"])
    queries = QuerySet(SCHEMA)
    for id, text in texts.items():
        queries.add(id, text, weight=rng.randrange(3))
    return queries, texts


@pytest.fixture(scope="module")
def frame(spark):
    return events_frame(spark, SCHEMA, EVENTS).repartition(3).localCheckpoint()


def texts_of(rows) -> Counter[str]:
    return Counter(map(str, rows))


def answers(frame, *transforms) -> list[Counter[str]]:
    return [texts_of(frame.transform(one).collect()) for one in transforms]


@pytest.mark.parametrize(("seed", "count", "shards"), [(1, 30, 2), (2, 11, 5), (3, 3, 50)])
def test_matches_are_what_where_keeps(frame, seed, count, shards):
    rules, texts = rules_of(seed, count)
    kept: dict[int, list[str]] = {row: [] for row in range(len(EVENTS))}
    order = sorted(texts)
    for id, rows in zip(order, where_answers(frame, [texts[id] for id in order]), strict=True):
        for row in rows:
            kept[row].append(id)
    found = frame.transform(match(rules, shards=shards))
    assert found.columns == [*frame.columns, "matches"]
    assert {row[ROW]: row.matches for row in found.collect()} == kept


@pytest.mark.parametrize("output", ["numbers", "pairs"])
def test_every_output_is_as_without_shards(frame, output):
    rules, _ = rules_of(4, 25)
    whole, sharded = (match(rules, output=output, shards=n, into="found") for n in (1, 4))
    assert frame.transform(whole).schema == frame.transform(sharded).schema
    first, second = answers(frame, whole, sharded)
    assert first == second and len(first) > 20


@pytest.mark.parametrize("output", ["ids", "pairs"])
def test_the_k_best_are_as_without_shards(frame, output):
    rules, _ = rules_of(5, 25)
    first, second = answers(
        frame, *(top_k(rules, 3, weights={"n": 2}, output=output, shards=n) for n in (1, 3))
    )
    assert first == second and len(first) > 20


def test_the_other_columns_stay_as_they_are(frame):
    rules, _ = rules_of(6, 8)
    more = frame.selectExpr(
        "*", "struct(n, array(s, NULL)) AS inner", "X'00ff' AS bytes", "x AS `X y`",
        "map(s, d) AS o",
        "TIMESTAMP_NTZ'2026-03-02 14:30:00' AS at", "INTERVAL 3 DAYS AS span",
        "parse_json('[1]') AS v",
        "DATE'0001-01-01' AS day", "CAST(d AS DECIMAL(38,18)) AS wide",
    ).where("s IS NOT NULL")  # fmt: skip
    found = more.transform(match(rules, shards=3)).drop("matches")
    assert found.schema == more.schema
    assert texts_of(found.collect()) == texts_of(more.collect())


def test_sparse_events_are_maps(spark):
    rules = QuerySet(Schema.of({"a": "INT", "b": "INT"}))
    for number in range(9):
        rules.add(f"r{number}", f"a = {number} OR b IS NULL" if number % 2 else f"b > {number}")
    frame = spark.sql(
        "SELECT 0 AS i, map('a', 1, 'b', 2) AS m UNION ALL SELECT 1, map('b', 5) UNION ALL "
        "SELECT 2, NULL UNION ALL SELECT 3, map('b', CAST(NULL AS INT))"
    )
    first, second = answers(frame, *(match(rules, events="m", shards=n) for n in (1, 4)))
    assert first == second and len(first) == 4


def test_sets_and_frames_with_little_or_nothing_in_them(spark):
    rules = QuerySet(Schema.of({"n": "INT"}))
    frame = spark.range(0, 12, 1, 6).selectExpr("CAST(id AS INT) AS n")
    assert [row.matches for row in frame.transform(match(rules, shards=4)).collect()] == [[]] * 12
    rules.add("b", "TRUE")
    assert {*map(str, frame.transform(match(rules, shards=4)).select("matches").collect())} == {
        "Row(matches=['b'])"
    }
    for id in "dca":
        rules.add(id, "TRUE")
    assert frame.where("n < 0").transform(match(rules, shards=4)).collect() == []
    few = frame.where("n IN (3, 4)").transform(match(rules, shards=3)).collect()  # empty partitions
    assert sorted((row.n, row.matches) for row in few) == [(n, [*"abcd"]) for n in (3, 4)]


def test_a_large_set_is_sharded_by_itself(spark, frame, monkeypatch):
    monkeypatch.setattr(sharded, "MOST_EXPRESSIONS", 10)
    monkeypatch.setattr(shipping, "MOST_INLINE", 0)  # each shard as a file
    rules, _ = rules_of(7, 21)
    transform = match(rules)
    monkeypatch.setattr(sharded, "MOST_EXPRESSIONS", 21)
    first, second = answers(frame, match(rules), transform)
    assert first == second
    assert "Exchange" not in plan_of(frame.transform(match(rules)))
    assert plan_of(frame.transform(transform)).count("Exchange") == 2


def plan_of(frame) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()


def test_the_number_of_shards(monkeypatch):
    assert [sharded.shards_for(size, None) for size in (0, 1, 2_000_000, 2_000_001)] == [1, 1, 1, 2]
    assert [sharded.shards_for(size, 4) for size in (0, 1, 3, 4, 5_000_000)] == [1, 1, 3, 4, 4]
    rules, _ = rules_of(1, 3)
    for wrong in (0, -1, 2.0, "2"):
        with pytest.raises(ValueError, match="shards must be at least 1, or None, not"):
            match(rules, shards=wrong)


def test_small_batches_and_partitions_without_events(spark):
    """Also that no two shards fall to one task, whatever Spark thinks of small partitions."""
    rules = QuerySet(Schema.of({"n": "INT"}))
    for number in range(40):
        rules.add(f"r{number:02}", f"n IN ({number}, 91)" if number % 2 else f"n < {number}")
    frame = spark.range(0, 100, 1, 7).selectExpr("CAST(id AS INT) AS n").where("n < 60 OR n > 90")
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    try:
        spark.conf.set(setting, 3)
        spark.sparkContext.setJobGroup("sharded", "")
        second = texts_of(frame.transform(match(rules, shards=5)).collect())
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        spark.conf.set(setting, before)
    assert second == texts_of(frame.transform(match(rules)).collect()) and len(second) == 69
    tracker = spark.sparkContext.statusTracker()
    stages = [
        tracker.getStageInfo(stage)
        for job in tracker.getJobIdsForGroup("sharded")
        for stage in tracker.getJobInfo(job).stageIds
    ]
    assert 5 in [stage.numTasks for stage in stages if stage and stage.numCompletedTasks]


def test_published_rules_in_shards(spark, tmp_path):
    frame = spark.range(0, 30, 1, 3).selectExpr("CAST(id AS INT) AS n")
    rules = QuerySet(Schema.of({"n": "INT"}))
    for number in range(20):
        rules.add(f"r{number:02}", f"n = {number}")
    publish(rules, tmp_path)
    transform = match(tmp_path, shards=3, output="numbers")
    for version in (1, 2):
        found = frame.transform(transform).collect()
        assert {row.rules_version for row in found} == {version}
        assert {row.n: row.matches for row in found} == {
            n: [n - version + 1] if version - 1 <= n < 20 else [] for n in range(30)
        }
        rules.remove("r00") if version == 1 else None
        publish(rules, tmp_path)


def test_streams_are_matched_by_micro_batch(spark, tmp_path):
    rules = QuerySet(Schema.of({"n": "INT"}))
    for number in range(6):
        rules.add(f"r{number}", f"n >= {number}")
    spark.range(0, 8, 1, 2).selectExpr("CAST(id AS INT) AS n").write.parquet(f"{tmp_path}/events")
    stream = spark.readStream.schema("n int").parquet(f"{tmp_path}/events")
    transform = match(rules, shards=3)
    with pytest.raises(DataError, match=r"(?s)3 shards cannot match a streaming.*foreachBatch"):
        stream.transform(transform)
    assert stream.transform(match(rules, shards=1)).isStreaming

    def write(batch, number):
        batch.transform(transform).write.parquet(f"{tmp_path}/matches/{number}")

    query = stream.writeStream.foreachBatch(write).trigger(availableNow=True)
    query.option("checkpointLocation", f"{tmp_path}/checkpoint").start().awaitTermination()
    found = spark.read.parquet(f"{tmp_path}/matches/0").collect()
    assert {row.n: row.matches for row in found} == {
        n: [f"r{number}" for number in range(min(n + 1, 6))] for n in range(8)
    }


def test_the_page_of_the_manual(spark, tmp_path):
    runner = PageRunner(ROOT / "docs" / "spark-sharding.md", tmp_path)
    runner.names["spark"] = spark
    assert runner.run() == []


@pytest.mark.slow
@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "connect"])
def test_workers_apart_have_shards_apart(master):
    import pyspark

    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYSPARK", "COV"))}
    home = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable}
    program = Path(__file__).with_name("spark_shards_program.py")
    done = subprocess.run(
        [sys.executable, str(program), master], cwd=Path(sys.prefix, "bin"),
        env={**kept, **home}, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["right"] == [True] * 4
    open_shards = [{part for part in parts if part} for parts in found["open"].values()]
    assert all(len(shards) <= 1 for shards in open_shards)
    if master != "connect":
        assert sorted(map(sorted, open_shards)) == [["shard 0 of 2"], ["shard 1 of 2"]]
