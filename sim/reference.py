"""The models as devices: slow, plain and right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import pyarrow as pa

from penstock.gen.normal import Conjunction, Event, make_event
from penstock.gen.normalise import TooManyDisjuncts, disjuncts, normalise
from penstock.gen.queryset import PROGRESS_STEP, Progress, QuerySet
from penstock.gen.schema import Schema
from penstock.host.device import MATCHES, SCORED_MATCHES
from penstock.host.events import rows_of
from penstock.sim import oracle
from penstock.sim.be_star_tree import BEStarTree
from penstock.sim.be_tree import BETree

BATCH_EVENTS = 4096


class OracleDevice:
    """Evaluates every subscription on every event, as the definition says."""

    batch_events = BATCH_EVENTS

    def __init__(self, queries: QuerySet, progress: Progress | None = None) -> None:
        self._schema = queries.schema
        self._subscriptions = tuple(queries)

    def match(self, events: pa.RecordBatch) -> pa.Array:
        rows = rows_of(events, self._schema)
        return pa.array([oracle.matches(self._subscriptions, row) for row in rows], MATCHES)

    def top_k(self, events: pa.RecordBatch, k: int, weights: Mapping[int, int]) -> pa.Array:
        rows = rows_of(events, self._schema)
        best = [oracle.top_k(self._subscriptions, row, k, weights) for row in rows]
        return _scored(best)

    def counters(self) -> Mapping[str, int]:
        return {}

    def close(self) -> None:
        self._subscriptions = ()


class ReferenceDevice:
    """Matches with a BE-Tree, ranks with a BE*-Tree that is grown when first asked."""

    batch_events = BATCH_EVENTS

    def __init__(self, queries: QuerySet, progress: Progress | None = None) -> None:
        self._schema = queries.schema
        self._progress = progress
        self._conjunctions: dict[str, tuple[Conjunction, ...]] = {}
        self._bases: dict[str, int] = {}
        for done, subscription in enumerate(queries):
            if progress and done % PROGRESS_STEP == 0:
                progress("normalising subscriptions", done, len(queries))
            try:
                spread = disjuncts(normalise(subscription.condition))
            except TooManyDisjuncts as error:
                error.args = (f"subscription {subscription.id!r}: {error}",)
                raise
            self._conjunctions[subscription.id] = spread
            self._bases[subscription.id] = subscription.weight
        self._tree = BETree(self._schema, domains=domains_of(self._schema, self._conjunctions))
        for id, conjunctions in self._growing():
            self._tree.insert(id, conjunctions)

    @cached_property
    def _ranking_tree(self) -> BEStarTree:
        tree = BEStarTree(self._schema)
        for id, conjunctions in self._growing():
            tree.insert(id, conjunctions, base=self._bases[id])
        return tree

    def match(self, events: pa.RecordBatch) -> pa.Array:
        return pa.array([self._tree.match(event) for event in self._events(events)], MATCHES)

    def top_k(self, events: pa.RecordBatch, k: int, weights: Mapping[int, int]) -> pa.Array:
        tree = self._ranking_tree
        best = [tree.top_k(event, k, weights=weights) for event in self._events(events)]
        return _scored(best)

    def counters(self) -> Mapping[str, int]:
        return {}

    def close(self) -> None:
        self._conjunctions = {}

    def _growing(self) -> Iterator[tuple[str, tuple[Conjunction, ...]]]:
        """What goes into a tree, with progress."""
        for done, item in enumerate(self._conjunctions.items()):
            if self._progress and done % PROGRESS_STEP == 0:
                self._progress("growing the tree", done, len(self._conjunctions))
            yield item

    def _events(self, events: pa.RecordBatch) -> list[Event]:
        rows = rows_of(events, self._schema)
        return [make_event(row, self._schema.attributes) for row in rows]


def domains_of(
    schema: Schema, conjunctions: Mapping[str, tuple[Conjunction, ...]]
) -> dict[int, tuple[int, int]]:
    """The stretch of each attribute's grid that holds its constants: where halving pays."""
    domains: dict[int, tuple[int, int]] = {}
    tests = (test for spread in conjunctions.values() for c in spread for test in c.tests)
    for test in tests:
        of = test.attribute.type
        places = [of.grid(cut) for cut in test.values.cuts if cut != of.lowest]
        if places:
            low, high = domains.get(test.attribute.index, (places[0], places[0]))
            domains[test.attribute.index] = (min(low, *places), max(high, *places))
    return domains


def _scored(best: list[list[tuple[str, int]]]) -> pa.Array:
    return pa.array(
        [[{"id": id, "score": score} for id, score in found] for found in best], SCORED_MATCHES
    )
