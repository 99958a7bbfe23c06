"""Texts at the corners of the language, each once wrong or easily got wrong: Spark decides."""

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from spark_answers import Refused, events_frame, select_answers
from strategies import Case, present
from test_differential import disagreements, read

from penstock.gen.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = 19_726  # 2024-01-04
NOON = (DAY * 24 + 12) * 3_600_000_000
SCHEMA = Schema.of(
    {
        "d": "DECIMAL(38,37)", "t": "TINYINT", "x": "INT", "l": "BIGINT", "f": "FLOAT",
        "dbl": "DOUBLE", "s": "STRING", "b": "BOOLEAN", "dt": "DATE", "ts": "TIMESTAMP",
    }
)  # fmt: skip
NEAR_FIVE = [f"5.{'0' * (places - 1)}1" for places in (37, 36, 35, 34, 33, 32, 29, 28, 27, 18)]
ROWS = [
    (),
    (Decimal(5), 5, 5, 5, 5.0, 5.0, "\U0001f600", True, DAY, NOON),
    (Decimal(-5), -5, -5, 2**63 - 1, float("nan"), float("nan"), "?", False, DAY - 3, NOON + 1),
    (Decimal(0), -128, 1, -(2**63), -0.0, 0.0, "\\", None, DAY + 1, NOON - 3_660_000_000),
    *((Decimal(text),) for text in NEAR_FIVE),
    *((Decimal("-" + text),) for text in NEAR_FIVE),
]
EVENTS = tuple(present(row) for row in ROWS)

FIVES = """5 5Y 5S 5L (5) +5 +5S -5 -5Y -5S -5L -(5) -(5S) CAST(5|AS|TINYINT) CAST(5|AS|SMALLINT)
    CAST('5'|AS|BIGINT) CAST(5L|AS|INT) 5::SMALLINT 2+3 5BD 5. 5.0 50e-1BD 10S/2 5|DIV|1 -(-5)"""
COMPARED = ("d = {0}", "d > {0}", "{0} <= d", "d IN ({0})", "d IN ({0}, 7)", "{0} IN (d)",
            "d BETWEEN {0} AND {0}", "{0} BETWEEN d AND d", "d <=> {0}")  # fmt: skip
DIGITS = [form.format(five.replace("|", " ")) for five in FIVES.split() for form in COMPARED]

HUGE = "10000000000000000000"
BEYOND_BIGINT = [
    *(f"x {op} {sign}{HUGE}{end}" for op in ("<", ">=", "=") for sign in ("", "-")
      for end in ("", "BD", ".5")),
    f"x < +{HUGE}", f"x >= +{HUGE}.5",
    f"x BETWEEN {HUGE} AND 5", f"x NOT BETWEEN {HUGE} AND 5", f"x BETWEEN 1 AND {HUGE}",
    f"{HUGE} BETWEEN x AND l", f"x < -({HUGE})", f"x < {HUGE} + 0", f"d < {HUGE}", f"{HUGE} > l",
    "l < 9223372036854775807.5", "l >= -9223372036854775808.5", f"NOT x >= {HUGE}",
]  # fmt: skip
LITERALS = [
    "t = -128Y", "-128Y >= t", "t = - 128Y", "l = -9223372036854775808L",
    "l = -9223372036854775808", "x = -2147483648", "x = 1.", "x > .5", "f = 5F", "dbl = 5e0D",
    f"dbl > 0.{'0' * 60}1D", f"f > 1{'0' * 38}F",
    r"s = '\uD83D\uDE00'", r"s = '\ud83d'", r"s = '\ude00\ud83d'", r"s = '\U0001F600'",
    r"s = r'\'", r"s = '\\'", 's = "?"', "s LIKE '' 'a'", r"s LIKE '\\\\'", r"s LIKE '\_'",
    "s LIKE '_'", "s LIKE '%%' ESCAPE '%'",
]  # fmt: skip
TIMES = """2024-01-04T12|2024-01-04 12|2024-01-04 12:00:00.|2024-01-04 12:00:00.Z
    2024-01-04 12:00:00.1234567891234|2024-01-04 12:00:00+1:1|2024-01-04 12:00:00+0101
    2024-01-04 12:00:00 UTC|2024-1-4 12:0|2024-01-04 12:00:00+18:00|2024-01-04 12:00:00-1
    2024-01|2024| 2024-01-04 |2024-01-04 12:00:00+101|2024-01-04T12Z|2024-01-04T
    2024-01-04 12:00 Z|2024-01-04  12:00|2024-01-04 12:00:00+18:30|2024-02-30|2024-13-01"""
TEMPORAL = [
    *(form.format(time.strip(" \n") if "\n" in time else time)
      for time in TIMES.replace("\n    ", "|").split("|")
      for form in ("ts = TIMESTAMP '{0}'", "ts <= '{0}'", "dt = DATE '{0}'", "dt >= '{0}'")),
    "dt = DATE '2024-01-04 foo'", "dt = '2024-01-04T'", "dt = '2024-01-04x'",
    "dt = DATE '2024-01-01' + 3Y", "dt = 3 + DATE '2024-01-01'", "dt = DATE '2024-01-01' + 3L",
    "dt = 3 - DATE '2024-01-01'", "dt = DATE '2024-01-01' - (-3S)", "dt = ts", "dt <=> ts",
    "dt < TIMESTAMP '2024-01-04 00:00:00.000001'", "ts > DATE '2024-01-04'",
]  # fmt: skip
LOGIC = [
    "x = TRY_CAST('a' AS INT)", "x <=> TRY_CAST('300' AS TINYINT)", "x = TRY_CAST('5' AS INT)",
    "NULL", "x = NULL", "x <=> NULL", "x IN (NULL)", "x NOT IN (1, NULL)", "NULL IN (1, 2)",
    "1 IN (1, NULL)", "x BETWEEN NULL AND 3", "x NOT BETWEEN 3 AND NULL", "NOT x IS NULL",
    "NOT x = 5 AND b", "NOT x = 5 OR b", "NOT (b) = b", "b < TRUE", "b BETWEEN FALSE AND TRUE",
    "x IS DISTINCT FROM 5", "NOT x IS DISTINCT FROM NULL", "TRUE IS NOT TRUE", "b IS UNKNOWN",
    "!b", "s LIKE NULL", "s NOT LIKE NULL", "x = 5 -- five", "b and/* both */b",
    "f = dbl", "f < CAST('NaN' AS DOUBLE)", "dbl >= CAST('NaN' AS FLOAT)", "f = -0.0D",
]  # fmt: skip
REFUSED_BY_BOTH = [
    "l = 1.9L", "l = 1e5L", "x IN (1,)", "x = INT '5'",
    "dbl = DOUBLE 'NaN'", "x = CAST('5' AS INT FORMAT 'x')",
    "x BETWEEN SYMMETRIC 1 AND 2", "x = TRUE", "b = 1", "x IS TRUE", "dt = 19726", "x IN ()",
    "x NOT BETWEEN 1 AND 2 = TRUE", "b = x > 3", "x = 300Y", "x = 1 / 0", "x = 1 % 0",
    "x = 2147483647 + 1", "x = CAST(300 AS TINYINT)", "x = CAST('abc' AS INT)", "x = -(-128Y)",
    "dbl = 1e400", "dbl = 1e400D", "f = 1e39F", "x = CAST('NaN' AS INT)", "x = 1 DIV 0",
    "l = 9223372036854775807 + 1", "s LIKE '%' ESCAPE '%'", r"s LIKE 'a\\b'",
    "s LIKE 'a!' ESCAPE '!'", "s LIKE 'a' ESCAPE '!!'",
    "ts = TIMESTAMP '2024-01-04 24:00:00'", "nothing = 1", "x =", "(x = 1", "x = 1)", "x = 'a",
]  # fmt: skip


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    "texts", [DIGITS, BEYOND_BIGINT, LITERALS, TEMPORAL, LOGIC],
    ids=["digits", "beyond bigint", "literals", "temporal", "logic"],
)  # fmt: skip
def test_corner_texts_mean_what_spark_means(spark: "SparkSession", texts: list[str]) -> None:
    case = Case(SCHEMA, tuple(texts), EVENTS)
    wrong = []
    frame = events_frame(spark, SCHEMA, EVENTS)
    for text, answer in zip(texts, select_answers(frame, texts), strict=True):
        condition = read(text, SCHEMA)
        if isinstance(condition, str) or isinstance(answer, Refused):
            if isinstance(condition, str) != isinstance(answer, Refused):
                wrong.append(f"{text!r}: Spark {answer}, we {condition}")
        else:
            wrong += list(disagreements(case, text, condition, answer))[:1]
    assert not wrong, "\n".join(wrong)


@pytest.mark.xdist_group("spark")
def test_what_spark_refuses_is_refused(spark: "SparkSession") -> None:
    frame = events_frame(spark, SCHEMA, EVENTS)
    answers = select_answers(frame, REFUSED_BY_BOTH)
    texts = zip(REFUSED_BY_BOTH, answers, strict=True)
    taken = [text for text, answer in texts if not isinstance(answer, Refused)]
    assert not taken, "Spark takes these"
    taken = [text for text in REFUSED_BY_BOTH if not isinstance(read(text, SCHEMA), str)]
    assert not taken, "we take these"
