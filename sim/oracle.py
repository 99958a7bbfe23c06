"""The definition: what a condition means for one event, in the plainest way there is.

This evaluator follows the text: three-valued logic on the typed expression, both sides of
a comparison cast to the type Spark compares in. It shares nothing with the normal form,
so that the two guard each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.gen.casting import cast
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
    Subscription,
)
from penstock.gen.schema import Attribute
from penstock.gen.types import Type, Value

Values = Mapping[int, Value]
"""One event: the values that are present, by attribute index."""


def evaluate(expression: Expression, event: Values) -> bool | None:
    """True, False or, for unknown, None."""
    match expression:
        case And(children):
            verdicts = [evaluate(child, event) for child in children]
            return False if False in verdicts else None if None in verdicts else True
        case Or(children):
            verdicts = [evaluate(child, event) for child in children]
            return True if True in verdicts else None if None in verdicts else False
        case Not(child):
            verdict = evaluate(child, event)
            return None if verdict is None else not verdict
        case Always(value):
            return value
    return _predicate(expression, event)


def matches(subscriptions: Iterable[Subscription], event: Values) -> list[str]:
    """The ids whose condition is true, in order."""
    return sorted(s.id for s in subscriptions if evaluate(s.condition, event) is True)


def score(expression: Expression, event: Values, weights: Mapping[int, int]) -> int | None:
    """What a condition earns where it is true, else None.

    A predicate earns its weight times the event's weight for its attribute (1 unless given;
    of two attributes the first in the schema counts). AND adds up what its children earn, OR
    takes the best of those that are true, NOT is pushed down to the predicates first.
    """
    match expression:
        case Not(child=Not(child=child)):
            return score(child, event, weights)
        case Not(child=And(children)):
            return score(Or(tuple(Not(child) for child in children)), event, weights)
        case Not(child=Or(children)):
            return score(And(tuple(Not(child) for child in children)), event, weights)
        case And(children):
            earned = [score(child, event, weights) for child in children]
            return None if None in earned else sum(part or 0 for part in earned)
        case Or(children):
            earned = [score(child, event, weights) for child in children]
            return max((part for part in earned if part is not None), default=None)
    if evaluate(expression, event) is not True:
        return None
    leaf = expression.child if isinstance(expression, Not) else expression
    if isinstance(leaf, Always | And | Or | Not) or not leaf.weight:
        return 0
    return leaf.weight * weights.get(min(attributes_of(leaf)), 1)


def top_k(
    subscriptions: Iterable[Subscription], event: Values, k: int, weights: Mapping[int, int]
) -> list[tuple[str, int]]:
    """The k best matches with their scores: best first, equal scores by id."""
    scored = ((s.id, score(s.condition, event, weights), s.weight) for s in subscriptions)
    matched = [(id, base + earned) for id, earned, base in scored if earned is not None]
    return sorted(matched, key=lambda match: (-match[1], match[0]))[:k]


def attributes_of(leaf: Predicate) -> set[int]:
    """The indices of the attributes that a predicate looks at."""
    sides: tuple[Operand, ...] = (
        (leaf.left, leaf.right) if isinstance(leaf, Comparison) else (leaf.operand,)
    )
    return {side.index for side in sides if isinstance(side, Attribute)}


def _predicate(leaf: Predicate, event: Values) -> bool | None:
    match leaf:
        case Comparison(op, left, right, common):
            return _compare(op, _value(left, event), _value(right, event), common)
        case Between(operand, low, high, low_common, high_common):
            reaches = Comparison(">=", operand, low, low_common)
            stays = Comparison("<=", operand, high, high_common)
            return evaluate(And((reaches, stays)), event)
        case InList(operand, options, common):
            return evaluate(
                Or(tuple(Comparison("=", operand, option, common) for option in options)), event
            )
        case IsNull(operand):
            return _value(operand, event)[0] is None
        case Like(operand, pattern, escape):
            text, _ = _value(operand, event)
            return None if text is None else _like(str(text), pattern, escape)


def _value(operand: Operand, event: Values) -> tuple[Value | None, Type]:
    if isinstance(operand, Constant):
        return operand.value, operand.type
    return event.get(operand.index), operand.type


def _compare(
    op: str, left: tuple[Value | None, Type], right: tuple[Value | None, Type], common: Type
) -> bool | None:
    if left[0] is None or right[0] is None:
        return (left[0] is right[0]) if op == "<=>" else None
    order = _order(cast(left[0], left[1], common), cast(right[0], right[1], common))
    return {
        "=": order == 0,
        "<=>": order == 0,
        "<>": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[op]


def _order(left: Value, right: Value) -> int:
    """Below, equal or above as -1, 0 or 1; NaN equals itself and is above every number."""
    if left != left or right != right:
        return (left != left) - (right != right)
    if isinstance(left, str) and isinstance(right, str):
        first, second = left.encode(), right.encode()
        return (first > second) - (first < second)
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    return (left > right) - (left < right)


def _like(text: str, pattern: str, escape: str) -> bool:
    """Follow the pattern character by character, keeping every place it may have reached."""
    reached = {0}
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            wanted = next(characters)
            reached = {at + 1 for at in reached if text[at : at + 1] == wanted}
        elif character == "%":
            reached = set(range(min(reached, default=len(text) + 1), len(text) + 1))
        elif character == "_":
            reached = {at + 1 for at in reached if at < len(text)}
        else:
            reached = {at + 1 for at in reached if text[at : at + 1] == character}
    return len(text) in reached
