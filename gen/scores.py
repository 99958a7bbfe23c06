"""What a match is worth: a base, and the weights of the predicates that hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from penstock.gen.normal import AllOf, AnyOf, Leaf, Normal, attributes_of
from penstock.gen.schema import Attribute


@dataclass(frozen=True, slots=True)
class Score:
    """``base``, and each attribute's weights times what an event weighs the attribute with."""

    base: int = 0
    weights: tuple[tuple[Attribute, int], ...] | None = ()
    """In the order of the schema; ``None`` if it depends on which side of an OR holds."""


NOTHING = Score()


def score_of(node: Normal, base: int) -> Score:
    """What the matches of a condition are worth, as far as that is the same for all of them.

    weight(a = 1, 3) AND (b = 2 OR c = 3)          ->   3 for a
    weight(a = 1, 3) AND weight(a > 0, 2)          ->   5 for a
    weight(a = 1, 3) OR weight(b = 2, 1)           ->   depends
    """
    earned = _fixed(node)
    if earned is None:
        return Score(base, None)
    kept = sorted(((a, w) for a, w in earned.items() if w), key=lambda pair: pair[0].index)
    return Score(base, tuple(kept))


def source_of(leaf: Leaf) -> Attribute:
    """Whose weight an event multiplies the leaf's with: of a pair, that of the left one."""
    return attributes_of(leaf)[0]


def _fixed(node: Normal) -> Counter[Attribute] | None:
    """What the node earns by attribute whenever it holds; ``None`` if that is not always so."""
    if not isinstance(node, AllOf | AnyOf):
        return Counter({source_of(node): node.weight})
    parts = [_fixed(child) for child in node.children]
    if isinstance(node, AllOf):
        total: Counter[Attribute] = Counter()
        for part in parts:
            if part is None:
                return None
            total.update(part)
        return total
    if any(part is None or part != parts[0] for part in parts):
        return None
    return parts[0] if parts else Counter()
