"""Find the conditions that no event can change."""

from __future__ import annotations

from penstock.gen.normal import AllOf, AnyOf, Normal, Pair, Pattern, Test
from penstock.gen.normalise.disjuncts import TooManyDisjuncts, disjuncts
from penstock.gen.normalise.merge import merge
from penstock.gen.normalise.to_sets import NEGATED
from penstock.gen.values import ONLY_NULL, complement

SEARCH_LIMIT = 64


def verdict(node: Normal) -> bool | None:
    """``True`` if the node always holds, ``False`` if it never does, else ``None``.

    a < 3 AND (a > 5 OR b <> b)   ->   False

    Where the search would spread past `SEARCH_LIMIT` conjunctions it gives up with ``None``.
    """
    if _is_plain(node):
        return None
    if _is_never(node):
        return False
    if _is_never(merge(opposite(node))):
        return True
    return None


def _is_plain(node: Normal) -> bool:
    """Whether the node is one test or more, on different attributes: they can hold and fail.

    The usual case, seen at a glance. Weighted tests may be kept though they always hold.
    """
    children = node.children if isinstance(node, AllOf) else (node,)
    return bool(children) and all(isinstance(c, Test) and not c.weight for c in children)


def _is_never(node: Normal) -> bool:
    try:
        return not disjuncts(node, SEARCH_LIMIT)
    except TooManyDisjuncts:
        return False


def opposite(node: Normal) -> Normal:
    """What holds exactly when the node does not; weights are dropped."""
    match node:
        case AllOf(children):
            return AnyOf(tuple(opposite(child) for child in children))
        case AnyOf(children):
            return AllOf(tuple(opposite(child) for child in children))
        case Test(attribute, values):
            return Test(attribute, complement(values, attribute.type))
        case Pattern(attribute, pattern, escape, negated):
            other = Pattern(attribute, pattern, escape, not negated)
            return AnyOf((other, Test(attribute, ONLY_NULL)))
        case Pair(left, op, right, common):
            if op in ("<=>", "NOT <=>"):
                return Pair(left, "NOT <=>" if op == "<=>" else "<=>", right, common)
            absent = (Test(left, ONLY_NULL), Test(right, ONLY_NULL))
            return AnyOf((Pair(left, NEGATED[op], right, common), *absent))
