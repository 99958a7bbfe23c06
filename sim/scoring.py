"""What a conjunction is worth to an event, and the most that a group of them can be.

A score is made of parts: one per leaf of positive weight, and the base weight of the
subscription. A group keeps, per attribute, the greatest weights found in it; the score made
of those is at least the score of every conjunction in the group, if the score is monotone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Protocol, TypeAlias

from penstock.gen.normal import Conjunction, Event, Leaf, Pair, Test

Source: TypeAlias = tuple[int, bool]
"""Where weight comes from: an attribute's index, and whether only its presence earns it."""


class Score(Protocol):
    """How weights become a score. It must be monotone, or `top_k` may miss the best:

    - ``leaf`` does not fall when ``weight`` grows;
    - ``combine`` does not fall when ``base`` or a part grows, nor when a part is added,
      and does not look at the order of the parts.

    Leaves of weight 0 make no part, so that a group need not remember them.
    """

    def leaf(self, weight: int, event_weight: int) -> int:
        """The part of one leaf, given the event's weight of its attribute."""

    def combine(self, base: int, parts: Iterable[int]) -> int:
        """The score of a conjunction from its base weight and its parts."""


class WeightedSum:
    """The base, and each leaf's weight times the event's: ``base + sum(weight * event weight)``."""

    def leaf(self, weight: int, event_weight: int) -> int:
        return weight * event_weight

    def combine(self, base: int, parts: Iterable[int]) -> int:
        return base + sum(parts)


@dataclass(frozen=True, slots=True)
class Worth:
    """Base weight and leaf weights of one conjunction, or an upper limit of several.

    One attribute can earn more than once in a conjunction (a test and a pattern, say), so
    each source has its weights in falling order; a limit is taken place by place.
    """

    base: int = 0
    weights: Mapping[Source, tuple[int, ...]] = field(default_factory=dict)

    def score(self, event: Event, event_weights: Mapping[int, int], score: Score) -> int:
        """The score for an event; of a conjunction that holds exact, of a limit a limit."""
        return score.combine(self.base, self._parts(event, event_weights, score))

    def _parts(self, event: Event, event_weights: Mapping[int, int], score: Score) -> Iterator[int]:
        for (attribute, needs_value), weights in self.weights.items():
            if needs_value and attribute not in event.keys:
                continue  # no such leaf can hold
            event_weight = event_weights.get(attribute, 1)
            for weight in weights:
                yield score.leaf(weight, event_weight)


NO_WORTH = Worth()


def worth_of(conjunction: Conjunction, base: int) -> Worth:
    """The worth of one conjunction, exactly."""
    weights: dict[Source, list[int]] = {}
    for leaf in conjunction.leaves:
        if leaf.weight:
            weights.setdefault(_source(leaf), []).append(leaf.weight)
    falling = {source: tuple(sorted(found, reverse=True)) for source, found in weights.items()}
    return Worth(base, falling)


def upper_limit(worths: Iterable[Worth]) -> Worth:
    """The least worth that is nowhere below any of the given ones."""
    base = 0
    weights: dict[Source, tuple[int, ...]] = {}
    for worth in worths:
        base = max(base, worth.base)
        for source, found in worth.weights.items():
            known = weights.get(source, ())
            weights[source] = tuple(max(pair) for pair in zip_longest(known, found, fillvalue=0))
    return Worth(base, weights)


def _source(leaf: Leaf) -> Source:
    """A pair earns the weight of its left attribute, the one with the lower index."""
    if isinstance(leaf, Pair):
        return leaf.left.index, leaf.op not in ("<=>", "NOT <=>")
    return leaf.attribute.index, not (isinstance(leaf, Test) and leaf.values.null)
