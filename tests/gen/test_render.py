"""Expressions and normal forms as text."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from strategies import NAMES, STRINGS, TYPES, Case, bound, cases, is_usable
from weighted_texts import weighted_cases

from penstock.gen.expr import Comparison, Constant, Expression
from penstock.gen.language.script import parse_subscription
from penstock.gen.normalise import normalise
from penstock.gen.render import constant, name, normal_text, sql, string
from penstock.gen.schema import Schema
from penstock.gen.types import BOOLEAN, DATE, DOUBLE, FLOAT, STRING, TIMESTAMP, Type, decimal

SCHEMA = Schema.of({"a": "INT", "d": "DECIMAL(10,2)", "s": "STRING", "b": "BOOLEAN"})
SQL_WORDS = [
    "map", "array", "struct", "and", "or", "not", "null", "true", "false", "in", "is", "between",
    "like", "case", "when", "end", "cast", "date", "timestamp", "interval", "select", "from",
    "where", "exists", "any", "all", "current_date", "weight", "div", "escape", "if", "int",
    "order", "group", "table", "distinct", "prior", "r", "x", "b", "l", "values", "with", "union",
    "row", "set", "unknown", "time", "decimal", "string", "on", "as", "join", "using", "limit",
]  # fmt: skip


# A failure names one text: shrinking the whole case would only cost time.
AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def again(condition: Expression, schema: Schema) -> Expression:
    return parse_subscription("q", sql(condition), schema, "text").condition


@pytest.mark.fuzz
@AS_FOUND
@given(cases(texts=4, events=0))
def test_what_is_printed_binds_to_the_same_expression(case: Case) -> None:
    for text in case.texts:
        condition = bound(text, case.schema)
        if condition is not None:
            assert repr(again(condition, case.schema)) == repr(condition), (text, sql(condition))


@pytest.mark.fuzz
@AS_FOUND
@given(weighted_cases(texts=3, events=0))
def test_what_is_printed_keeps_its_weights(case: Case) -> None:
    for text in case.texts:
        condition = bound(text, case.schema)
        if condition is not None:
            assert repr(again(condition, case.schema)) == repr(condition), (text, sql(condition))


@pytest.mark.parametrize("word", [*SQL_WORDS, *NAMES])
@pytest.mark.parametrize("form", ["{} < 5", "5 > {}", "{} = {}", "{} IN (1)", "{} IS NULL"])
def test_any_name_is_printed_so_that_it_is_found(word: str, form: str) -> None:
    schema = Schema.of({word: "INT"})
    quoted = "`" + word.replace("`", "``") + "`"
    condition = bound(form.format(quoted, quoted), schema)
    assert condition is not None
    assert again(condition, schema) == condition


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(TYPES))
def test_any_constant_is_printed_with_its_type_and_value(data: st.DataObject, of: Type) -> None:
    if of == STRING:
        value = data.draw(st.text(max_size=6))
    else:
        keys = st.integers(of.lowest, of.highest)  # type: ignore[arg-type]
        value = of.value(data.draw(keys.filter(lambda key: is_usable(key, of))))
    schema = Schema.of({"x": of})
    node = Constant(of, value)
    condition = bound(f"x = {constant(node)}", schema)
    assert repr(condition) == repr(Comparison("=", schema["x"], node, of)), constant(node)


@pytest.mark.parametrize(
    ("of", "value", "text"),
    [
        (BOOLEAN, True, "TRUE"), (Type("INT"), -5, "-5"), (Type("TINYINT"), -128, "-128Y"),
        (Type("BIGINT"), 5, "5L"), (decimal(3, 2), Decimal("1.50"), "1.50"),
        (decimal(10, 2), Decimal("1.50"), "CAST('1.50' AS DECIMAL(10,2))"),
        (DOUBLE, 0.1, "0.1D"), (FLOAT, 0.5, "CAST('0.5' AS FLOAT)"),
        (DOUBLE, float("nan"), "CAST('NaN' AS DOUBLE)"), (STRING, "it's", r"'it\'s'"),
        (DATE, 0, "DATE '1970-01-01'"), (TIMESTAMP, 1, "TIMESTAMP '1970-01-01 00:00:00.000001'"),
        (DOUBLE, None, "CAST(NULL AS DOUBLE)"),
    ],
)  # fmt: skip
def test_constants_are_printed_like_this(of: Type, value: object, text: str) -> None:
    assert constant(Constant(of, value)) == text


@pytest.mark.parametrize(
    "text",
    ["day = DATE '0001-01-01' - 4S", "day < DATE '9999-12-31' + 2000000000", "day > '0001'",
     "at = CAST(DATE '0001-01-01' - 1 AS TIMESTAMP)", "at < '0001-01-01 00:00:00+18:00'",
     "at > TIMESTAMP '9999-12-31 23:59:59.999999-18:00'", "at = '0001-01-01 10:00:00.5+10:01'"],
)  # fmt: skip
def test_times_beyond_the_years_of_literals_are_printed_too(text: str) -> None:
    schema = Schema.of({"day": DATE, "at": TIMESTAMP})
    condition = bound(text, schema)
    assert condition is not None
    assert again(condition, schema) == condition, sql(condition)


@pytest.mark.parametrize(
    "text", [*STRINGS, "\\n", "\\'", "'", "a\\%", "\\_", "\\\\", "\r\n\t", "--"]
)
def test_any_string_is_printed_so_that_it_is_read_again(text: str) -> None:
    condition = bound(f"s = {string(text)}", SCHEMA)
    assert isinstance(condition, Comparison)
    assert condition.right == Constant(STRING, text)


def test_plain_names_stay_plain() -> None:
    assert name(Schema.of({"price": "INT"})["price"]) == "price"
    assert name(Schema.of({"my col": "INT"})["my col"]) == "`my col`"
    assert name(Schema.of({"select": "INT"})["select"]) == "`select`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 5", "a from 6"),
        ("a BETWEEN 5 AND 7", "a from 5 below 8"),
        ("a < 5", "a below 5"),
        ("a = 5", "a = 5"),
        ("a <> 5", "a <> 5"),
        ("a IN (1, 3, NULL)", "a = 1 or = 3"),
        ("a IS NULL", "a is absent"),
        ("a IS NOT NULL", "a is present"),
        ("a IS NULL OR a = 1", "a = 1 or is absent"),
        ("weight(a <=> a, 3)", "a anything [3]"),
        ("a < 5 AND a > 7", "never"),
        ("TRUE", "always"),
        ("a <> 5 AND s IN ('x', 'y')", "a <> 5 and (s = 'x' or = 'y')"),
        ("s LIKE '%x%'", "s like '%x%'"),
        ("NOT s LIKE '%x%'", "s not like '%x%'"),
        ("a < d", "a < d"),
        ("weight(b, 2) OR s >= 'm'", "s from 'm' or b = TRUE [2]"),
        ("(b OR s = 'm') AND (a = 1 OR d = 2)", "(s = 'm' or b = TRUE) and (a = 1 or d = 2.00)"),
    ],
)
def test_normal_forms_read_like_this(text: str, expected: str) -> None:
    condition = bound(text, SCHEMA)
    assert condition is not None
    assert normal_text(normalise(condition)) == expected
