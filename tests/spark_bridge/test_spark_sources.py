"""Format ``penstock``: events, expressions and matches as tables, from SQL alone too."""

import contextlib
import io
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from markdown_blocks import Block, blocks
from pyspark.sql.datasource import CaseInsensitiveDict
from source_tables import EVENTS, ROOT, RULES, read, wanted

import penstock
from penstock.gen.tables import read_table
from penstock.host.saved.parcel import packed
from penstock.sim.workload import (
    PRESETS,
    WorkloadSpec,
    generate_events,
    generate_expressions,
    write,
)
from penstock.spark_bridge import publish, register_sources, worker
from penstock.spark_bridge.sources.workload import WorkloadSource

pytestmark = pytest.mark.xdist_group("spark")

SPEC = WorkloadSpec(**PRESETS["uni"], expressions=300, events=70_000)


@pytest.fixture(scope="module")
def workload(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("workload") / "w"
    write(SPEC, folder)
    return folder


def test_sql_alone_gives_events_with_what_matches_them(spark):
    """Spark finds the format by itself, in a session that has not registered anything."""
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW trades USING penstock "
        f"OPTIONS (path '{EVENTS}', rules '{RULES}')"
    )
    rules = penstock.load(RULES)
    events = read_table(EVENTS, rules.schema)
    found = spark.sql("SELECT * FROM trades").collect()
    assert [row.matches for row in found] == wanted(rules, events)
    assert [row.symbol for row in found] == events["symbol"].to_pylist()
    types = dict(spark.table("trades").dtypes)
    assert types["price"] == "decimal(10,2)" and types["matches"] == "array<string>"
    assert spark.sql("SELECT count(*) FROM trades WHERE array_contains(matches, 'cheap')").first()[
        0
    ] == sum("cheap" in matches for matches in wanted(rules, events))


@pytest.mark.parametrize("engine", ["software", "reference"])
def test_every_form_of_output(engine):
    rules = penstock.load(RULES)
    ids = wanted(rules, read_table(EVENTS, rules.schema))
    assert read(EVENTS, rules=RULES, engine=engine)["matches"].to_pylist() == ids
    numbers = read(EVENTS, rules=RULES, engine=engine, output="numbers", into="n")["n"]
    known = sorted(rules.ids)
    assert [[known[n] for n in row] for row in numbers.to_pylist()] == ids
    pairs = read(EVENTS, rules=RULES, engine=engine, output="pairs")
    symbols = read(EVENTS)["symbol"].to_pylist()
    assert Counter(zip(*(pairs[c].to_pylist() for c in ("symbol", "match")), strict=True)) == (
        Counter((symbol, id) for symbol, row in zip(symbols, ids, strict=True) for id in row)
    )
    with penstock.open(rules) as matcher:
        best = matcher.top_k(read_table(EVENTS, rules.schema), 2)["matches"].to_pylist()
    assert read(EVENTS, rules=RULES, engine=engine, k=2)["matches"].to_pylist() == best


def test_events_come_from_files_of_every_kind(tmp_path):
    rules = penstock.load(RULES)
    events = read(EVENTS, rules=RULES).drop_columns("matches")
    pq.write_table(events, tmp_path / "e.parquet", row_group_size=4)
    pa.feather.write_feather(events, tmp_path / "e.arrow")
    for name in ("e.parquet", "e.arrow"):
        found = read(tmp_path / name, rules=RULES)
        assert found["matches"].to_pylist() == wanted(rules, events)
        assert str(found.drop_columns("matches").to_pylist()) == str(events.to_pylist())  # NaN
    (tmp_path / "e.jsonl").write_text(
        '{"symbol": "NVDA", "quantity": 25000}\n{"price": 9.5, "traded": "2026-03-02 14:35:00"}\n'
    )
    found = read(tmp_path / "e.jsonl", rules=RULES)
    lines = read_table(tmp_path / "e.jsonl", rules.schema)
    assert found["matches"].to_pylist() == wanted(rules, lines)
    assert str(found.schema.field("traded").type) == "timestamp[us, tz=UTC]"


def test_a_workload_is_as_it_was_generated(spark, workload):
    frame = spark.read.format("penstock").load(str(workload))
    assert frame.rdd.getNumPartitions() == 2  # a row group each
    assert (
        frame.toArrow()["attributes"].to_pylist() == generate_events(SPEC)["attributes"].to_pylist()
    )
    found = spark.read.format("penstock").option("what", "expressions").load(str(workload))
    assert found.toArrow().to_pylist() == generate_expressions(SPEC).to_pylist()


def test_matches_of_a_workload(spark, workload):
    """Sparse and wide, in two partitions; all of them, and only the columns that were declared."""
    rules, events = penstock.load(workload), generate_events(SPEC)
    with penstock.open(rules) as matcher:
        ids = matcher.match(events)["matches"].to_pylist()
    assert sum(map(len, ids)) > 1000
    reader = spark.read.format("penstock").option("rules", str(workload))
    assert reader.load(str(workload)).toArrow()["matches"].to_pylist() == ids
    wide = reader.option("form", "wide").schema("matches array<string>, a007 int")
    found = wide.load(str(workload)).toArrow()
    assert found.column_names == ["matches", "a007"]
    assert found["matches"].to_pylist() == ids
    assert found["a007"].to_pylist() == [
        dict(e).get("a007") for e in events["attributes"].to_pylist()
    ]


def test_rules_come_in_every_form_that_there_is(tmp_path):
    rules = penstock.load(RULES)
    ids = wanted(rules, read_table(EVENTS, rules.schema))
    with penstock.open(rules) as matcher:
        matcher.save(tmp_path / "saved")
        matcher.remove("cheap")  # in the log, not in the snapshot
    publish(rules.empty(), tmp_path / "published")
    publish(rules, tmp_path / "published")
    (tmp_path / "one.parcel").write_bytes(packed(rules))
    for name in ("published", "one.parcel"):
        assert read(EVENTS, rules=tmp_path / name)["matches"].to_pylist() == ids
    without = [[id for id in row if id != "cheap"] for row in ids]
    assert read(EVENTS, rules=tmp_path / "saved")["matches"].to_pylist() == without
    penstock.open(tmp_path / "saved").close()  # nobody holds it


def test_partitions_share_the_engine_of_their_worker(workload, monkeypatch):
    worker.close_all()
    opened = []
    real = penstock.open
    monkeypatch.setattr(penstock, "open", lambda *a, **k: opened.append(a) or real(*a, **k))
    read(workload, rules=workload)
    assert len(opened) == 1


BAD_READS = [
    ({"path": "/nowhere/at/all"}, "there is no file or folder '/nowhere/at/all'"),
    ({"path": "s3://bucket/x"}, "is no path of a file system"),
    ({}, "needs a path"),
    ({"path": "E", "rulez": "x"}, "no option 'rulez'\nhint: did you mean 'rules'"),
    ({"path": "E", "what": "event"}, "did you mean 'events'"),
    ({"path": "E", "what": "matches"}, "matches need rules"),
    ({"path": "E", "engine": "software"}, "'?engine'? is for matches|engine is for matches"),
    ({"path": "E", "rules": "R", "engine": "fpga"}, "option 'engine' is 'fpga'"),
    ({"path": "E", "rules": "R", "output": "id"}, "did you mean 'ids'"),
    ({"path": "E", "rules": "R", "k": "many"}, "'k' is a whole number, not 'many'"),
    ({"path": "E", "rules": "R", "k": "0"}, "'k' is from 1 to"),
    ({"path": "E", "rules": "R", "into": "Price"}, "have a column 'Price' already"),
    ({"path": "E", "rules": "/no/rules.sql"}, "there is no file '/no/rules.sql'"),
    ({"path": "E", "form": "sparse"}, "is wide, and stays so"),
    ({"path": "R"}, "tables are .arrow"),
    ({"path": "E", "provider": "penstock", "location": "E"}, "would lose its options"),
]


@pytest.mark.parametrize(("options", "message"), BAD_READS)
def test_what_is_wrong_is_said_before_anything_is_read(options, message):
    given = {
        name: {"E": str(EVENTS), "R": str(RULES)}.get(value, value)
        for name, value in options.items()
    }
    with pytest.raises(penstock.PenstockError, match=message):
        WorkloadSource(CaseInsensitiveDict(given)).schema()


def test_damage_is_told_with_the_name_of_the_file(spark, tmp_path):
    path = tmp_path / "events.parquet"
    pq.write_table(
        pa.table({"x": list(range(10_000))}), path, compression="none", use_dictionary=False
    )
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    with pytest.raises(Exception, match=r"events.parquet cannot be read as parquet"):
        spark.read.format("penstock").load(str(path))
    path.write_bytes(b"\xff" * 60 + whole[60:])  # the header of the first page
    frame = spark.read.format("penstock").load(str(path))
    with pytest.raises(Exception, match=r"events.parquet cannot be read: "):
        frame.collect()
    path.write_bytes(whole)
    with pytest.raises(Exception, match=r"was changed since it was looked at"):
        frame.collect()


PAGE = ROOT / "docs" / "spark-sources.md"


@pytest.mark.slow
def test_the_page_does_what_it_shows(spark, tmp_path, monkeypatch):
    """Its files are in ``/data``, which is another folder here; ``text`` is what is printed."""
    shutil.copy(RULES, tmp_path)
    shutil.copy(EVENTS, tmp_path)
    names: dict[str, object] = {"spark": spark}
    shown = ""
    for block in [*blocks(PAGE), Block("python", "", 0, None)]:
        if block.info == "text":
            assert shown.replace(str(tmp_path), "/data").strip() == block.text.strip(), block.line
            continue
        text, printed = block.text.replace("/data", str(tmp_path)), io.StringIO()
        with contextlib.redirect_stdout(printed):
            if block.info == "sql":
                for statement in filter(str.strip, text.split(";\n")):
                    done = spark.sql(statement)
                    if statement.lstrip().startswith("SELECT"):
                        done.show(truncate=False)
            elif block.info == "python":
                exec(compile(text, f"{PAGE.name}:{block.line}", "exec"), names)
        shown = printed.getvalue()


def test_registering_is_possible_where_the_format_is_known(spark):
    register_sources(spark)
    assert spark.read.format("penstock").load(str(EVENTS)).count() == 6
