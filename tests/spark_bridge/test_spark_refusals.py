"""Bad input: one error on the driver, whose message holds the cause and what would help."""

import pytest

from penstock import DataError, QuerySet, Schema
from penstock.spark_bridge import match, publish, register, shipping, top_k

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def rules() -> QuerySet:
    queries = QuerySet(Schema.of({"n": "INT", "price": "DECIMAL(10,2)"}))
    queries.add("small", "n < 5")
    queries.add("cheap", "price < 10")
    return queries


def ints(spark, rows=10):
    return spark.range(0, rows, 1, 2).selectExpr("CAST(id AS INT) AS n", "1.5BD AS price")


def raised(frame) -> str:
    """What the user sees of the error that ends a job."""
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        frame.collect()
    return str(caught.value)


def assert_ends_with(seen: str, *lines: str) -> None:
    """The message is what Spark says of every Python error, then ours: no calls in between."""
    head, *told = seen.strip().splitlines()
    assert head == "An exception was thrown from the Python worker:"
    assert tuple(told) == lines


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["n"], r"look at 'price', and the DataFrame has no such column\nhint: "),
        (["n", "1.5BD AS prize"], r"no such column\nhint: did you mean 'prize'\?.*events=\.\.\."),
        (["n", "array(1) AS price"], r"'price' is array<int>, which cannot be compared.*\nhint: "),
        (["n", "DATE'2026-01-01' AS price"], r"column 'price' is date, .*\nhint: cast the column"),
        (["n", "1.5BD AS price", "2BD AS PRICE"], "has the column of attribute 'price' twice"),
        (
            ["n", "1.5BD AS price", "1 AS matches"],
            r"'matches' already\nhint: give the column.*into",
        ),
        (["id AS symbol", "2 AS venue"], r"look at 'n', .*\nhint: known: symbol, venue; "),
        ([], r"look at 'n', and the DataFrame has no such column\nhint: there are none"),
    ],
)
def test_columns_that_do_not_fit_are_refused_before_anything_runs(spark, rules, columns, said):
    frame = spark.range(3).selectExpr("CAST(id AS INT) AS n", "id").selectExpr(*columns)
    with pytest.raises(DataError, match=f"(?s){said}"):
        frame.transform(match(rules))
    with pytest.raises(DataError, match=f"(?s){said}"):
        frame.transform(top_k(rules, 1, shards=2))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("map(1, 2) AS m", "column 'm' is map<int,int>; sparse events are map<string,"),
        ("'n=1' AS m", "column 'm' is string; sparse events are"),
        ("1 AS k", r"no column 'm' with events\nhint: known: k"),
    ],
)
def test_columns_of_maps_that_are_none_are_refused(spark, rules, column, said):
    with pytest.raises(DataError, match=said):
        spark.range(3).selectExpr(column).transform(match(rules, events="m"))


def test_maps_of_values_that_cannot_be_compared_end_the_job(spark, rules):
    frame = spark.sql("SELECT map('n', array(1)) AS m")
    seen = raised(frame.transform(match(rules, events="m")))
    assert "DataError: " in seen.splitlines()[1]
    assert "Traceback" not in seen
    words = spark.sql("SELECT map('n', 'many') AS m")
    seen = raised(words.transform(match(rules, events="m")))
    assert "'many'" in seen and "Traceback" not in seen


@pytest.mark.parametrize("options", [{}, {"output": "pairs"}, {"shards": 2}, {"observe": "seen"}])
def test_a_value_out_of_range_in_the_middle_of_a_job(spark, rules, options):
    frame = spark.range(0, 50_000, 1, 2).selectExpr(
        "IF(id = 33333, 1L << 40, id) AS n", "1.5BD AS price"
    )
    said = "penstock.gen.errors.DataError: column 'n': 1099511627776 does not fit INT"
    assert_ends_with(raised(frame.transform(match(rules, **options))), said)
    function = register(spark, rules, "refusing_rules")
    assert_ends_with(raised(frame.select(function("n").alias("matches"))), said)


def test_workers_go_on_after_an_error(spark, rules):
    """The worker that failed is gone, and with it what it was told about traces of calls."""
    frame = ints(spark)
    raised(frame.selectExpr("n + (1L << 40) AS n", "price").transform(match(rules)))
    assert frame.transform(match(rules, output="pairs")).count() == 15

    def fail(batches):
        import os

        for _ in batches:
            raise KeyError(f"somebody else's, {os.environ.get('SPARK_HIDE_TRACEBACK')}")
        yield

    seen = raised(frame.mapInArrow(fail, frame.schema))
    assert "Traceback" in seen and "somebody else's, None" in seen


def test_rules_that_are_damaged_on_their_way(spark, rules, monkeypatch):
    monkeypatch.setattr(shipping, "MOST_INLINE", 0)
    written = shipping._written

    def damaged(name, parcel):
        return written(name, parcel[:-1] + bytes([parcel[-1] ^ 1]))

    queries = rules.copy()
    queries.add("so that it is sent anew", "n = 12345")
    monkeypatch.setattr(shipping, "_written", damaged)
    seen = raised(ints(spark).transform(match(queries)))
    assert_ends_with(
        seen,
        "penstock.gen.errors.DataError: what reached this worker is damaged: its checksum is not "
        "that of what it holds",
    )


def test_published_rules_that_are_damaged_or_gone(spark, rules, tmp_path):
    publish(rules, tmp_path)
    frame = ints(spark)
    matched = frame.transform(match(tmp_path))
    (file,) = tmp_path.glob("*.parcel")
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert_ends_with(
        raised(matched),
        f"penstock.gen.errors.DataError: {file} is damaged: its checksum is not that of what it "
        "holds",
        "hint: publish the rules again, as the next version",
    )
    publish(rules, tmp_path)
    anew = frame.transform(match(tmp_path))  # a frame that has failed stays so
    for path in tmp_path.glob("*.parcel"):
        path.unlink()
    assert_ends_with(
        raised(anew),
        f"penstock.gen.errors.DataError: there are no rules in {tmp_path}",
        "hint: publish some first",
    )
    with pytest.raises(DataError, match=r"there are no rules in .*\nhint: publish some first"):
        match(tmp_path)
    with pytest.raises(DataError, match="cannot be read: No such file or directory"):
        match(tmp_path / "none")
    publish(rules, tmp_path)
    with pytest.raises(DataError, match=r"are on another stream:(?s:.*)hint: "):
        publish(QuerySet(Schema.of({"other": "INT"})), tmp_path)


def test_rows_without_any_column_are_matched_too(spark):
    """Spark hands batches without columns to Python without their rows."""
    always = QuerySet(Schema.of({"n": "INT"}))
    always.add("always", "TRUE")
    always.add("never", "FALSE")
    nothing = spark.range(0, 7, 1, 2).select()
    for options in ({}, {"shards": 2}, {"observe": "seen"}):
        found = nothing.transform(match(always, **options))
        assert found.columns == ["matches"]
        assert [row.matches for row in found.collect()] == [["always"]] * 7
    assert nothing.transform(match(always, output="pairs")).count() == 7
    assert nothing.transform(match(always, output="pairs", into="id")).columns == ["id"]
