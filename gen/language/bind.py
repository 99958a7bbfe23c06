"""Bind a condition's syntax tree to a schema: names found, types checked, Spark's meaning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from penstock.gen.casting import common_type_of_all
from penstock.gen.expr import (
    MAX_WEIGHT,
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
    Or,
    attributes_of,
)
from penstock.gen.language.operands import (
    Bound,
    bind_operand,
    meet,
    mismatch,
    unsupported,
)
from penstock.gen.language.source import Source
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import BOOLEAN, STRING

_COMPARISONS = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}


def bind(tree: Any, schema: Schema, source: Source) -> Expression:
    """The typed expression of a condition's syntax tree; QueryError if it has none."""
    try:
        return _Binder(schema, source).condition(tree)
    except RecursionError:
        raise source.problem_at(
            tree, "the condition has a constant that takes too many steps to compute"
        ) from None


@dataclass(frozen=True, slots=True)
class _Binder:
    schema: Schema
    source: Source

    def condition(self, node: Any) -> Expression:
        match node:
            case exp.Paren():
                return self.condition(node.this)
            case exp.And() | exp.Or():
                children = tuple(self.condition(child) for child in _chain(node))
                return And(children) if isinstance(node, exp.And) else Or(children)
            case exp.Not():
                return Not(self.condition(node.this))
            case exp.NullSafeNEQ():
                return Not(self.comparison("<=>", node))
            case exp.Between():
                return self.between(node)
            case exp.In():
                return self.in_list(node)
            case exp.Is():
                return self.is_(node)
            case exp.Like() | exp.Escape():
                return self.like(node)
            case exp.Anonymous() if node.name.lower() == "weight":
                return self.weighted(node)
        if type(node) in _COMPARISONS:
            return self.comparison(_COMPARISONS[type(node)], node)
        return self.truth(node)

    def operand(self, node: Any) -> Bound:
        return bind_operand(node, self.schema, self.source)

    def comparison(self, op: str, node: Any) -> Expression:
        return self.compared(op, self.operand(node.this), self.operand(node.expression))

    def compared(self, op: str, left: Bound, right: Bound) -> Comparison | Always:
        left, right, common = meet(left, right, self.source)
        certain = _beyond_bigint(op, left, right)
        if certain is not None:
            return Always(certain)
        return Comparison(op, left.operand, right.operand, common)

    def between(self, node: Any) -> Expression:
        if node.args.get("symmetric") is not None:
            raise self.source.problem_at(
                node, "BETWEEN takes its lower bound first, without SYMMETRIC or ASYMMETRIC"
            )
        # What BETWEEN tests counts as computed: Spark does not take it by its digits.
        operand = replace(self.operand(node.this), literal=False)
        reaches = self.compared(">=", operand, self.operand(node.args["low"]))
        stays = self.compared("<=", operand, self.operand(node.args["high"]))
        match reaches, stays:
            case (
                Comparison(left=Attribute() as attribute, right=Constant() as low),
                Comparison(right=Constant() as high),
            ):
                return Between(attribute, low, high, reaches.common, stays.common)
        return And((reaches, stays))

    def in_list(self, node: Any) -> Expression:
        if node.args.get("query") is not None or node.args.get("unnest") is not None:
            raise self.source.problem_at(
                node, "IN takes a list of values, not a query", hint="write x IN (1, 2, 3)"
            )
        if not node.expressions:
            raise self.source.problem_at(
                node, "the list after IN is empty", hint="write at least one value: x IN (1)"
            )
        operand = self.operand(node.this)
        options = [self.operand(option) for option in node.expressions]
        if all(option.type == operand.type for option in options):
            common = operand.type  # the usual case, checked without meeting each option
        else:
            options = [meet(operand, option, self.source)[1] for option in options]
            operand = meet(operand, options[0], self.source)[0]
            types = [operand.type, *(option.type for option in options)]
            met = common_type_of_all(types)
            if met is None:
                raise mismatch(operand, options[0], self.source)
            common = met
        constants = tuple(o.operand for o in options if isinstance(o.operand, Constant))
        if len(constants) == len(options):
            return InList(operand.operand, constants, common)
        return Or(
            tuple(Comparison("=", operand.operand, option.operand, common) for option in options)
        )

    def is_(self, node: Any) -> Expression:
        if isinstance(node.expression, exp.Null):
            operand = self.operand(node.this).operand
            return IsNull(operand)
        if isinstance(node.expression, exp.Boolean):
            return self.comparison("<=>", node)
        raise self.source.problem_at(
            node, "IS takes NULL, TRUE, FALSE or UNKNOWN", hint="compare values with = or <=>"
        )

    def like(self, node: Any) -> Expression:
        escape = "\\"
        like = node
        if isinstance(node, exp.Escape):
            like = node.this
            escape = str(self.string(node.expression, "ESCAPE"))
            if len(escape) != 1:
                raise self.source.problem_at(
                    node.expression, f"ESCAPE takes one character, not {escape!r}"
                )
        if type(like) is not exp.Like:
            raise unsupported(like, self.source)
        operand = self.operand(like.this)
        if operand.type != STRING:
            raise self.source.problem_at(like.this, f"LIKE works on STRING, not {operand.type}")
        pattern = self.string(like.expression, "LIKE")
        if pattern is None:
            return Always(None)
        self.check_pattern(pattern, escape, like.expression)
        predicate = Like(operand.operand, pattern, escape)
        return Not(predicate) if like.args.get("negate") else predicate

    def string(self, node: Any, after: str) -> str | None:
        operand = self.operand(node)
        if isinstance(operand.operand, Constant):
            if operand.operand.value is None:
                return None
            if operand.type == STRING:
                return str(operand.operand.value)
        raise self.source.problem_at(
            node,
            f"{after} takes a constant string",
            hint="write x LIKE 'a%' or x LIKE '!%' ESCAPE '!'",
        )

    def check_pattern(self, pattern: str, escape: str, node: Any) -> None:
        """Spark refuses an escape before anything but a wildcard or itself."""
        characters = iter(pattern)
        for character in characters:
            if character == escape and next(characters, "") not in ("%", "_", escape):
                raise self.source.problem_at(
                    node,
                    f"in this pattern {escape!r} stands before neither '%', '_' nor itself",
                    hint=f"write {escape * 2!r} for the character itself"
                    if escape != "\\"
                    else r"inside quotes a backslash is written '\\\\' in a pattern",
                )

    def weighted(self, node: Any) -> Expression:
        """``weight(predicate, n)``: the predicate, worth n to the score where it holds."""
        if len(node.expressions) != 2:
            raise self.source.problem_at(
                node, "weight takes two arguments", hint="write weight(price < 10, 3)"
            )
        weight = self.operand(node.expressions[1]).operand
        value = weight.value if isinstance(weight, Constant) else None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_WEIGHT:
            raise self.source.problem_at(
                node.expressions[1], f"a weight is a whole number from 0 to {MAX_WEIGHT}"
            )
        return self.with_weight(self.condition(node.expressions[0]), value, node)

    def with_weight(self, expression: Expression, weight: int, node: Any) -> Expression:
        if isinstance(expression, Not):
            return Not(self.with_weight(expression.child, weight, node))
        if (
            isinstance(expression, And | Or | Always)
            or expression.weight
            or not attributes_of(expression)
        ):
            raise self.source.problem_at(
                node.expressions[0],
                "weight takes a single predicate on an attribute",
                hint="weigh the parts: weight(a > 1, 3) AND weight(b > 2, 4)",
            )
        return replace(expression, weight=weight)

    def truth(self, node: Any) -> Expression:
        """A BOOLEAN attribute or constant as a condition of its own."""
        bound = self.operand(node)
        if isinstance(bound.operand, Constant):
            value = bound.operand.value
            if value is None or isinstance(value, bool):
                return Always(value)
        if bound.type != BOOLEAN:
            raise self.source.problem_at(
                node,
                f"a condition is expected here, but {self.source.text_of(node)} is {bound.type}",
                hint="compare it with something",
            )
        return Comparison("=", bound.operand, Constant(BOOLEAN, True), BOOLEAN)


def _beyond_bigint(op: str, left: Bound, right: Bound) -> bool | None:
    """Spark's answer to ``bigint < 1e19-like literal``: certain, even where the left is NULL."""
    for integer, limit, ups in ((left, right, ("<", "<=")), (right, left, (">", ">="))):
        constant = limit.operand
        if op not in ("<", "<=", ">", ">=") or not integer.type.is_integral:
            continue
        if limit.literal and constant.type.is_decimal and isinstance(constant, Constant):
            value = constant.value
            assert isinstance(value, Decimal)
            if not -(2**63) <= value <= 2**63 - 1:
                return (op in ups) == (value > 0)
    return None


def _chain(node: Any) -> list[Any]:
    """The members of ``a AND b AND c``, without recursion: chains may be very long."""
    kind = type(node)
    members: list[Any] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if type(current) is kind:
            pending += [current.expression, current.this]
        else:
            members.append(current)
    return members
