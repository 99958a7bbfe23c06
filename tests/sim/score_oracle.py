"""Scores by the plain road: score every expression that holds, and sort."""

from tree_strategies import matches

from penstock.gen.normal import Pair
from penstock.sim.scoring import WeightedSum


class Strongest:
    """Another monotone score: the base, and twice the strongest leaf."""

    def leaf(self, weight, event_weight):
        return weight + event_weight

    def combine(self, base, parts):
        return base + 2 * max(parts, default=0)


def attribute_of(leaf):
    return leaf.left if isinstance(leaf, Pair) else leaf.attribute


def weighted_sum(conjunction, base, weights):
    return base + sum(
        leaf.weight * weights.get(attribute_of(leaf).index, 1) for leaf in conjunction.leaves
    )


def strongest(conjunction, base, weights):
    parts = [
        leaf.weight + weights.get(attribute_of(leaf).index, 1)
        for leaf in conjunction.leaves
        if leaf.weight
    ]
    return base + 2 * max(parts, default=0)


SCORES = [(WeightedSum(), weighted_sum), (Strongest(), strongest)]


def ranking(held, event, weights, scored):
    """Every expression that holds with its score, in the order of `top_k`."""
    scores = {
        id: max(
            (scored(part, base, weights) for part in parts if matches(part, event)), default=None
        )
        for id, (parts, base) in held.items()
    }
    known = [(id, score) for id, score in scores.items() if score is not None]
    return sorted(known, key=lambda pair: (-pair[1], pair[0]))
