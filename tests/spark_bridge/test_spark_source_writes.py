"""Writing in format ``penstock``: what is there is whole, and stays if anything goes wrong."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import StructType
from source_tables import STREAM, names, read, save, source, state, texts

import penstock
from penstock import DataError
from penstock.cli.main import main
from penstock.host.saved.parcel import packed
from penstock.sim.workload import WorkloadSpec, write
from penstock.spark_bridge.sources import committing

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def workload(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("workload") / "w"
    write(WorkloadSpec(expressions=300, events=10), folder)
    return folder


def test_expressions_are_written_and_load_reads_them(spark, tmp_path, capsys):
    folder = tmp_path / "rules"
    frame = spark.createDataFrame(
        [("a", "x > 1", 3), ("b", "y = 'u'", 0)], "id string, text string, weight int"
    )
    frame.write.format("penstock").mode("overwrite").option("schema", STREAM).save(str(folder))
    rules = penstock.load(folder)
    assert [(rule.id, rule.weight) for rule in rules] == [("a", 3), ("b", 0)]
    more = spark.createDataFrame([("c", "x IS NULL")], "id string, text string")
    more.write.format("penstock").mode("append").save(str(folder))
    assert [*penstock.load(folder).ids] == ["a", "b", "c"]
    more.write.format("penstock").mode("overwrite").save(str(folder))
    assert [*penstock.load(folder).ids] == ["c"]
    assert names(tmp_path) == ["rules"]
    assert names(folder) == ["expressions.parquet", "schema.sql"]
    (tmp_path / "e.csv").write_text("x,y\n,u\n")
    assert main(["match", str(folder), str(tmp_path / "e.csv")]) == 0
    assert "0      c\n" in capsys.readouterr().out


def test_predicates_of_a_workload_can_be_written_again(workload, tmp_path):
    table = read(workload, what="expressions")
    save(table, tmp_path / "w", schema=workload / "schema.sql")
    assert packed(penstock.load(tmp_path / "w")) == packed(penstock.load(workload))
    extra = pa.table({"id": ["n"], "attribute": ["a000"], "operator": ["="], "operands": [["7"]]})
    save(extra, tmp_path / "w")  # operands as text, those there are numbers
    assert "n" in penstock.load(tmp_path / "w").ids
    with pytest.raises(DataError, match="holds predicates, and these are texts"):
        save(texts(t="a000 = 1"), tmp_path / "w")


def test_sql_writes_through_a_view(spark, tmp_path):
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW new_rules (id STRING, text STRING) USING penstock "
        f"OPTIONS (path '{tmp_path / 'r'}', what 'expressions', schema '{STREAM}')"
    )
    spark.sql("INSERT INTO new_rules VALUES ('k', 'x = 3'), ('l', 'x = 4')")
    spark.sql("INSERT INTO new_rules VALUES ('m', 'x = 5')")
    assert [*penstock.load(tmp_path / "r").ids] == ["k", "l", "m"]
    spark.sql("INSERT OVERWRITE new_rules VALUES ('n', 'x = 5')")
    assert [*penstock.load(tmp_path / "r").ids] == ["n"]


def test_saved_sets_and_published_versions_are_written(tmp_path):
    saved, published = tmp_path / "s", tmp_path / "p"
    for folder, target in ((saved, "saved"), (published, "published")):
        save(texts(a="x = 1"), folder, overwrite=True, target=target, schema=STREAM)
        save(texts(b="x = 2"), folder, target=target)
        with pytest.raises(DataError, match="'b' is in the set already"):
            save(texts(c="x = 2", b="x = 3"), folder, target=target)
    with penstock.open(saved) as matcher:
        assert {rule.id for rule in matcher.queries} == {"a", "b"}
        with pytest.raises(DataError, match="is open in another matcher"):
            save(texts(d="x = 2"), saved, target="saved")
    assert names(published) == ["00000001.parcel", "00000002.parcel"]
    assert "expressions.parquet" not in names(saved)
    save(texts(z="x = 9"), saved, overwrite=True, target="saved")
    with penstock.open(saved) as matcher:
        assert {rule.id for rule in matcher.queries} == {"z"}
    assert names(tmp_path) == ["p", "s"]


def test_events_are_written_in_order_and_appended(spark, tmp_path):
    folder = tmp_path / "e"
    frame = spark.range(0, 150_000, 1, 3).selectExpr("CAST(id AS INT) AS x", "'u' AS y")
    frame.write.format("penstock").mode("overwrite").save(str(folder))
    assert names(folder) == ["events.parquet"]
    file = pq.ParquetFile(folder / "events.parquet")
    sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
    assert sum(sizes) == 150_000 and max(sizes) <= 1 << 16
    few = spark.range(5).selectExpr("'v' AS y", "CAST(-1 AS INT) AS x")  # in another order
    few.write.format("penstock").mode("append").save(str(folder))
    x = read(folder)["x"].to_pylist()
    assert x == [*range(150_000), *[-1] * 5]
    frame.where("x < 0").write.format("penstock").mode("overwrite").save(str(folder))
    assert read(folder).num_rows == 0 and read(folder).column_names == ["x", "y"]


def test_a_workload_that_is_changed_is_not_called_what_was_generated(workload, tmp_path):
    write(WorkloadSpec(expressions=5, events=5), tmp_path / "w")
    save(read(tmp_path / "w"), tmp_path / "w", what="events")
    assert read(tmp_path / "w").num_rows == 10
    assert not (tmp_path / "w" / "workload.json").exists()


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_task_that_fails_leaves_all_as_it_was(spark, tmp_path, overwrite):
    folder = tmp_path / "r"
    save(texts(a="x = 1"), folder, schema=STREAM)
    save(pa.table({"x": pa.array([1], pa.int32())}), folder)
    before = state(folder)
    mode = "overwrite" if overwrite else "append"
    late = "IF(id < 900, CAST(id AS INT), CAST(raise_error('too late') AS INT)) AS x"
    with pytest.raises(Exception, match="too late"):
        spark.range(0, 1000, 1, 2).selectExpr(late).write.format("penstock").mode(mode).save(
            str(folder)
        )
    assert state(folder) == before
    wrong = spark.createDataFrame([("n", "x > 1"), ("o", "z > 1")], "id string, text string")
    with pytest.raises(Exception, match="unknown attribute 'z'") as caught:
        wrong.write.format("penstock").mode(mode).save(str(folder))
    assert str(folder / "expressions.parquet") in str(caught.value)
    assert state(folder) == before
    assert names(tmp_path) == ["r"]


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_commit_that_is_interrupted_leaves_all_as_it_was(tmp_path, monkeypatch, fails_at):
    folder = tmp_path / "r"
    save(texts(a="x = 1"), folder, schema=STREAM)
    before = state(folder)
    calls = []

    def fails(descriptor):
        calls.append(descriptor)
        if len(calls) == fails_at:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(committing.os, "fsync", fails)
    stream = STREAM if fails_at == 1 else "CREATE STREAM t (x INT)"
    other = folder if fails_at == 1 else tmp_path / "new"
    with pytest.raises(DataError, match="cannot be written: No space left"):
        save(texts(b="x = 2"), other, overwrite=True, schema=stream)
    assert {k: v for k, v in state(folder).items() if k.startswith("r/")} == before
    with pytest.raises(DataError):
        read(tmp_path / "new", what="expressions")


def test_parts_that_the_driver_does_not_see_are_missed(tmp_path):
    """As on a cluster whose machines do not share the folder."""
    writer = source(tmp_path / "r", schema=STREAM).writer(
        StructType().add("id", "string").add("text", "string"), True
    )
    part = writer.write(iter(texts(a="x = 1").to_batches()))
    lost = tmp_path.rglob("*.parquet")
    next(lost).unlink()
    with pytest.raises(DataError, match="the driver does not see what a worker wrote"):
        writer.commit([part])
    with pytest.raises(DataError, match="a worker does not see"):
        writer.write(iter([]))
    assert names(tmp_path) == []


def test_nobody_appends_what_another_then_loses(tmp_path):
    """Two jobs whose parts are written before either commits."""
    struct = StructType().add("x", "integer")
    writers = [source(tmp_path / "e").writer(struct, False) for _ in range(2)]
    tables = [pa.table({"x": pa.array([n], pa.int32())}) for n in range(2)]
    parts = [w.write(iter(t.to_batches())) for w, t in zip(writers, tables, strict=True)]
    for writer, part in zip(writers, parts, strict=True):
        writer.commit([part])
    assert read(tmp_path / "e")["x"].to_pylist() == [0, 1]


BAD_WRITES = [
    ({"z": [1]}, {"schema": STREAM}, "no column is an attribute of stream 's'"),
    ({"x": [1.5]}, {"schema": "CREATE STREAM s (x BOOLEAN)"}, "cannot be compared as BOOLEAN"),
    ({"x": [1]}, {"target": "saved"}, "is for expressions, and these are events"),
    ({"x": [1]}, {"rules": "r.sql"}, "rules is for reading"),
    ({"id": ["a"], "text": ["x = 1"]}, {}, "expressions need a stream"),
    ({"id": ["a"], "text": ["x = 1"]}, {"schema": "CREATE STREAM s (x NUMBER)"}, "NUMBER"),
    ({"id": ["a", "a"], "text": ["x = 1"] * 2}, {"schema": STREAM}, "is in the set already"),
    ({"id": ["a"], "text": [None]}, {"schema": STREAM}, "id and text must both be there"),
]


@pytest.mark.parametrize(("columns", "options", "message"), BAD_WRITES)
def test_nothing_comes_of_a_write_that_is_refused(tmp_path, columns, options, message):
    with pytest.raises(penstock.PenstockError, match=message):
        save(pa.table(columns), tmp_path / "r", **options)
    assert names(tmp_path) == []


def test_a_folder_keeps_its_stream(tmp_path):
    save(texts(a="x = 1"), tmp_path / "r", schema=STREAM)
    before = state(tmp_path / "r")
    for overwrite in (False, True):
        with pytest.raises(DataError, match="of another stream"):
            save(
                texts(b="w = 1"),
                tmp_path / "r",
                overwrite=overwrite,
                schema="CREATE STREAM s (w INT)",
            )
    save(pa.table({"x": [1]}), tmp_path / "r")
    with pytest.raises(DataError, match="have the columns\nx int64\nnot\nx int32"):
        save(pa.table({"x": pa.array([1], pa.int32())}), tmp_path / "r")
    assert before.items() <= state(tmp_path / "r").items()
