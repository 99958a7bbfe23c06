"""`match(rules).explain(frame)`: what goes where, and what decides, as text for people."""

import pytest

import penstock
from penstock import DataError, DeviceError, QuerySet, Schema
from penstock.spark_bridge import match, publish, sharded, shipping, top_k

pytestmark = pytest.mark.xdist_group("spark")

SCHEMA = Schema.of(
    {"symbol": "STRING", "price": "DECIMAL(10,2)", "quantity": "INT", "venue": "STRING"},
    stream="trades",
)
SOFTWARE = """\
on Spark
  rules   in every task, {size} bytes
  engine  software, opened once in each worker
  adds    matches: array<string> (output 'ids')

columns, all of which pass through Python workers
  symbol    string        to the engine, as symbol STRING
  PRICE     decimal(8,1)  to the engine, as price DECIMAL(10,2)
  trade     bigint        as it is
  quantity  int           as it is

stream trades: 3 subscriptions on engine software
4 literals in conjunctions, 0 under an OR beside them

codes
  symbol                    STRING                    3 cuts          5 codes
  price                     DECIMAL(10,2)             3 cuts          5 codes
"""
SIMULATED = """\
on Spark
  rules   in every task, {size} bytes
  engine  simulated, opened once in each worker
  adds    match: string, score: bigint (the 2 best)

columns, all of which pass through Python workers
  symbol    string        to the engine, as symbol STRING
  PRICE     decimal(8,1)  to the engine, as price DECIMAL(10,2)
  trade     bigint        as it is
  quantity  int           as it is

stream trades: 3 subscriptions, 3 on the device
4 uses of 4 predicates, 1 gates
4 bits per event in 2 codes; 1 tiles, 1 chunks of 32 match bits

codes
  symbol  STRING         3 cuts  3 codes  2 bits
  price   DECIMAL(10,2)  3 cuts  4 codes  2 bits

tiles
  tile 0: 3 subscriptions, chunks 0 to 0
    watched: symbol = 'A' and price from 1.01
    narrowed: symbol from 'A' below 'B' (narrowed down)
    cheap: price below 10.00

finished on the host
  narrowed: LIKE 'A%L' is more than a prefix
"""


@pytest.fixture
def rules() -> QuerySet:
    queries = QuerySet(SCHEMA)
    queries.add("cheap", "price < 10")
    queries.add("watched", "symbol = 'A' AND price > 1")
    queries.add("narrowed", "symbol LIKE 'A%L'")
    return queries


@pytest.fixture(scope="module")
def frame(spark):
    columns = "1L AS trade, 'A' AS symbol, 1.0BD AS price, 3 AS quantity"
    return spark.sql(f"SELECT {columns}").selectExpr(
        "trade", "symbol", "CAST(price AS DECIMAL(8,1)) AS PRICE", "quantity"
    )


def size_of(rules: QuerySet) -> str:
    return f"{shipping.Sender(rules).nbytes:,}"


def test_software_tells_columns_codes_and_what_is_finished(frame, rules):
    text = match(rules).explain(frame)
    wanted = SOFTWARE.format(size=size_of(rules))
    assert text[: len(wanted)] == wanted
    assert text.endswith(
        "\n\nfinished one by one, where the index lets an event through\n"
        "  narrowed: LIKE 'A%L' is more than a prefix"
    )


def test_a_circuit_tells_its_plan(frame, rules):
    found = top_k(rules, 2, engine="simulated", output="pairs").explain(frame)
    assert found + "\n" == SIMULATED.format(size=size_of(rules))


@pytest.mark.parametrize("engine", ["reference", "oracle"])
def test_other_engines_decide_all_by_themselves(frame, rules, engine):
    assert match(rules, engine=engine).explain(frame).splitlines()[-2:] == [
        f"stream trades: 3 subscriptions on engine {engine}",
        "all of them decided as a whole, none finished elsewhere",
    ]


def test_how_rules_reach_the_workers(frame, rules, tmp_path, monkeypatch):
    size = size_of(rules)
    several = match(rules, shards=2).explain(frame)
    assert "\n  rules   2 shards in every task, " in several
    assert "\n  engine  software, a worker has one shard open at a time\n" in several
    assert "\n\nthe first of 2 shards, 'cheap' to 'cheap'\n\nstream trades: 1 subsc" in several
    publish(rules, tmp_path)
    publish(rules, tmp_path)
    published = match(tmp_path, shards=9).explain(frame)
    assert f"\n  rules   version 2 in {tmp_path}, {size} bytes, which every" in published
    assert "reads, to open one of 9 shards\n" in published
    assert "\n  adds    matches: array<string>, rules_version: int (output 'ids')\n" in published
    assert "\n  quantity  int           to the engine" in published  # a later version may ask
    monkeypatch.setattr(shipping, "MOST_INLINE", 10)
    files = match(rules).explain(frame)
    assert f"\n  rules   as a file, once to each executor, {size} bytes\n" in files
    assert "\n  rules   2 shards as files, " in match(rules, shards=2).explain(frame)
    monkeypatch.setattr(sharded, "MOST_EXPRESSIONS", 1)
    assert "\n  rules   3 shards as files, " in match(rules).explain(frame)


def test_maps_weights_and_many_columns(spark, rules):
    frame = spark.range(1).selectExpr(
        "map('price', '1') AS m", *(f"{n} AS c{n}" for n in range(60))
    )
    text = top_k(rules, 1, events="m", weights={"price": 3}).explain(frame)
    assert "\n  weights  price 3\n" in text
    assert "\n  m    map<string,string>  to the engine, a map with the attributes\n" in text
    assert "\n  c38  int                 as it is\n  and 21 more\n" in text


def test_rules_are_explained_as_they_were_when_given(frame, rules):
    transform = match(rules)
    rules.add("late", "price > 100")
    assert "stream trades: 3 subscriptions" in transform.explain(frame)


def test_explaining_sends_nothing_and_runs_nothing(spark, frame, rules, monkeypatch):
    monkeypatch.setattr(shipping, "MOST_INLINE", 0)
    monkeypatch.setattr(shipping, "_add_file", lambda *arguments: pytest.fail("sent a file"))
    bad = frame.selectExpr("raise_error('ran') AS trade", "symbol", "PRICE")
    assert "as a file" in match(rules).explain(bad)


def test_what_is_wrong_with_the_frame_is_said(frame, rules):
    with pytest.raises(DataError, match="look at 'price', and the DataFrame has no such column"):
        match(rules).explain(frame.drop("price"))


def test_an_outline_without_spark(rules):
    assert "chosen: all blocks" in penstock.outline(rules)
    assert "tile 0: 3 subscriptions" in penstock.outline(rules, engine="simulated")
    assert "0 subscriptions on engine oracle" in penstock.outline(rules.empty(), engine="oracle")
    with pytest.raises(DeviceError, match="unknown engine 'fpga'; the engines are"):
        penstock.outline(rules, engine="fpga")
