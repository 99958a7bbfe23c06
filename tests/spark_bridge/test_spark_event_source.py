"""Format ``penstock_events``: the same events for the same numbers, at the rate that was asked."""

import hashlib
import json
import time
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

import penstock
from penstock import Schema
from penstock.sim.workload import PRESETS, WorkloadSpec, generate_events, write
from penstock.sim.workload.attributes import CHUNK
from penstock.sim.workload.numbered import RuleEvents, WorkloadEvents, numbered
from penstock.spark_bridge import match
from penstock.spark_bridge.sources import event_stream
from penstock.spark_bridge.sources.event_stream import EventSource

pytestmark = pytest.mark.xdist_group("spark")

ROOT = Path(__file__).parents[2]
RULES = ROOT / "examples/trades/rules.sql"
DENSE = {"preset": "dense", "rate": 10_000}


def source(**options: object) -> EventSource:
    return EventSource(CaseInsensitiveDict({name: str(value) for name, value in options.items()}))


def reader(**options: object) -> event_stream.EventReader:
    made = source(**options)
    return made.streamReader(made.schema())


def rows(of: event_stream.EventReader, first: int, stop: int) -> pa.Table:
    """What the tasks of a micro-batch give."""
    start, end = (of.initialOffset() | {"event": n} for n in (first, stop))
    pieces = of.partitions(start, end)
    return pa.Table.from_batches([b for p in pieces for b in of.read(p)], of._target)


def test_events_are_those_of_the_workload_in_whatever_pieces_they_are_drawn():
    spec = WorkloadSpec(**PRESETS["uni"], events=2 * CHUNK)
    whole = generate_events(spec)
    of = WorkloadEvents(spec)
    bounds = [0, 1, 1000, CHUNK - 1, CHUNK + 5, 2 * CHUNK]
    for first, stop in [*pairwise(bounds), (CHUNK - 3, CHUNK + 3), (7, 7)]:
        pieces = [table for _, table in numbered(of, first, stop)]
        drawn = [row for table in pieces for row in table["attributes"].to_pylist()]
        assert drawn == whole["attributes"].slice(first, stop - first).to_pylist()


def test_the_same_bytes_today_and_tomorrow():
    """If this fails, checkpoints of streams that run would go on with other events."""
    spec = WorkloadSpec(attributes=20, pairs=20, pair_spread=0, seed=3)
    dense = WorkloadEvents(spec, is_wide=True)
    ruled = RuleEvents.of(penstock.load(RULES), seed=3)
    found = []
    for of in (dense, ruled):
        drawn = pa.concat_tables(table for _, table in numbered(of, CHUNK - 50, CHUNK + 50))
        text = json.dumps([column.cast(pa.string()).to_pylist() for column in drawn.columns])
        found.append(hashlib.sha256(text.encode()).hexdigest()[:16])
    assert [dense.digest, ruled.digest, *found] == GOLDEN


GOLDEN = ["8029fd14acbfd947", "710f0b7c25230080", "e2f5f5790df8a018", "33e9f217f65d6333"]


def test_events_for_rules_meet_them_and_lack_values_now_and_then():
    rules = penstock.load(RULES)
    table = rows(reader(rules=RULES, rate=1), 0, 2000)
    assert table.drop_columns("event").schema.types == rules.schema.to_arrow().types
    with penstock.open(rules) as matcher:
        found = matcher.match(table)["matches"].to_pylist()
    assert {id for row in found for id in row} == set(rules.ids)
    absent = [column.null_count / 2000 for column in table.columns[1:]]
    assert all(0.02 < share < 0.09 for share in absent)
    assert all(
        c.null_count == 0 for c in rows(reader(rules=RULES, rate=1, absent=0), 0, 99).columns
    )


def test_a_stream_with_every_type_needs_no_rules():
    types = "BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE STRING DATE TIMESTAMP"
    types += " DECIMAL(3,1) DECIMAL(1,0) DECIMAL(38,2)"
    schema = Schema.of({f"a{n}": of for n, of in enumerate(types.split())})
    table = rows(reader(schema=f"{schema};", rate=1), 0, 500)
    assert table.drop_columns("event").schema.equals(schema.to_arrow())
    assert all(len(set(column.to_pylist())) > 2 for column in table.columns)


def test_numbers_and_times_are_those_of_the_event():
    of = reader(**DENSE, start_time="2026-03-02 14:30:00", number="n", time="at", partitions=3)
    table = rows(of, CHUNK - 10, CHUNK + 20)
    assert table["n"].to_pylist() == [*range(CHUNK - 10, CHUNK + 20)]
    micros = table["at"].cast(pa.int64()).to_pylist()
    base = 1_772_461_800_000_000
    assert micros == [base + 100 * n for n in range(CHUNK - 10, CHUNK + 20)]
    assert table.column_names[2:] == [f"a{n:03}" for n in range(20)]
    assert reader(preset="uni", rate=1)._target.names == ["event", "attributes"]
    assert len(reader(preset="uni", rate=1, form="wide")._target.names) == 401


def test_stretches_are_cut_where_chunks_end_and_as_many_as_asked():
    of = reader(**DENSE, partitions=3)
    ends = [(p.first, p.stop) for p in of.partitions(*offsets(of, 0, 9))]
    assert ends == [(0, 3), (3, 6), (6, 9)]
    ends = [(p.first, p.stop) for p in of.partitions(*offsets(of, CHUNK - 1, 3 * CHUNK))]
    assert ends[0] == (CHUNK - 1, CHUNK) and ends[-1][1] == 3 * CHUNK
    assert all(stop <= (first // CHUNK + 1) * CHUNK for first, stop in ends)
    assert of.partitions(*offsets(of, 5, 5)) == []


def offsets(of: event_stream.EventReader, *numbers: int) -> list[dict[str, int | str]]:
    return [of.initialOffset() | {"event": number} for number in numbers]


def test_the_rate_and_the_limit_bound_a_micro_batch(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(event_stream.time, "monotonic", lambda: now[0])
    of = reader(**DENSE, max_rows=25_000)
    (start,) = offsets(of, 500)  # as from a checkpoint
    limit = of.getDefaultReadLimit()
    assert limit == ReadMaxRows(25_000)
    assert (
        of.latestOffset(start, limit)["event"] == 500
    )  # what came while it was stopped is not due
    now[0] += 1.5
    assert of.latestOffset(start, limit)["event"] == 15_500
    now[0] += 100
    assert of.latestOffset(start, limit)["event"] == 25_500
    assert of.latestOffset(start, ReadAllAvailable())["event"] == 1_015_500
    assert of.reportLatestOffset()["event"] == 1_015_500
    assert reader(**DENSE).getDefaultReadLimit() == ReadMaxRows(100_000)


def test_a_checkpoint_of_other_events_is_refused():
    (start,) = offsets(reader(**DENSE), 5)
    assert json.loads(json.dumps(start)) == start
    reader(preset="dense", rate=5).partitions(start, start)  # another rate is another pace
    others = [{"seed": 2}, {"form": "sparse"}, {"cardinality": 7}, {"start_time": "2026-01-01"}]
    for other in others:
        with pytest.raises(penstock.DataError, match="the checkpoint is of other events"):
            reader(**DENSE, **other).latestOffset(start, ReadAllAvailable())


def stream(spark, **options):
    made = spark.readStream.format("penstock_events")
    for name, value in options.items():
        made = made.option(name, value)
    return made.load()


def run_all(frame, folder: Path, to: str) -> list[int]:
    """Read all there is, from where the checkpoint is; the sizes of the micro-batches."""
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / to))
    )
    query.awaitTermination()
    return [progress["numInputRows"] for progress in query.recentProgress]


def test_a_query_goes_on_from_its_checkpoint_with_the_events_that_come_next(spark, tmp_path):
    """Found by its name alone; batches are bounded, and what two runs wrote is one sequence."""
    first = stream(spark, **DENSE, rows=30_000, max_rows=20_000, partitions=2)
    assert run_all(first, tmp_path, "out") == [20_000, 10_000]
    assert run_all(stream(spark, **DENSE, rows=31_000), tmp_path, "out") == [1000]
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("event").toArrow()
    assert found.equals(rows(reader(**DENSE), 0, 31_000))
    offset = json.loads((tmp_path / "checkpoint/offsets/1").read_text().splitlines()[-1])
    assert offset["event"] == 30_000


def test_a_micro_batch_that_failed_comes_again_as_it_was(spark, tmp_path):
    frame = stream(spark, **DENSE, rows=5000)
    broken = frame.selectExpr(
        "event", "IF(event < 4000, a000, CAST(raise_error('no') AS INT)) AS v"
    )
    with pytest.raises(Exception, match="no"):
        run_all(broken, tmp_path, "out")
    assert run_all(frame.selectExpr("event", "a000 AS v"), tmp_path, "out") == [5000]
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("event").toArrow()
    assert found["v"].to_pylist() == rows(reader(**DENSE), 0, 5000)["a000"].to_pylist()


@pytest.mark.slow
def test_events_of_a_workload_match_its_expressions_at_the_rate_of_the_workload(spark, tmp_path):
    spec = WorkloadSpec(**PRESETS["uni"], expressions=500, events=CHUNK)
    write(spec, tmp_path / "w")
    rules = penstock.load(tmp_path / "w")
    frame = stream(spark, workload=str(tmp_path / "w"), rate=1000, rows=4000)
    matched = frame.transform(match(rules, events="attributes")).select("event", "matches")
    run_all(matched, tmp_path, "out")
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("event").toArrow()
    with penstock.open(rules) as matcher:
        wanted = matcher.match(generate_events(spec).slice(0, 4000))["matches"]
    assert found["matches"].to_pylist() == wanted.to_pylist()
    assert sum(map(len, wanted.to_pylist())) > 500


@pytest.mark.slow
def test_a_stream_runs_at_its_rate_and_a_slow_consumer_gets_bounded_batches(spark):
    frame = stream(spark, preset="dense", rate=4000, max_rows=3000)
    query = frame.writeStream.format("memory").queryName("paced").start()
    try:
        deadline = time.monotonic() + 60
        while not query.recentProgress and time.monotonic() < deadline:
            time.sleep(0.2)
        before, at = spark.table("paced").count(), time.monotonic()
        time.sleep(8)
        rate = (spark.table("paced").count() - before) / (time.monotonic() - at)
        assert rate < 4000 * 1.5  # above it, by what was due before
        assert rate > 500  # the machine may be busy
        assert max(p["numInputRows"] for p in query.recentProgress) <= 3000
    finally:
        query.stop()


BAD = [
    ({}, "how fast events come is not said"),
    ({"rate": 10}, "what events there are is not said"),
    ({"rate": 0, "preset": "uni"}, "'rate' is from 1 to"),
    ({"rate": "fast", "preset": "uni"}, "'rate' is a whole number, not 'fast'"),
    ({"rate": -5, "preset": "uni"}, "'rate' is from 1 to"),
    ({"rate": 1, "preset": "unni"}, "'preset' is 'unni'\nhint: did you mean 'uni'"),
    ({"rate": 1, "preset": "uni", "max_rows": 0}, "'max_rows' is from 1"),
    ({"rate": 1, "preset": "uni", "maxrows": 5}, "did you mean 'max_rows'"),
    ({"rate": 1, "preset": "uni", "rules": str(RULES)}, "each say what events there are"),
    ({"rate": 1, "rules": str(RULES), "pairs": 3}, "option pairs is for workloads"),
    ({"rate": 1, "rules": str(RULES), "absent": 2}, "'absent' is from 0 to 1"),
    ({"rate": 1, "rules": "/no/rules.sql"}, "there is no file"),
    ({"rate": 1, "schema": "CREATE STREAM s (x NUMBER)"}, "NUMBER"),
    ({"rate": 1, "schema": "CREATE STREAM s (event INT)"}, "have a column 'event' already"),
    ({"rate": 1, "pairs": 500}, "pairs must stay within 1 to 400"),
    ({"rate": 1, "preset": "uni", "match_rate": 0.9}, "is out of reach"),
    ({"rate": 1, "preset": "uni", "operators": "=:x"}, "'operators' has 'x', which is no number"),
    ({"rate": 1, "preset": "uni", "start_time": "soon"}, "'soon' is not a timestamp"),
    ({"rate": 1, "workload": "/no"}, "/no/workload.json|/no cannot be read"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_what_is_wrong_is_said_on_load(options, message):
    with pytest.raises(penstock.PenstockError, match=message):
        source(**options).schema()


def test_a_summary_of_a_workload_is_data_that_is_checked(tmp_path):
    file = tmp_path / "workload.json"
    for content, message in [
        ("[]", "is no summary of a workload"),
        ('{"spec": {"attributes": "many"}}', "attributes must be an integer"),
        ('{"spec": {"atributes": 3}}', "no field 'atributes'\nhint: did you mean 'attributes'"),
        ('{"spec": 3}', "is no summary of a workload"),
        (" " * (1 << 21), "too large"),
    ]:
        file.write_text(content)
        with pytest.raises(penstock.DataError, match=message):
            source(rate=1, workload=tmp_path).schema()


def test_a_stream_without_end_has_no_end_to_read_to(spark, tmp_path):
    with pytest.raises(Exception, match="availableNow has no end to read to"):
        run_all(stream(spark, **DENSE), tmp_path, "out")
