"""Bind the two things a predicate is made of: attributes and constants."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from penstock.gen.casting import common_type, literal_decimal
from penstock.gen.errors import QueryError, nearest
from penstock.gen.expr import Constant, Operand
from penstock.gen.language import arithmetic, literals
from penstock.gen.language.parse import SUPPORTED
from penstock.gen.language.source import Source
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import BOOLEAN, STRING, TINYINT, TYPE_NAMES, Type, parse_type

UNTYPED = Type("NULL")
"""The type of a bare NULL until it meets another operand."""

_ARITHMETIC = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
}
_CASTS = (exp.Cast, exp.TryCast)
_CAST_FORM = re.compile(r"(?:TRY_)?CAST\b|DATE\b|TIMESTAMP")
_CONDITIONS = (
    exp.Connector, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ,
    exp.NullSafeNEQ, exp.Between, exp.In, exp.Is, exp.Like,
)  # fmt: skip
_CALLED = re.compile(r"(\w+)\s*\(")


@dataclass(frozen=True, slots=True)
class Bound:
    """An operand, the node it came from, and whether Spark would call it a literal."""

    operand: Operand
    node: Any
    literal: bool = False

    @property
    def type(self) -> Type:
        return self.operand.type


def bind_operand(node: Any, schema: Schema, source: Source) -> Bound:
    """An attribute, or a constant with its arithmetic done."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return Bound(_attribute(node, schema, source), node)
    if isinstance(node, exp.Null):
        return Bound(Constant(UNTYPED, None), node)
    if isinstance(node, exp.Boolean):
        return Bound(Constant(BOOLEAN, bool(node.this)), node)
    try:
        number = _number(node, source)
        if number is not None:
            return number
        text = _string(node, source)
        if text is not None:
            return Bound(Constant(STRING, text), node, literal=True)
        if isinstance(node, _CASTS):
            return _cast(node, schema, source)
        if isinstance(node, exp.Neg):
            inner = _constant(node.this, schema, source)
            return Bound(arithmetic.negate(inner.operand), node)
        if type(node) in _ARITHMETIC:
            return _arithmetic(node, schema, source)
    except ValueError as error:
        raise source.problem_at(node, str(error)) from None
    raise unsupported(node, source)


def _is_number(node: Any) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _number(node: Any, source: Source) -> Bound | None:
    """A numeric literal with its sign and suffix; ``None`` for any other node."""
    # A minus belongs to the literal, so that -2147483648 is an INT and -128Y a TINYINT.
    sign, unsigned = ("-", node.this) if isinstance(node, exp.Neg) else ("", node)
    if _is_number(unsigned):
        constant = literals.number(sign + unsigned.this)
    elif _is_suffixed(unsigned, source):
        constant = _suffixed(sign + unsigned.this.this, _target(unsigned))
    else:
        return None
    # Spark takes a TINYINT, and what follows a plus, by its type and not by its digits.
    return Bound(constant, node, constant.type != TINYINT and not _has_plus(unsigned, source))


def _suffixed(text: str, of: Type) -> Constant:
    """A number that a suffix gives a type; with F and D of any length."""
    if of.is_integral:
        if not text.lstrip("-").isdecimal():
            raise ValueError(f"{text} is not whole, so it cannot be {of}")
        return arithmetic.convert(literals.number(text), of)
    constant = arithmetic.convert(Constant(STRING, text), of)
    if constant.value in (math.inf, -math.inf):
        raise ValueError(f"{text} is beyond the range of {of}")
    return constant


def _is_suffixed(node: Any, source: Source) -> bool:
    """Whether a cast is written as a suffix, as in ``5S``: the tree has one node for both."""
    if not isinstance(node, _CASTS) or not isinstance(node.this, exp.Literal):
        return False
    if "start" not in node.this.meta:
        return True  # BD is read as a cast of a string that stands nowhere
    return _is_number(node.this) and source.text_of(node.this)[-1].isalpha()


def _has_plus(node: Any, source: Source) -> bool:
    """Whether a plus sign stands before a number: the tree leaves it out."""
    at = source.span_of(node.this if isinstance(node, _CASTS) else node)[0] - 1
    while at >= 0 and source.text[at].isspace():
        at -= 1
    return source.text[at : at + 1] == "+" and not (
        isinstance(node.parent, exp.Add) and node.parent.expression is node
    )


@dataclass(frozen=True, slots=True)
class _BoundConstant:
    operand: Constant
    literal: bool


def _constant(node: Any, schema: Schema, source: Source) -> _BoundConstant:
    bound = bind_operand(node, schema, source)
    if isinstance(bound.operand, Attribute):
        raise source.problem_at(
            bound.node,
            f"arithmetic and casts work on constants only, and {bound.operand.name!r} is an "
            "attribute",
            hint="move the arithmetic to the other side: not price * 2 > 10 but price > 10 / 2",
        )
    return _BoundConstant(bound.operand, bound.literal)


def _attribute(node: Any, schema: Schema, source: Source) -> Attribute:
    name = node.name
    if node.args.get("db") or (node.table and node.table.lower() != schema.stream.lower()):
        raise source.problem_at(
            node,
            f"{source.text_of(node)!r} is not of stream {schema.stream!r}",
            hint=f"write {name!r} or '{schema.stream}.{name}'",
        )
    found = schema.find(name)
    if found is None:
        raise source.problem_at(
            node,
            f"unknown attribute {name!r} in stream {schema.stream!r}",
            hint=nearest(name, (attribute.name for attribute in schema)),
        )
    return found


def _string(node: Any, source: Source) -> str | None:
    """The text of a string literal; ``None`` for any other node."""
    if isinstance(node, exp.RawString):
        return str(node.this)
    if isinstance(node, exp.Literal) and "start" in node.meta:
        return literals.string(source.text_of(node))
    if isinstance(node, exp.Literal):
        return str(node.this)
    return None


def _cast(node: Any, schema: Schema, source: Source) -> Bound:
    target = _target(node)
    text = source.text_of(node).upper()
    if not (_CAST_FORM.match(text) or "::" in text) or node.args.get("format") is not None:
        raise ValueError(f"a cast is written CAST(value AS {target})")
    inner = _typed(_constant(node.this, schema, source).operand, target)
    try:
        return Bound(arithmetic.convert(inner, target), node)
    except ValueError as error:
        if isinstance(error, arithmetic.NoCast) or not text.startswith("TRY_CAST"):
            raise
        return Bound(Constant(target, None), node)


def _target(node: Any) -> Type:
    """The type that a cast names."""
    spelled = node.to.sql(dialect="spark")
    try:
        return parse_type(spelled)
    except ValueError:
        raise ValueError(f"there is no cast to {spelled}; the types are {TYPE_NAMES}") from None


def _arithmetic(node: Any, schema: Schema, source: Source) -> Bound:
    left = _constant(node.this, schema, source)
    right = _constant(node.expression, schema, source)
    first = _typed(left.operand, right.operand.type)
    second = _typed(right.operand, first.type)
    literal = (left.literal, right.literal)
    return Bound(arithmetic.compute(_ARITHMETIC[type(node)], first, second, literal), node)


def _typed(constant: Constant, of: Type) -> Constant:
    """A bare NULL takes the type of what it meets."""
    return Constant(of, None) if constant.type == UNTYPED else constant


def meet(left: Bound, right: Bound, source: Source) -> tuple[Bound, Bound, Type]:
    """Both sides as they compare, and the type they compare in."""
    left, right = _toward(left, right.type, source), _toward(right, left.type, source)
    common = common_type(_literal_type(left, right.type), _literal_type(right, left.type))
    if common is None:
        raise mismatch(left, right, source)
    return left, right, common


def _toward(side: Bound, other: Type, source: Source) -> Bound:
    """Give NULL a type, and read a string beside a date or timestamp as one."""
    if not isinstance(side.operand, Constant):
        return side
    if side.type == UNTYPED:
        return Bound(Constant(BOOLEAN if other == UNTYPED else other, None), side.node)
    if side.type == STRING and other.is_temporal:
        try:
            return Bound(arithmetic.convert(side.operand, other), side.node)
        except ValueError as error:
            raise source.problem_at(side.node, str(error)) from None
    return side


def _literal_type(side: Bound, other: Type) -> Type:
    """Beside a DECIMAL an integer literal is no wider than its digits."""
    constant = side.operand
    if side.literal and other.is_decimal and constant.type.is_integral:
        assert isinstance(constant, Constant)
        assert constant.value is not None
        return literal_decimal(int(constant.value))
    return constant.type


def mismatch(left: Bound, right: Bound, source: Source) -> QueryError:
    """The error for two types that do not compare."""
    sides = (left, right) if isinstance(left.operand, Attribute) else (right, left)
    named = " with ".join(f"{source.text_of(side.node)} ({side.type})" for side in sides)
    return source.problem_at(
        sides[1].node, f"cannot compare {named}", hint=_mismatch_hint(sides[0], sides[1], source)
    )


def _mismatch_hint(first: Bound, second: Bound, source: Source) -> str:
    if STRING in (first.type, second.type):
        if second.type == STRING and isinstance(second.operand, Constant):
            if first.type.is_numeric:
                return f"strings are not cast to numbers: leave out the quotes for {first.type}"
            return f"strings are not cast to {first.type}: write a {first.type} constant"
        if isinstance(second.node, exp.Literal):
            return f"strings are not cast: write '{source.text_of(second.node)}'"
        if isinstance(second.operand, Constant):
            return "strings are not cast: write a STRING constant"
        return "strings are not cast: compare attributes of the same kind"
    return f"{first.type} compares with " + (
        "numbers only"
        if first.type.is_numeric
        else "dates and timestamps only"
        if first.type.is_temporal
        else f"{first.type} only"
    )


def unsupported(node: Any, source: Source) -> QueryError:
    """The error for syntax that is valid SQL but not part of the language."""
    text = source.text_of(node)
    called = _CALLED.match(text)
    if isinstance(node, _CONDITIONS) or (called and called[1].lower() == "weight"):
        return source.problem_at(
            node,
            "a condition cannot be compared or computed with",
            hint="join conditions by AND, OR and NOT",
        )
    what = f"function {called[1]}" if called and isinstance(node, exp.Func) else repr(text)
    return source.problem_at(node, f"{what} is not supported", hint=f"supported: {SUPPORTED}")
