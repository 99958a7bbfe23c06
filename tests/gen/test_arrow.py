"""Arrow columns become attribute values exactly, or are refused with the value shown."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.gen.arrow import convert, to_values
from penstock.gen.errors import DataError
from penstock.gen.schema import arrow_type
from penstock.gen.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    decimal,
    parse_type,
)

NAN, INFINITY = float("nan"), float("inf")
ALL_TYPES = [
    *(BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, DATE, TIMESTAMP),
    *(decimal(1), decimal(10, 2), decimal(38, 37), decimal(38)),
]
INTEGER_TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
]
FLOAT_TYPES = [pa.float16(), pa.float32(), pa.float64()]
DECIMAL_TYPES = [
    pa.decimal32(5, 1), pa.decimal64(12, 1), pa.decimal128(20, 1), pa.decimal256(60, 1),
]  # fmt: skip
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view()]


def values(column, of):
    return to_values(convert(column, of, "column 'c'"))


@pytest.mark.parametrize("of", ALL_TYPES, ids=str)
def test_own_arrow_type_passes_untouched(of):
    column = pa.nulls(3, arrow_type(of))
    assert convert(column, of, "c") is column


@pytest.mark.parametrize("of", ALL_TYPES, ids=str)
@pytest.mark.parametrize("arrow", [pa.null(), *TEXT_TYPES], ids=str)
def test_empty_and_null_columns_take_the_type(arrow, of):
    for column in (pa.array([], arrow), pa.nulls(2, arrow)):
        converted = convert(column, of, "c")
        assert converted.type == arrow_type(of)
        assert converted.null_count == len(converted) == len(column)


@pytest.mark.parametrize("of", [TINYINT, INT, BIGINT, decimal(9, 2), decimal(1)], ids=str)
@pytest.mark.parametrize("arrow", [*INTEGER_TYPES, *DECIMAL_TYPES], ids=str)
def test_whole_numbers_convert_whatever_their_width(arrow, of):
    assert values(pa.array([5, None, 9], arrow), of) == [5, None, 9]


@pytest.mark.parametrize("of", [FLOAT, DOUBLE, TINYINT, BIGINT], ids=str)
@pytest.mark.parametrize("arrow", [*INTEGER_TYPES, *FLOAT_TYPES], ids=str)
def test_whole_floats_and_integers_convert_both_ways(arrow, of):
    assert values(pa.array([5, None, 9], arrow), of) == [5, None, 9]


@pytest.mark.parametrize(
    ("column", "of", "shown"),
    [
        (pa.array([1, 128]), TINYINT, "128 does not fit TINYINT"),
        (pa.array([0, -1, 2**31]), INT, "2147483648 does not fit INT"),
        (pa.array([2**63], pa.uint64()), BIGINT, "9223372036854775808 does not fit BIGINT"),
        (pa.array([1.0, 1.5]), INT, "1.5 does not fit INT"),
        (pa.array([1.0, NAN]), INT, "nan does not fit INT"),
        (pa.array([3e9]), INT, "3000000000.0 does not fit INT"),
        (pa.array([2**53, 2**53 + 1]), DOUBLE, "9007199254740993 does not fit DOUBLE exactly"),
        (pa.array([2**24 + 1], pa.int32()), FLOAT, "16777217 does not fit FLOAT exactly"),
        (pa.array([0.5, 0.1]), FLOAT, "0.1 does not fit FLOAT exactly"),
        (pa.array([1e300]), FLOAT, r"1e\+300 does not fit FLOAT exactly"),
        (pa.array([Decimal("5.00"), Decimal("5.50")]), INT, "5.50 does not fit INT"),
        (pa.array([999, 1000]), decimal(5, 2), r"1000 does not fit DECIMAL\(5,2\) exactly"),
        (pa.array([Decimal("0.005")]), decimal(10, 2), "0.005 does not fit DECIMAL"),
        (pa.array(["1.005"]), decimal(10, 2), "'1.005' does not fit DECIMAL"),
        (pa.array(["5", "0x10"]), INT, "'0x10' does not fit INT"),
        (pa.array(["0X1F"], pa.string_view()), BIGINT, "'0X1F' does not fit BIGINT"),
        (pa.array([" 5"]), INT, "' 5' does not fit INT"),
        (pa.array([""]), INT, "'' does not fit INT"),
        (pa.array(["1", "2", "x", "y"]), DOUBLE, "'x' does not fit DOUBLE"),
        (pa.array(["true", "maybe"]), BOOLEAN, "'maybe' does not fit BOOLEAN"),
        (pa.array(["2024-02-30"]), DATE, "'2024-02-30' is not a date"),
        (pa.array(["noon"], pa.large_string()), TIMESTAMP, "'noon' is not a timestamp"),
        (pa.array([1], pa.timestamp("ns")), TIMESTAMP, "00:00:00.000000001' does not fit"),
        (pa.array([2**60], pa.timestamp("s")), TIMESTAMP, "1152921504606846976.* does not fit"),
        (pa.array([10**17], pa.date64()), DATE, "out of range.* does not fit DATE"),
    ],
)
def test_value_that_would_change_is_refused_and_shown(column, of, shown):
    with pytest.raises(DataError, match=f"column 'c': .*{shown}"):
        values(column, of)


@pytest.mark.parametrize(
    ("arrow", "of"),
    [
        (pa.bool_(), INT),
        (pa.int8(), BOOLEAN),
        (pa.int64(), STRING),
        (pa.int64(), DATE),
        (pa.int64(), TIMESTAMP),
        (pa.float64(), decimal(10, 2)),
        (pa.decimal128(10, 2), DOUBLE),
        (pa.date32(), TIMESTAMP),
        (pa.timestamp("us"), DATE),
        (pa.date32(), STRING),
        (pa.binary(), STRING),
        (pa.list_(pa.int32()), INT),
        (pa.struct([("x", pa.int32())]), INT),
        (pa.time32("s"), TIMESTAMP),
        (pa.duration("us"), BIGINT),
    ],
    ids=str,
)
def test_another_kind_is_refused_even_without_values(arrow, of):
    with pytest.raises(DataError, match=r"c has values of Arrow type .*, but is "):
        convert(pa.array([], arrow), of, "c")


def test_decimal_that_overflows_128_bits_is_refused():
    # Arrow 26 itself answers 46826544.8154...: the product of value and scale, less 2**128.
    for column in (pa.array([2**63 - 1]), pa.array([str(2**63 - 1)]), pa.array([Decimal(2**63)])):
        with pytest.raises(DataError, match=r"922337203685477580\d'? does not fit DECIMAL"):
            values(column, decimal(38, 30))


@given(
    whole=st.integers(-(10**38), 10**38),
    source=st.integers(0, 37),
    precision=st.integers(1, 38),
    data=st.data(),
)
def test_decimals_rescale_exactly_or_not_at_all(whole, source, precision, data):
    scale = data.draw(st.integers(0, precision))
    value = Decimal(whole).scaleb(-source)
    target = decimal(precision, scale)
    in_target = value * 10**scale
    fits = in_target == int(in_target) and abs(in_target) < 10**precision
    try:
        assert values(pa.array([value], pa.decimal256(76, source)), target) == [value]
        assert fits
    except DataError:
        assert not fits


@pytest.mark.parametrize("arrow", TEXT_TYPES, ids=str)
@pytest.mark.parametrize(
    ("texts", "of", "expected"),
    [
        (["-128", "127"], TINYINT, [-128, 127]),
        ([str(-(2**63))], BIGINT, [-(2**63)]),
        (["187.20", "-0.01", "1e3"], decimal(10, 2), [Decimal("187.20"), Decimal("-0.01"), 1000]),
        (["1.5", "-Infinity", "1e-320"], DOUBLE, [1.5, -INFINITY, 1e-320]),
        (["0.1"], FLOAT, [0.10000000149011612]),
        (["true", "FALSE"], BOOLEAN, [True, False]),
        (["", " a\n", "é"], STRING, ["", " a\n", "é"]),
        (["1970-01-02", "1969-12-31"], DATE, [1, -1]),
        (["1970-01-01 00:00:01", "1970-01-01T01:00:00+01:00"], TIMESTAMP, [10**6, 0]),
    ],
)
def test_text_is_read_as_the_types_literals(arrow, texts, of, expected):
    assert values(pa.array([*texts, None], arrow), of) == [*expected, None]
    dictionary = pa.array([*texts, None, texts[0]]).dictionary_encode()
    assert values(dictionary, of) == [*expected, None, expected[0]]


def test_nan_is_a_value_and_stays_one():
    (nan,) = values(pa.array([NAN], pa.float64()), FLOAT)
    assert nan != nan
    (nan,) = values(pa.array(["NaN"]), DOUBLE)
    assert nan != nan


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "-05:00"])
def test_timestamps_of_every_unit_and_zone_are_the_same_instant(unit, zone):
    instant = datetime.datetime(2026, 3, 2, 14, 30, tzinfo=datetime.UTC)
    column = pa.array([instant, None]).cast(pa.timestamp(unit, tz=zone))
    assert values(column, TIMESTAMP) == [int(instant.timestamp()) * 10**6, None]


def test_dates_come_as_days_or_milliseconds():
    assert values(pa.array([-1, 1], pa.date32()), DATE) == [-1, 1]
    assert values(pa.array([-86_400_000, 86_400_000], pa.date64()), DATE) == [-1, 1]
    with pytest.raises(DataError, match="does not fit DATE"):
        values(pa.array([1], pa.date64()), DATE)


@given(
    numbers=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20),
    name=st.sampled_from(sorted(INTEGER_BITS)),
    start=st.integers(0, 20),
    length=st.integers(0, 20),
)
def test_sliced_columns_show_only_their_slice(numbers, name, start, length):
    of: Type = parse_type(name)
    mine = numbers[start : start + length]
    fits = all(n is None or of.lowest <= n <= of.highest for n in mine)
    column = pa.array(numbers, pa.int64()).slice(start, length)
    if fits:
        assert values(column, of) == mine
    else:
        with pytest.raises(DataError, match=f"does not fit {name}"):
            values(column, of)
