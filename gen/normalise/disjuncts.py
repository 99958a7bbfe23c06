"""Spread a normal form into conjunctions, for engines that need them."""

from __future__ import annotations

from itertools import product

from penstock.gen.errors import PenstockError
from penstock.gen.normal import (
    FALSE,
    AllOf,
    AnyOf,
    Conjunction,
    Normal,
    Pair,
    Pattern,
    Test,
)
from penstock.gen.normalise.merge import all_of

MAX_DISJUNCTS = 1024
_RELATIONS = {
    "<": {"<"},
    "<=": {"<", "="},
    "=": {"="},
    ">=": {">", "="},
    ">": {">"},
    "<>": {"<", ">"},
    "<=>": {"=", "both absent"},
    "NOT <=>": {"<", ">", "one absent"},
}


class TooManyDisjuncts(PenstockError):
    """A condition that spreads into more conjunctions than the engine takes."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the condition spreads into more than {limit} conjunctions of predicates\n"
            "hint: split it into several subscriptions, or write IN for alternatives "
            "on one attribute"
        )


def disjuncts(node: Normal, limit: int = MAX_DISJUNCTS) -> tuple[Conjunction, ...]:
    """The conjunctions of which at least one holds exactly when the node does.

    (a = 1 OR b = 2) AND c = 3   ->   a = 1 AND c = 3,  b = 2 AND c = 3

    Conjunctions that can never hold are dropped. Raises `TooManyDisjuncts` past the limit.
    """
    spread = (_conjunction(part) for part in _spread(node, limit))
    return tuple(conjunction for conjunction in spread if not _contradicts(conjunction))


def _spread(node: Normal, limit: int) -> list[Normal]:
    """Nodes without AnyOf, each merged, whose disjunction is the node."""
    match node:
        case AnyOf(children):
            parts = [part for child in children for part in _spread(child, limit)]
        case AllOf(children):
            # What needs no spreading is merged once, not again with every choice.
            leaves = all_of(child for child in children if not isinstance(child, AllOf | AnyOf))
            parts = [leaves] if leaves != FALSE else []
            for child in (child for child in children if isinstance(child, AllOf | AnyOf)):
                choices = _spread(child, limit)
                if len(parts) * len(choices) > limit * limit:
                    raise TooManyDisjuncts(limit)
                joined = (all_of(pair) for pair in product(parts, choices))
                parts = [part for part in joined if part != FALSE]
        case _:
            parts = [node]
    parts = list(dict.fromkeys(_ordered(part) for part in parts))
    if len(parts) > limit:
        raise TooManyDisjuncts(limit)
    return parts


def _ordered(node: Normal) -> Normal:
    """The node with its leaves in one order, so that equal conjunctions are equal data."""
    return AllOf(tuple(sorted(node.children, key=_place))) if isinstance(node, AllOf) else node


def _place(leaf: Normal) -> tuple[tuple[int, ...], str, str, bool, int]:
    match leaf:
        case Test(attribute, _, weight):
            return (attribute.index,), "", "", False, weight
        case Pattern(attribute, pattern, escape, negated, weight):
            return (attribute.index,), pattern, escape, negated, weight
        case Pair(left, op, right, common, weight):
            return (left.index, right.index), op, str(common), False, weight
    raise AssertionError("spreading left a connective behind")


def _conjunction(node: Normal) -> Conjunction:
    leaves = node.children if isinstance(node, AllOf) else (node,)
    tests = sorted(
        (leaf for leaf in leaves if isinstance(leaf, Test)),
        key=lambda test: test.attribute.index,
    )
    others = tuple(leaf for leaf in leaves if isinstance(leaf, Pair | Pattern))
    assert len(tests) + len(others) == len(leaves), "spreading left a connective behind"
    return Conjunction(tuple(tests), others)


def _contradicts(conjunction: Conjunction) -> bool:
    """Whether pairs or patterns exclude one another, or need what a test says is absent."""
    relations: dict[tuple[int, int], set[str]] = {}
    patterns: set[tuple[int, str, str, bool]] = set()
    needed: set[int] = set()
    for leaf in conjunction.others:
        if isinstance(leaf, Pair):
            key = (leaf.left.index, leaf.right.index)
            relations[key] = relations.get(key, _RELATIONS[leaf.op]) & _RELATIONS[leaf.op]
            if "absent" not in " ".join(_RELATIONS[leaf.op]):
                needed.update(key)
        else:
            patterns.add((leaf.attribute.index, leaf.pattern, leaf.escape, leaf.negated))
            needed.add(leaf.attribute.index)
    if any(not left for left in relations.values()):
        return True
    if any((*rest, not negated) in patterns for *rest, negated in patterns):
        return True
    return any(
        test.attribute.index in needed and not test.values.cuts for test in conjunction.tests
    )
