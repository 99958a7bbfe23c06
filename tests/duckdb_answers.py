"""What DuckDB answers: a second SQL engine with three-valued logic of its own.

DuckDB does not read Spark's texts: it has other literals, and it meets types in other places
(INT with FLOAT in FLOAT, DECIMAL with BIGINT without Spark's rounding). So it is given our
bound expression with the casts written out. What it checks is logic, order and LIKE; that a
text is bound as Spark binds it, only Spark can check.

Left out, because DuckDB differs there:

- casts between DECIMALs that shorten the fraction: DuckDB overflows where Spark rounds;
- LIKE where pattern, escape or text is not plain ASCII without NUL: DuckDB compares bytes
  against an escape of one byte, and ``_`` there stands for a grapheme's bytes;
- DECIMAL or BIGINT cast to DOUBLE: DuckDB divides by a power of ten and so rounds twice.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain

import duckdb
import pyarrow as pa
from spark_answers import table_of

from penstock.gen.casting import as_decimal
from penstock.gen.expr import (
    Always,
    And,
    Between,
    Comparison,
    Constant,
    Expression,
    InList,
    IsNull,
    Like,
    Not,
    Operand,
    Or,
)
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import DATE, DOUBLE, STRING, TIMESTAMP, Type, Value


class LeftOut(Exception):
    """The condition holds something that DuckDB does not do as Spark does."""


def duckdb_answers(
    schema: Schema, conditions: Sequence[Expression], events: Sequence[Mapping[int, Value]]
) -> list[list[bool | None] | None]:
    """Each condition's value for every event; None for a condition that is left out."""
    columns: dict[int, str] = {}
    for index, condition in enumerate(conditions):
        try:
            columns[index] = _text(condition, events)
        except LeftOut:
            continue
    selected = ", ".join(columns.values()) or "1"
    with _connection().cursor() as cursor:
        cursor.register("events", _table(schema, events))
        rows = cursor.execute(f"SELECT {selected} FROM events ORDER BY n").fetchall()
    answers = dict(zip(columns, zip(*rows, strict=True), strict=False))
    return [list(answers[i]) if i in answers else None for i in range(len(conditions))]


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False})


def _table(schema: Schema, events: Sequence[Mapping[int, Value]]) -> pa.Table:
    """The events under plain names, timestamps without a zone: zones need an extension."""
    table = table_of(schema, events)
    plain = pa.schema(
        (name, pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type)
        for name, field in zip(_names(schema), table.schema, strict=True)
    )
    return table.rename_columns(plain.names).cast(plain)


def _names(schema: Schema) -> list[str]:
    return [*(f"c{attribute.index}" for attribute in schema), "n"]


def _text(node: Expression, events: Sequence[Mapping[int, Value]]) -> str:
    match node:
        case And(children):
            return "(" + " AND ".join(_text(child, events) for child in children) + ")"
        case Or(children):
            return "(" + " OR ".join(_text(child, events) for child in children) + ")"
        case Not(child):
            return f"(NOT {_text(child, events)})"
        case Always(value):
            return f"CAST({'NULL' if value is None else value} AS BOOLEAN)"
        case Comparison(op, left, right, common):
            word = "IS NOT DISTINCT FROM" if op == "<=>" else op
            return f"({_operand(left, common)} {word} {_operand(right, common)})"
        case Between(operand, low, high, low_common, high_common):
            reaches = Comparison(">=", operand, low, low_common)
            return _text(And((reaches, Comparison("<=", operand, high, high_common))), events)
        case InList(operand, options, common):
            listed = ", ".join(_operand(option, common) for option in options)
            return f"({_operand(operand, common)} IN ({listed}))"
        case IsNull(operand):
            return f"({_operand(operand, operand.type)} IS NULL)"
        case Like(operand, pattern, escape):
            _check_plain([pattern, escape, *_texts(operand, events)])
            subject = _operand(operand, STRING)
            return f"({subject} LIKE {_quoted(pattern)} ESCAPE {_quoted(escape)})"


def _texts(operand: Operand, events: Sequence[Mapping[int, Value]]) -> list[str]:
    if isinstance(operand, Constant):
        return [str(operand.value or "")]
    return [str(event.get(operand.index, "")) for event in events]


def _check_plain(texts: Sequence[str]) -> None:
    if any(not 0 < ord(character) < 128 for character in chain.from_iterable(texts)):
        raise LeftOut


def _operand(operand: Operand, common: Type) -> str:
    of = operand.type
    if of != common and common.is_decimal and as_decimal(of).scale > common.scale:
        raise LeftOut
    if of != common and common.is_decimal:
        held = as_decimal(of)
        if held.precision - held.scale > common.precision - common.scale:
            raise LeftOut
    if common == DOUBLE and (of.is_decimal or of.name == "BIGINT"):
        raise LeftOut
    text = f"c{operand.index}" if isinstance(operand, Attribute) else _constant(operand)
    return text if of == common else f"CAST({text} AS {_type(common)})"


def _constant(constant: Constant) -> str:
    of, value = constant.type, constant.value
    if value is None:
        return f"CAST(NULL AS {_type(of)})"
    if of == STRING:
        return _quoted(str(value))
    if of == DATE:
        return f"(DATE '1970-01-01' + CAST({value} AS INTEGER))"
    if of == TIMESTAMP:
        return f"make_timestamp({value})"
    return (
        f"CAST('{value:f}' AS {_type(of)})" if of.is_decimal else f"CAST('{value}' AS {_type(of)})"
    )


def _quoted(text: str) -> str:
    if "\0" in text:
        return "(" + " || chr(0) || ".join(_quoted(part) for part in text.split("\0")) + ")"
    return "'" + text.replace("'", "''") + "'"


def _type(of: Type) -> str:
    return {"STRING": "VARCHAR", "NULL": "BOOLEAN"}.get(of.name, str(of))
