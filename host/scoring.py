"""What matches are worth, worked out by the host."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa

from penstock.gen.expr import Subscription
from penstock.gen.language.script import parse_subscription
from penstock.gen.manifest import Manifest
from penstock.gen.normal import AllOf, AnyOf, Event, Normal, holds, make_event
from penstock.gen.normalise import normalise
from penstock.gen.scores import NOTHING, Score, score_of, source_of
from penstock.host.decode import Integers
from penstock.host.events import rows_of


class Scoring:
    """The scores of subscriptions: most are the same for every match, the others it evaluates."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._scores = dict(manifest.scores)
        self._added: dict[str, Normal] = {}
        """The conditions that came later and whose scores depend on the event."""

    def add(self, subscription: Subscription) -> None:
        """Take in a subscription, in place of any other of the same id."""
        id, condition = subscription.id, normalise(subscription.condition)
        self._scores[id] = score_of(condition, subscription.weight)
        if self._scores[id].weights is None:
            self._added[id] = condition

    def remove(self, id: str) -> None:
        """Forget a subscription, built in or added."""
        self._scores.pop(id, None)
        self._added.pop(id, None)

    def scores(
        self,
        events: pa.RecordBatch,
        numbers: Integers,
        places: Integers,
        ids: pa.Array,
        weights: Mapping[int, int],
    ) -> Integers:
        """The score of each match: the event of that number, the subscription of that place.

        ValueError if one does not fit 64 bits.
        """
        try:
            return self._worked_out(events, numbers, places, ids, weights)
        except OverflowError:
            raise ValueError("with these weights, scores exceed 64 bits; give lower ones") from None

    def _worked_out(
        self,
        events: pa.RecordBatch,
        numbers: Integers,
        places: Integers,
        ids: pa.Array,
        weights: Mapping[int, int],
    ) -> Integers:
        distinct, which = np.unique(places, return_inverse=True)
        names = ids.take(pa.array(distinct)).to_pylist()
        known = [self._scores.get(id, NOTHING) for id in names]
        fixed = np.array([_fixed(score, weights) for score in known], dtype=np.int64)
        scores: Integers = fixed[which]
        varies = np.array([score.weights is None for score in known], dtype=bool)[which]
        if varies.any():
            rows = rows_of(events, self._manifest.schema)
            for index in np.flatnonzero(varies).tolist():
                event = make_event(rows[numbers[index]], self._manifest.schema.attributes)
                more = earned(self._condition(names[which[index]]), event, weights)
                assert more is not None, "what is scored does not match"
                scores[index] = int(scores[index]) + more
        return scores

    def _condition(self, id: str) -> Normal:
        return self._added[id] if id in self._added else self._built[id]

    @cached_property
    def _built(self) -> dict[str, Normal]:
        """The conditions that were built in and whose scores depend on the event."""
        return {
            id: normalise(parse_subscription(id, text, self._manifest.schema, id).condition)
            for id, text in self._manifest.varying.items()
        }


def earned(node: Normal, event: Event, weights: Mapping[int, int]) -> int | None:
    """What a condition earns without its base where it holds, else ``None``.

    AND adds up what its children earn, OR takes the best of those that hold. ``weights`` gives
    attributes, by index, a weight other than 1.
    """
    match node:
        case AllOf(children):
            parts = [earned(child, event, weights) for child in children]
            return None if None in parts else sum(part or 0 for part in parts)
        case AnyOf(children):
            parts = [earned(child, event, weights) for child in children]
            return max((part for part in parts if part is not None), default=None)
    if not holds(node, event):
        return None
    return node.weight * weights.get(source_of(node).index, 1)


def _fixed(score: Score, weights: Mapping[int, int]) -> int:
    """What a match is worth whatever the event."""
    terms = score.weights or ()
    return score.base + sum(weight * weights.get(a.index, 1) for a, weight in terms)
