"""Typed expressions and normal forms as text: SQL that means, and binds to, the same."""

from __future__ import annotations

import math
from decimal import Decimal

from penstock.gen.casting import MICROSECONDS_PER_DAY, common_type, literal_decimal, wider_decimal
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
    Predicate,
)
from penstock.gen.language.literals import decimal_type, show_date, show_timestamp
from penstock.gen.language.parse import is_plain_word
from penstock.gen.normal import AllOf, AnyOf, Normal, Pair, Pattern, Test
from penstock.gen.schema import Attribute, quoted
from penstock.gen.types import DATE, DOUBLE, STRING, TIMESTAMP, TINYINT, Type, Value
from penstock.gen.values import ValueSet, complement

_SUFFIXES = {"TINYINT": "Y", "SMALLINT": "S", "BIGINT": "L"}
_ESCAPED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def sql(expression: Expression) -> str:
    """The condition as SQL text that binds to the same expression."""
    match expression:
        case And(children):
            return " AND ".join(_operand_of_connective(child) for child in children)
        case Or((Comparison(left=subject), *_) as children) if _is_list(children):
            options = (operand(child.right) for child in children if isinstance(child, Comparison))
            return f"{operand(subject)} IN ({', '.join(options)})"
        case Or(children):
            return " OR ".join(_operand_of_connective(child) for child in children)
        case Not(child):
            return f"NOT ({sql(child)})"
        case Always(value):
            return "NULL" if value is None else str(value).upper()
    text = _predicate(expression)
    return f"weight({text}, {expression.weight})" if expression.weight else text


def _operand_of_connective(child: Expression) -> str:
    return f"({sql(child)})" if isinstance(child, And | Or) else sql(child)


def _predicate(leaf: Predicate) -> str:
    match leaf:
        case Comparison(op, left, right, common):
            return f"{_side(left, right, common)} {op} {_side(right, left, common)}"
        case Between(subject, low, high, low_common, high_common):
            bounds = _side(low, subject, low_common), _side(high, subject, high_common)
            return f"{operand(subject)} BETWEEN {bounds[0]} AND {bounds[1]}"
        case InList(subject, options):
            return f"{operand(subject)} IN ({', '.join(operand(option) for option in options)})"
        case IsNull(subject):
            return f"{operand(subject)} IS NULL"
        case Like(subject, pattern, escape):
            tail = "" if escape == "\\" else f" ESCAPE {string(escape)}"
            return f"{operand(subject)} LIKE {string(pattern)}{tail}"


def _is_list(children: tuple[Expression, ...]) -> bool:
    """Whether an OR comes from ``x IN (y, 5)``, which compares all of them in one type."""
    first = children[0]
    return (
        isinstance(first, Comparison)
        and all(
            isinstance(child, Comparison)
            and (child.op, child.left, child.common, child.weight)
            == ("=", first.left, first.common, 0)
            for child in children
        )
        and (len(children) == 1 or not all(_stands_alone(child) for child in children))
    )


def _stands_alone(node: Expression) -> bool:
    """Whether a comparison has its common type without others beside it in a list."""
    assert isinstance(node, Comparison)
    by_digits = (_by_digits(node.left, node.right), _by_digits(node.right, node.left))
    return node.common in (common_type(node.left.type, node.right.type), *by_digits)


def _by_digits(node: Operand, other: Operand) -> Type | None:
    """The common type of an integer literal beside a decimal, where that goes by its digits."""
    if not isinstance(node, Constant) or node.value is None or not other.type.is_decimal:
        return None
    if not node.type.is_integral or node.type == TINYINT:
        return None
    return wider_decimal(literal_decimal(int(node.value)), other.type)


def _side(node: Operand, other: Operand, common: Type) -> str:
    """A side of a comparison; an integer in a CAST where it does not count by its digits."""
    text = operand(node)
    by_digits = _by_digits(node, other)
    return text if by_digits in (None, common) else f"CAST({text} AS {node.type})"


def operand(node: Operand) -> str:
    """An attribute's name or a constant, as SQL text."""
    return name(node) if isinstance(node, Attribute) else constant(node)


def name(attribute: Attribute) -> str:
    """The attribute's name, in backquotes unless it is a plain word."""
    return attribute.name if is_plain_word(attribute.name) else quoted(attribute.name)


def constant(node: Constant) -> str:
    """A constant as SQL text of the same type and value."""
    if node.value is None:
        return "NULL" if node.type.name == "NULL" else f"CAST(NULL AS {node.type})"
    text = show(node.value, node.type)
    if node.type.is_decimal:
        return text if _is_plain_decimal(text, node) else f"CAST('{text}' AS {node.type})"
    if node.type.is_floating:
        is_plain = isinstance(node.value, float) and math.isfinite(node.value)
        if is_plain and node.type == DOUBLE:
            return f"{text}D"
        return f"CAST('{text}' AS {node.type})"
    if node.type.is_temporal:
        return f"{node.type} '{text}'" if text[0].isdigit() else _far_instant(node)
    return text + _SUFFIXES.get(node.type.name, "")


def _far_instant(node: Constant) -> str:
    """A date or timestamp outside years 1 to 9999, which no literal says but arithmetic does."""
    assert isinstance(node.value, int)
    if node.type == DATE:
        return f"DATE '1970-01-01' + {node.value}"
    days, rest = divmod(node.value, MICROSECONDS_PER_DAY)
    if not rest:
        return f"CAST(DATE '1970-01-01' + {days} AS TIMESTAMP)"
    hours = 18 if days < 0 else -18  # only a zone leads there, and none is further away
    near = show_timestamp(node.value + hours * 3_600_000_000)
    return f"TIMESTAMP '{near}{hours:+}:00'"


def _is_plain_decimal(text: str, node: Constant) -> bool:
    """Whether the digits alone say the same; past BIGINT a literal means something else."""
    assert isinstance(node.value, Decimal)
    return "." in text and abs(node.value) < 2**63 and decimal_type(node.value) == node.type


def show(value: Value, of: Type) -> str:
    """A value for people: as short as it can be said."""
    if of == STRING:
        return string(str(value))
    if of == DATE:
        return show_date(int(value))
    if of == TIMESTAMP:
        return show_timestamp(int(value))
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    return str(value)


def string(text: str) -> str:
    """A string literal."""
    return "'" + "".join(_ESCAPED.get(character, character) for character in text) + "'"


def normal_text(node: Normal) -> str:
    """A normal form for people, sets as stretches: ``price in [5, 8)``."""
    match node:
        case AllOf(children) | AnyOf(children):
            is_all = isinstance(node, AllOf)
            if not children:
                return "always" if is_all else "never"
            texts = ((c, normal_text(c)) for c in children)
            inner = (
                f"({text})" if isinstance(c, AllOf | AnyOf) or _is_split(c) else text
                for c, text in texts
            )
            return (" and " if is_all else " or ").join(inner)
        case Test(attribute, values):
            return _weighted(f"{name(attribute)} {values_text(values, attribute.type)}", node)
        case Pair(left, op, right):
            return _weighted(f"{name(left)} {op} {name(right)}", node)
        case Pattern(attribute, pattern, _, negated):
            like = "not like" if negated else "like"
            return _weighted(f"{name(attribute)} {like} {string(pattern)}", node)


def _is_split(node: Normal) -> bool:
    """Whether the text of a node has an ``or`` in it."""
    return isinstance(node, Test) and " or " in values_text(node.values, node.attribute.type)


def _weighted(text: str, leaf: Test | Pair | Pattern) -> str:
    return f"{text} [{leaf.weight}]" if leaf.weight else text


def values_text(values: ValueSet, of: Type) -> str:
    """A set of values for people."""
    if values.is_full(of):
        return "anything"
    others = complement(values, of)
    if (
        values.cuts != (of.highest,)
        and len(others.cuts) == 2
        and others.null
        and others.cuts[1] == of.after(others.cuts[0])
    ):
        return f"<> {show(of.value(others.cuts[0]), of)}"
    if values.cuts == (of.lowest,):
        return "is present"
    parts = []
    for first, beyond in values.stretches():
        start = show(of.value(first), of)
        if first == of.highest or beyond == of.after(first):
            parts.append(f"= {start}")
        elif beyond is None:
            parts.append(f"from {start}")
        elif first == of.lowest:
            parts.append(f"below {show(of.value(beyond), of)}")
        else:
            parts.append(f"from {start} below {show(of.value(beyond), of)}")
    return " or ".join([*parts, *(["is absent"] if values.null else [])]) or "in nothing"
