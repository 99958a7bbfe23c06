"""Turn each predicate into the set of values for which it is true.

The cast to the common type is monotone, so a comparison with a constant is always a
stretch of the attribute's own order, however Spark would round on the way.
"""

from __future__ import annotations

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
)
from penstock.gen.normal import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Normal,
    Pair,
    Pattern,
    Test,
    compare_keys,
    like,
)
from penstock.gen.schema import Attribute
from penstock.gen.types import Key, Type
from penstock.gen.values import (
    NOTHING,
    ONLY_NULL,
    ValueSet,
    complement,
    present,
    stretch,
    union,
    without_null,
)

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "<=>": "<=>"}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "=", "<=>": "NOT <=>"}
LAST_CHARACTER = "\U0010ffff"


def to_sets(expression: Expression) -> Normal:
    """Replace predicates by sets; NOT must stand directly above predicates only.

    price > 5 AND NOT side IN ('B', NULL)   ->   price in (6,) AND side in ()
    """
    match expression:
        case And(children):
            return AllOf(tuple(to_sets(child) for child in children))
        case Or(children):
            return AnyOf(tuple(to_sets(child) for child in children))
        case Always(value):
            return TRUE if value else FALSE
        case Not(child):
            assert not isinstance(child, And | Or | Not | Always), "negation was not pushed down"
            return _predicate(child, negated=True)
    return _predicate(expression, negated=False)


def _predicate(node: Predicate, negated: bool) -> Normal:
    match node:
        case Comparison():
            return _comparison(node, negated)
        case Between(operand, low, high, low_common, high_common, weight):
            reaches = Comparison(">=", operand, low, low_common, weight)
            # Both halves of BETWEEN hold together and earn the weight once; of NOT BETWEEN
            # whichever holds earns it.
            stays = Comparison("<=", operand, high, high_common, weight if negated else 0)
            halves = (_comparison(reaches, negated), _comparison(stays, negated))
            return AnyOf(halves) if negated else AllOf(halves)
        case InList(operand, options, common, weight):
            return _in_list(operand, options, common, weight, negated)
        case IsNull(operand, weight):
            if isinstance(operand, Constant):
                return TRUE if (operand.value is None) != negated else FALSE
            return Test(operand, present(operand.type) if negated else ONLY_NULL, weight)
        case Like():
            return _like(node, negated)


def _comparison(node: Comparison, negated: bool) -> Normal:
    left, right = node.left, node.right
    if isinstance(left, Constant) and isinstance(right, Constant):
        verdict = _compare_constants(node.op, left, right, node.common)
        return TRUE if verdict is not None and verdict != negated else FALSE
    if isinstance(left, Attribute) and isinstance(right, Attribute):
        return _pair(left, right, node, negated)
    if isinstance(left, Constant):
        assert isinstance(right, Attribute)
        return _with_constant(right, FLIPPED[node.op], left, node, negated)
    assert isinstance(right, Constant)
    return _with_constant(left, node.op, right, node, negated)


def _compare_constants(op: str, left: Constant, right: Constant, common: Type) -> bool | None:
    if left.value is None or right.value is None:
        return (left.value is right.value) if op == "<=>" else None
    return compare_keys(op, _key(left, common), _key(right, common))


def _with_constant(
    attribute: Attribute, op: str, constant: Constant, node: Comparison, negated: bool
) -> Test:
    if constant.value is None:
        if op != "<=>":
            return Test(attribute, NOTHING, node.weight)
        return Test(attribute, present(attribute.type) if negated else ONLY_NULL, node.weight)
    values = _compared(attribute.type, "=" if op == "<=>" else op, constant, node.common)
    if negated:
        values = complement(values, attribute.type)
        values = values if op == "<=>" else without_null(values)
    return Test(attribute, values, node.weight)


def _compared(of: Type, op: str, constant: Constant, common: Type) -> ValueSet:
    """The values of a type for which ``value op constant`` holds."""
    key = _key(constant, common)
    if op in ("<>", "="):
        first = _first(of, common, key)
        beyond = _first(of, common, common.after(key))
        same = NOTHING if first is None else stretch(of, first, beyond)
        return same if op == "=" else without_null(complement(same, of))
    first = _first(of, common, key if op in ("<", ">=") else common.after(key))
    if op in ("<", "<="):
        return stretch(of, None, first)
    return NOTHING if first is None else stretch(of, first, None)


def _key(constant: Constant, common: Type) -> Key:
    assert constant.value is not None
    return common.key(cast(constant.value, constant.type, common))


def _first(of: Type, common: Type, target: Key) -> Key | None:
    """The first key of a type whose value, cast to the common type, reaches the target key."""
    if of == common:
        return target
    low, high = of.lowest, of.highest
    assert isinstance(low, int), f"{of} is not cast to {common}"
    assert high is not None
    beyond = high + 1
    while low < beyond:
        middle = (low + beyond) // 2
        if common.key(cast(of.value(middle), of, common)) < target:
            low = middle + 1
        else:
            beyond = middle
    return low if low <= high else None


def _in_list(
    operand: Operand, options: tuple[Constant, ...], common: Type, weight: int, negated: bool
) -> Normal:
    known = [option for option in options if option.value is not None]
    has_null = len(known) < len(options)
    if isinstance(operand, Constant):
        if operand.value is None:
            return FALSE
        found = any(_key(operand, common) == _key(option, common) for option in known)
        return TRUE if found != negated and not (negated and has_null) else FALSE
    if negated and has_null:
        return Test(operand, NOTHING, weight)
    values = union(_compared(operand.type, "=", option, common) for option in known)
    if negated:
        values = without_null(complement(values, operand.type))
    return Test(operand, values, weight)


def _pair(left: Attribute, right: Attribute, node: Comparison, negated: bool) -> Normal:
    op = node.op
    if left.index > right.index:
        left, right, op = right, left, FLIPPED[op]
    if negated:
        op = NEGATED[op]
    if left == right:
        if op in ("<=>", "NOT <=>"):
            full = ValueSet(present(left.type).cuts, null=True)
            return Test(left, full if op == "<=>" else NOTHING, node.weight)
        return Test(left, present(left.type) if op in ("=", "<=", ">=") else NOTHING, node.weight)
    return Pair(left, op, right, node.common, node.weight)


def _like(node: Like, negated: bool) -> Normal:
    if isinstance(node.operand, Constant):
        text = node.operand.value
        verdict = text is not None and like(str(text), node.pattern, node.escape) != negated
        return TRUE if verdict else FALSE
    attribute = node.operand
    values = _like_set(node.pattern, node.escape)
    if values is None:
        return Pattern(attribute, node.pattern, node.escape, negated, node.weight)
    if negated:
        values = without_null(complement(values, attribute.type))
    return Test(attribute, values, node.weight)


def _like_set(pattern: str, escape: str) -> ValueSet | None:
    """The strings that match, where they are one text or all texts with one beginning."""
    prefix: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            prefix.append(next(characters))
        elif character == "%":
            rest = set(characters)
            return prefixed("".join(prefix)) if rest <= {"%"} else None
        elif character == "_":
            return None
        else:
            prefix.append(character)
    text = "".join(prefix)
    return ValueSet((text, text + "\0"))


def prefixed(prefix: str) -> ValueSet:
    """All strings that begin with the prefix."""
    head = prefix.rstrip(LAST_CHARACTER)
    if not head:
        return ValueSet((prefix,))
    following = ord(head[-1]) + 1
    if 0xD800 <= following <= 0xDFFF:  # surrogates are not characters
        following = 0xE000
    return ValueSet((prefix, head[:-1] + chr(following)))
