"""Types: their spelling, and keys that keep order and lose nothing."""

import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import NUMBERS, STRINGS, TYPES, fits, nearest

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
    Key,
    Type,
    Value,
    decimal,
    parse_type,
)

NAN, INFINITY = math.nan, math.inf
KEYED = [of for of in TYPES if of != STRING]
SINGLE_MAX = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
FLOATS_IN_ORDER = {
    DOUBLE: [-INFINITY, -1.7976931348623157e308, -1.0, -2.2250738585072014e-308, -5e-324, 0.0,
             5e-324, 2.225073858507201e-308, 2.2250738585072014e-308, 0.1, 1.0,
             math.nextafter(1.0, 2), 1.7976931348623157e308, INFINITY, NAN],
    FLOAT: [-INFINITY, -SINGLE_MAX, -1.0, -(2.0**-126), -(2.0**-149), 0.0, 2.0**-149, 2.0**-126,
            1.0, 1 + 2.0**-23, SINGLE_MAX, INFINITY, NAN],
}  # fmt: skip


def keys_of(of: Type) -> st.SearchStrategy[int]:
    low, high = of.lowest, of.highest
    ends = st.sampled_from([low, low + 1, -1, 0, 1, high - 1, high])  # type: ignore[operator]
    inside = ends.filter(lambda key: low <= key <= high)
    return inside | st.integers(low, high)  # type: ignore[arg-type]


def values_of(of: Type) -> st.SearchStrategy[Value]:
    """Values by the type's own meaning, not by its keys."""
    if of == STRING:
        return st.sampled_from(STRINGS) | st.text(max_size=5)
    if of == BOOLEAN:
        return st.booleans()
    if of.is_floating:
        width = 32 if of == FLOAT else 64
        return st.floats(width=width) | st.sampled_from(FLOATS_IN_ORDER[of])
    if of.is_decimal:
        numbers = st.integers(1 - 10**of.precision, 10**of.precision - 1)
        return numbers.map(lambda digits: Decimal(f"{digits}e-{of.scale}"))
    bits = {TINYINT: 8, SMALLINT: 16, INT: 32, DATE: 32}.get(of, 64)
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def order(left: Value, right: Value) -> int:
    """Spark's order, said without keys: NaN on top, one zero, strings by their bytes."""
    if isinstance(left, float) and isinstance(right, float) and (left != left or right != right):
        return (left != left) - (right != right)
    first, second = (v.encode() if isinstance(v, str) else v for v in (left, right))
    return (first > second) - (first < second)  # type: ignore[operator]


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(TYPES))
def test_keys_order_as_values_do(data: st.DataObject, of: Type) -> None:
    left, right = data.draw(values_of(of)), data.draw(values_of(of))
    first, second = of.key(left), of.key(right)
    assert (first > second) - (first < second) == order(left, right)
    assert (first == second) == (order(left, right) == 0)


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(TYPES))
def test_a_value_survives_its_key(data: st.DataObject, of: Type) -> None:
    value = data.draw(values_of(of))
    again = of.value(of.key(value))
    assert type(again) is type(value)
    assert order(again, value) == 0
    assert repr(again) == repr(value + 0.0 if of.is_floating else value)  # -0.0 becomes 0.0


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(KEYED))
def test_a_key_survives_its_value(data: st.DataObject, of: Type) -> None:
    key = data.draw(keys_of(of))
    assert of.key(of.value(key)) == key


@pytest.mark.parametrize("of", KEYED, ids=str)
def test_the_lowest_and_highest_keys_are_the_ends(of: Type) -> None:
    assert of.key(of.value(of.lowest)) == of.lowest
    assert of.key(of.value(of.highest or 0)) == of.highest
    for number in NUMBERS:
        if of.is_numeric and fits(number, of):
            assert of.lowest <= of.key(nearest(number, of)) <= of.highest  # type: ignore[operator]


@pytest.mark.parametrize("of", [FLOAT, DOUBLE], ids=str)
def test_floats_have_neighbouring_keys_and_nan_on_top(of: Type) -> None:
    keys = [of.key(value) for value in FLOATS_IN_ORDER[of]]
    assert keys == sorted(set(keys))  # type: ignore[type-var]
    assert (keys[0], keys[-1]) == (of.lowest, of.highest)
    assert of.key(-0.0) == of.key(0.0) == 0
    tiny = 2.0**-149 if of == FLOAT else 5e-324
    assert [of.value(key) for key in (-1, 0, 1)] == [-tiny, 0.0, tiny]
    assert of.value(of.key(INFINITY) + 1) != of.value(of.key(INFINITY) + 1)  # type: ignore[operator]
    assert math.copysign(1, of.value(of.key(-0.0))) == 1


def test_a_float_and_a_double_have_keys_of_their_own() -> None:
    assert FLOAT.key(1.0) == 0x3F800000
    assert DOUBLE.key(1.0) == 0x3FF0000000000000
    assert FLOAT.value(FLOAT.key(1.0) + 1) == 1 + 2.0**-23  # type: ignore[operator]


def test_every_nan_is_the_same() -> None:
    other = struct.unpack("<d", b"\x01\0\0\0\0\0\xf8\xff")[0]
    assert other != other
    assert DOUBLE.key(other) == DOUBLE.key(NAN) == DOUBLE.highest


def test_decimals_of_38_digits_keep_every_digit() -> None:
    of = decimal(38, 37)
    value = Decimal("1.2345678901234567890123456789012345678")
    assert of.key(value) == 12345678901234567890123456789012345678
    assert str(of.value(of.key(value))) == str(value)
    assert decimal(5, 2).key(Decimal("1.5")) == decimal(5, 2).key(Decimal("1.50")) == 150


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(TYPES))
def test_nothing_lies_between_a_key_and_the_next(data: st.DataObject, of: Type) -> None:
    key = of.key(data.draw(values_of(of)))
    other = of.key(data.draw(values_of(of)))
    assert of.after(key) > key
    assert not key < other < of.after(key)  # type: ignore[operator]


def test_nothing_lies_between_a_string_and_the_next() -> None:
    assert STRING.after("a") == "a\0"
    for text in ("a", "a\0", "a\0\0", "b", "", "a\U0010ffff"):
        assert not "a" < text < STRING.after("a")  # type: ignore[operator]


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(TYPES))
def test_the_grid_keeps_order_inside_its_bounds(data: st.DataObject, of: Type) -> None:
    keys: list[Key] = sorted(of.key(data.draw(values_of(of))) for _ in range(2))  # type: ignore[type-var]
    low, high = (of.grid(key) for key in keys)
    assert of.grid_bounds[0] <= low <= high <= of.grid_bounds[1]
    if of != STRING:
        assert (low, high) == tuple(keys)


@pytest.mark.parametrize(
    ("first", "second"),
    [("", "\0"), ("a", "b"), ("\ud7ff", "\ue000"), ("\uffff", "\U00010000"), ("é", "\U0001f600"),
     ("abcdefg", "abcdefgh"), ("abcdefgé", "abcdefgü")],
)  # fmt: skip
def test_the_grid_of_strings_goes_by_their_first_bytes(first: str, second: str) -> None:
    assert first < second
    assert STRING.grid(first) <= STRING.grid(second)
    assert STRING.grid("abcdefgh1") == STRING.grid("abcdefgh2")
    assert STRING.grid("abcdefg1") < STRING.grid("abcdefg2")


@pytest.mark.parametrize(
    ("text", "of"),
    [("int", INT), (" Integer ", INT), ("long", BIGINT), ("byte", TINYINT), ("short", SMALLINT),
     ("real", FLOAT), ("bool", BOOLEAN), ("timestamp_ltz", TIMESTAMP), ("decimal", decimal(10)),
     ("numeric( 5 )", decimal(5)), ("dec (7 , 3)", decimal(7, 3)),
     ("DECIMAL(38,38)", decimal(38, 38))],
)  # fmt: skip
def test_types_are_spelled_like_this(text: str, of: Type) -> None:
    assert parse_type(text) == of
    assert parse_type(str(of)) == of


@pytest.mark.parametrize("text", ["", "float8", "decimal(0)", "decimal(39)", "decimal(5,6)",
                                  "decimal(5,-1)", "decimal(\u0665)", "int(5)"])  # fmt: skip
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="DECIMAL"):
        parse_type(text)
