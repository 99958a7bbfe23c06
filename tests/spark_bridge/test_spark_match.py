"""Rules on DataFrames: what Spark's own ``where`` keeps, in every form of output."""

import os
from collections import Counter

import pyarrow as pa
import pytest
from spark_answers import ROW, events_frame, where_answers
from table_texts import COLUMNS, OPERATORS, VALUES

import penstock
from penstock import QuerySet, Schema
from penstock.gen.errors import DataError, DeviceError
from penstock.host.matcher import Matcher
from penstock.host.saved.parcel import digest_of, packed
from penstock.spark_bridge import match, register, shipping, top_k

pytestmark = pytest.mark.xdist_group("spark")

SCHEMA = Schema.of(COLUMNS)
EVENTS = [{SCHEMA[name].index: value for name, value in row.items()} for row in VALUES]


@pytest.fixture(scope="module")
def rules() -> QuerySet:
    queries = QuerySet(SCHEMA)
    for number, text in enumerate(OPERATORS):
        queries.add(f"r{number:02}", text, weight=number % 3)
    return queries


@pytest.fixture(scope="module")
def frame(spark):
    return events_frame(spark, SCHEMA, EVENTS).repartition(3)


@pytest.fixture(scope="module")
def kept(frame) -> dict[int, list[str]]:
    """By row number, the rules whose ``where`` keeps it."""
    found: dict[int, list[str]] = {row: [] for row in range(len(EVENTS))}
    for number, rows in enumerate(where_answers(frame, OPERATORS)):
        for row in rows:
            found[row].append(f"r{number:02}")
    return found


def by_row(answers, column="matches"):
    return {row[ROW]: row[column] for row in answers.collect()}


@pytest.mark.parametrize("engine", ["software", "reference"])
def test_matches_are_what_where_keeps(frame, rules, kept, engine):
    answers = frame.transform(match(rules, engine=engine))
    assert answers.columns == [*frame.columns, "matches"]
    assert answers.schema["matches"].dataType.simpleString() == "array<string>"
    assert by_row(answers) == kept


def test_the_other_columns_stay_as_they_are(frame, rules):
    """Also those that no rule looks at and that no attribute could hold."""
    more = frame.selectExpr("*", "struct(n, array(s)) AS inner", "X'00ff' AS bytes", "x AS `X y`")
    answers = more.transform(match(rules)).drop("matches")
    assert answers.schema == more.schema
    before, after = ({row[ROW]: str(row) for row in f.collect()} for f in (more, answers))
    assert before == after


def test_numbers_are_places_among_the_ids_in_order(frame, rules, kept):
    answers = frame.transform(match(rules, output="numbers", into="found"))
    ids = sorted(rules.ids)
    assert answers.schema["found"].dataType.simpleString() == "array<int>"
    found = by_row(answers, "found")
    assert {row: [ids[n] for n in numbers] for row, numbers in found.items()} == kept


def test_pairs_are_a_row_for_each_match(frame, rules, kept):
    answers = frame.transform(match(rules, output="pairs"))
    assert Counter((row[ROW], row["match"]) for row in answers.collect()) == Counter(
        (row, id) for row, ids in kept.items() for id in ids
    )


def test_the_k_best_are_those_of_a_matcher(frame, rules):
    with penstock.open(rules) as matcher:
        table = frame.toArrow()
        best = matcher.top_k(table, 3, weights={"n": 2})["matches"].to_pylist()
    wanted = dict(zip(table[ROW].to_pylist(), best, strict=True))
    answers = frame.transform(top_k(rules, 3, weights={"n": 2}))
    assert {row: [m.asDict() for m in found] for row, found in by_row(answers).items()} == wanted
    pairs = frame.transform(top_k(rules, 3, weights={"n": 2}, output="pairs"))
    assert Counter((r[ROW], r["match"], r["score"]) for r in pairs.collect()) == Counter(
        (row, m["id"], m["score"]) for row, found in wanted.items() for m in found
    )


def test_sparse_events_are_maps(spark):
    rules = QuerySet(Schema.of({"a": "INT", "b": "INT"}))
    rules.add("both", "a = 1 AND b > 1")
    rules.add("no b", "b IS NULL")
    frame = spark.sql(
        "SELECT 0 AS i, map('a', 1, 'b', 2) AS m UNION ALL SELECT 1, map('b', 5) UNION ALL "
        "SELECT 2, NULL UNION ALL SELECT 3, map('b', CAST(NULL AS INT))"
    )
    found = {row.i: row.matches for row in frame.transform(match(rules, events="m")).collect()}
    assert found == {0: ["both"], 1: [], 2: ["no b"], 3: ["no b"]}


def test_columns_are_found_whatever_their_case_and_type_as_far_as_values_fit(spark):
    rules = QuerySet(Schema.of({"price": "DECIMAL(10,2)", "at": "TIMESTAMP", "n": "INT"}))
    rules.add("cheap", "price < 10")
    rules.add("late", "at >= TIMESTAMP'2026-03-02 14:30:00'")
    rules.add("many", "n > 5")
    frame = spark.sql(
        "SELECT 9 AS PRICE, TIMESTAMP'2026-03-02 14:30:00' AS At, 6L AS n, 'x' AS unused"
    )
    assert frame.transform(match(rules)).first().matches == ["cheap", "late", "many"]
    too_long = spark.sql("SELECT 1 AS price, TIMESTAMP'2026-03-02 14:30:00' AS at, 1L << 40 AS n")
    with pytest.raises(Exception, match=r"column 'n'|attribute 'n'"):
        too_long.transform(match(rules)).collect()


def test_rules_that_look_at_nothing_and_no_rules(spark):
    rules = QuerySet(Schema.of({"a": "INT"}))
    frame = spark.range(3)
    assert [row.matches for row in frame.transform(match(rules)).collect()] == [[]] * 3
    rules.add("all", "TRUE")
    assert [row.matches for row in frame.transform(match(rules)).collect()] == [["all"]] * 3
    assert frame.where("id < 0").transform(match(rules)).collect() == []


def test_two_sets_of_one_session_never_mix(spark):
    """Workers are used again, and the sets differ in nothing but a constant."""
    frame = spark.range(100).selectExpr("CAST(id AS INT) AS n").coalesce(1)
    for limit in (10, 20, 10, 30, 40, 50, 10):
        rules = QuerySet(Schema.of({"n": "INT"}))
        rules.add("below", f"n < {limit}")
        found = frame.transform(match(rules, output="pairs")).count()
        assert found == limit


def test_an_engine_is_opened_once_for_each_worker(spark, tmp_path, monkeypatch):
    rules = QuerySet(Schema.of({"n": "INT"}))
    rules.add("any", "n >= 0")
    digest = digest_of(packed(rules))
    frame = spark.range(1000).selectExpr("CAST(id AS INT) AS n").repartition(8)

    def seen(batches):
        from penstock.spark_bridge import worker

        for batch in batches:
            names = [
                f"{os.getpid()} {id(opened.matcher)}"
                for key, opened in worker._OPEN.items()
                if key.rules == digest
            ]
            column = pa.array([names] * batch.num_rows, pa.list_(pa.string()))
            yield batch.append_column("opened", column)

    engines: dict[str, set[str]] = {}
    for _ in range(3):
        answers = frame.transform(match(rules))
        watched = answers.mapInArrow(seen, "n int, matches array<string>, opened array<string>")
        for row in watched.collect():
            for name in row.opened:
                engines.setdefault(name.split()[0], set()).add(name)
    assert engines
    assert [len(names) for names in engines.values()] == [1] * len(engines)


def test_large_sets_come_as_a_file(spark, monkeypatch):
    monkeypatch.setattr(shipping, "MOST_INLINE", 0)
    rules = QuerySet(Schema.of({"n": "INT"}))
    for number in range(50):
        rules.add(f"r{number:02}", f"n = {number}")
    frame = spark.range(60).selectExpr("CAST(id AS INT) AS n")
    for _ in range(2):
        found = frame.transform(match(rules, output="numbers")).collect()
        assert {row.n: row.matches for row in found} == {
            n: [n] if n < 50 else [] for n in range(60)
        }


def test_a_function_of_sql(spark, frame, rules, kept):
    function = register(spark, rules, "match_rules")
    frame.createOrReplaceTempView("events_view")
    names = ", ".join(COLUMNS)
    answers = spark.sql(f"SELECT `{ROW}`, match_rules({names}) AS matches FROM events_view")
    assert by_row(answers) == kept
    answers = frame.select(ROW, function(*COLUMNS).alias("matches"))
    assert by_row(answers) == kept
    with penstock.open(rules) as matcher:
        n_only = dict(enumerate(matched_on(matcher, "n")))
    by_name = spark.sql(f"SELECT `{ROW}`, match_rules(n => n) AS matches FROM events_view")
    assert by_row(by_name) == n_only
    for call, message in [
        ("match_rules(1, 2, 3, 4, 5, 6, 7, 8)", "takes at most 7 arguments"),
        ("match_rules(nn => 1)", "no argument 'nn'"),
    ]:
        with pytest.raises(Exception, match=message):
            spark.sql(f"SELECT {call}").collect()


def matched_on(matcher: Matcher, name: str):
    column = [event.get(SCHEMA[name].index) for event in EVENTS]
    return matcher.match(pa.table({name: pa.array(column, pa.int32())}))["matches"].to_pylist()


def test_rules_that_come_from_a_table(spark, frame, rules, kept):
    rows = [(f"r{n:02}", text, n % 3) for n, text in enumerate(OPERATORS)]
    table = spark.createDataFrame(rows, "id string, text string, weight int")
    assert by_row(frame.transform(match(QuerySet.from_spark(table, SCHEMA)))) == kept
    predicates = spark.createDataFrame(
        [("cheap", "n", "<", ["3"]), ("cheap", "s", "IN", ["a", "b"])],
        "id string, attribute string, operator string, operands array<string>",
    )
    queries = QuerySet.from_spark(predicates, SCHEMA)
    assert queries.ids == {"cheap"} and [a.name for a in queries.tested] == ["n", "s"]
    with pytest.raises(DataError, match="the DataFrame of rules has the columns"):
        QuerySet.from_spark(table.select("id"), SCHEMA)


def test_what_is_wrong_is_said_on_the_driver(spark, rules):
    frame = spark.sql("SELECT 1 AS n, 2L AS m, 'a' AS s, 'b' AS t, 1D AS x, TRUE AS b")
    with pytest.raises(DataError, match="look at 'd', and the DataFrame has no such column"):
        frame.transform(match(rules))
    with pytest.raises(DataError, match="column 'd' is array<int>, which cannot be compared as"):
        frame.selectExpr("*", "array(1) AS d").transform(match(rules))
    with pytest.raises(DataError, match="column 'd' is boolean, which cannot be compared"):
        frame.selectExpr("*", "TRUE AS d").transform(match(rules))
    whole = frame.selectExpr("*", "1.5BD AS d")
    with pytest.raises(DataError, match="has a column 'matches' already"):
        whole.selectExpr("*", "1 AS Matches").transform(match(rules))
    with pytest.raises(DataError, match="no column 'maps' with events"):
        whole.transform(match(rules, events="maps"))
    with pytest.raises(DataError, match=r"'n' is int; sparse events are map<string"):
        whole.transform(match(rules, events="n"))
    with pytest.raises(DeviceError, match="unknown engine 'fpga'"):
        match(rules, engine="fpga")
    with pytest.raises(ValueError, match="unknown output 'all'"):
        match(rules, output="all")
    with pytest.raises(ValueError, match="k must be at least 1"):
        top_k(rules, 0)
    with pytest.raises(KeyError, match="unknown attribute 'q'"):
        top_k(rules, 1, weights={"q": 1})


def test_rules_that_change_later_change_nothing_here(spark):
    rules = QuerySet(Schema.of({"n": "INT"}))
    rules.add("one", "n = 1")
    transform = match(rules)
    rules.add("all", "TRUE")
    assert spark.sql("SELECT 1 AS n").transform(transform).first().matches == ["one"]
