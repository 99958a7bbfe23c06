"""Schemas from SQL text, Python, Arrow and Spark."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.gen.errors import DataError, QueryError
from penstock.gen.language.script import parse_schema
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    decimal,
)

EVERY_TYPE = {
    "flag": BOOLEAN,
    "tiny": TINYINT,
    "small": SMALLINT,
    "whole": INT,
    "big": BIGINT,
    "price": decimal(10, 2),
    "huge": decimal(38),
    "fraction": decimal(38, 38),
    "single": FLOAT,
    "double": DOUBLE,
    "name": STRING,
    "day": DATE,
    "at": TIMESTAMP,
}


def types_of(schema):
    return {attribute.name: attribute.type for attribute in schema}


def test_every_type_survives_arrow_and_sql_text():
    schema = Schema.of(EVERY_TYPE, stream="trades")
    assert types_of(schema) == EVERY_TYPE
    assert Schema.from_arrow(schema.to_arrow(), stream="trades") == schema
    assert parse_schema(str(schema)) == schema


def test_types_may_be_objects_or_text_and_pairs_may_come_in_a_list():
    by_text = Schema.of([("a", "int"), ("b", " Decimal ( 5 , 2 ) ")])
    assert by_text == Schema.of({"a": INT, "b": decimal(5, 2)})
    assert by_text.attributes == (Attribute(0, "a", INT), Attribute(1, "b", decimal(5, 2)))


@pytest.mark.parametrize(
    ("arrow", "own"),
    [
        (pa.uint8(), SMALLINT),
        (pa.uint16(), INT),
        (pa.uint32(), BIGINT),
        (pa.uint64(), decimal(20)),
        (pa.float16(), FLOAT),
        (pa.large_string(), STRING),
        (pa.string_view(), STRING),
        (pa.date64(), DATE),
        (pa.decimal32(9, 2), decimal(9, 2)),
        (pa.decimal64(18, 18), decimal(18, 18)),
        (pa.decimal256(38, 0), decimal(38)),
        (pa.dictionary(pa.int8(), pa.string()), STRING),
        (pa.dictionary(pa.int32(), pa.int64()), BIGINT),
        (pa.dictionary(pa.int32(), pa.timestamp("ms")), TIMESTAMP),
        *((pa.timestamp(unit), TIMESTAMP) for unit in ("s", "ms", "us", "ns")),
        *((pa.timestamp("us", tz=zone), TIMESTAMP) for zone in ("UTC", "Asia/Kolkata", "+01:00")),
    ],
    ids=str,
)
def test_arrow_types_take_the_narrowest_type_that_holds_them(arrow, own):
    assert types_of(Schema.from_arrow(pa.schema([("x", arrow)]))) == {"x": own}


@pytest.mark.parametrize(
    "arrow",
    [
        pa.null(),
        pa.binary(),
        pa.time32("s"),
        pa.duration("us"),
        pa.list_(pa.int32()),
        pa.struct([("x", pa.int32())]),
        pa.map_(pa.string(), pa.int32()),
        pa.decimal256(39, 2),
        pa.decimal128(5, -2),
        pa.dictionary(pa.int8(), pa.binary()),
        pa.month_day_nano_interval(),
    ],
    ids=str,
)
def test_other_arrow_types_are_refused_by_name(arrow):
    with pytest.raises(DataError, match=r"attribute 'x' has Arrow type .*; types: BOOLEAN, "):
        Schema.from_arrow(pa.schema([("ok", pa.int8()), ("x", arrow)]))


def test_names_are_found_whatever_their_case():
    schema = Schema.of({"Price": "INT", "\u00dcBER": "INT"})
    assert schema["PRICE"] is schema["price"] is schema.find("Price")
    assert schema["\u00fcber"].name == "\u00dcBER"
    assert schema.find("cost") is None
    with pytest.raises(KeyError, match=r"unknown attribute 'pirce' .* did you mean 'Price'"):
        schema["pirce"]


@pytest.mark.parametrize("names", [("x", "X"), ("x", "y", "x"), ("Stra\u00dfe", "STRA\u00dfE")])
def test_names_that_differ_only_in_case_are_the_same(names):
    with pytest.raises(ValueError, match=f"names attribute '{names[-1]}' twice"):
        Schema.of([(name, "INT") for name in names])
    columns = ", ".join(f"`{name}` INT" for name in names)
    with pytest.raises(QueryError, match=f"attribute '{names[-1]}' is declared twice"):
        parse_schema(f"CREATE STREAM s ({columns})")


def test_schema_without_attributes_is_refused():
    for empty in (lambda: Schema.of({}), lambda: Schema.from_arrow(pa.schema([]))):
        with pytest.raises(ValueError, match="stream 'events' needs at least one attribute"):
            empty()


def test_unknown_type_names_those_there_are():
    with pytest.raises(ValueError, match="unknown type 'MONEY'; the types are BOOLEAN, TINYINT"):
        Schema.of({"x": "MONEY"})


def test_thousands_of_attributes():
    schema = Schema.of({f"attribute_{n}": "INT" for n in range(2000)})
    assert len(schema) == 2000 and schema["ATTRIBUTE_1999"].index == 1999
    assert parse_schema(str(schema)) == Schema.of(types_of(schema))
    assert Schema.from_arrow(schema.to_arrow()) == schema


@given(
    st.lists(
        st.text(
            st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
            min_size=1,
            max_size=8,
        ),
        min_size=1,
        max_size=5,
        unique_by=str.lower,
    )
)
def test_any_name_survives_sql_text(names):
    schema = Schema.of([(name, "INT") for name in names], stream=names[0])
    assert parse_schema(str(schema)) == schema


@pytest.mark.xdist_group("spark")
def test_schema_of_a_spark_data_frame(spark):
    columns = ", ".join(f"{name} {of}" for name, of in EVERY_TYPE.items())
    frame = spark.createDataFrame([], f"{columns}, local TIMESTAMP_NTZ")
    found = types_of(Schema.from_spark(frame.schema))
    assert found == {**EVERY_TYPE, "local": TIMESTAMP}


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("of", ["BINARY", "ARRAY<INT>", "MAP<STRING,INT>", "INTERVAL DAY", "VOID"])
def test_other_spark_types_are_refused_by_name(spark, of):
    frame = spark.sql(f"SELECT 1 AS ok, CAST(NULL AS {of}) AS x")
    with pytest.raises(DataError, match=r"attribute 'x' has Spark type .*, which no attribute"):
        Schema.from_spark(frame.schema)
