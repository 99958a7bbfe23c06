"""The models as devices: slow, plain and right."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from penstock.gen.expr import Subscription
from penstock.gen.normal import Conjunction, Event, make_event
from penstock.gen.normalise import TooManyDisjuncts, disjuncts, normalise
from penstock.gen.queryset import PROGRESS_STEP, Progress, QuerySet
from penstock.gen.schema import Schema
from penstock.host.answers import restricted
from penstock.host.device import MATCHES, SCORED_MATCHES
from penstock.host.events import Batch, rows_of
from penstock.sim import oracle
from penstock.sim.be_star_tree import BEStarTree
from penstock.sim.be_tree import BETree

BATCH_EVENTS = 4096


class OracleDevice:
    """Evaluates every subscription on every event, as the definition says."""

    batch_events = BATCH_EVENTS

    def __init__(self, queries: QuerySet, progress: Progress | None = None) -> None:
        self._schema = queries.schema
        self._subscriptions: dict[str, Subscription] = {}
        self.add(queries)

    def match(self, events: Batch, only: pa.Array | None = None) -> pa.Array:
        rows, asked = rows_of(events.wide(), self._schema), self._asked(only)
        return pa.array([oracle.matches(asked, row) for row in rows], MATCHES)

    def top_k(
        self, events: Batch, k: int, weights: Mapping[int, int], only: pa.Array | None = None
    ) -> pa.Array:
        rows, asked = rows_of(events.wide(), self._schema), self._asked(only)
        return _scored([oracle.top_k(asked, row, k, weights) for row in rows])

    def add(self, queries: QuerySet) -> None:
        added = {subscription.id: subscription for subscription in queries}
        _check_new(added, self._subscriptions)
        self._subscriptions |= added

    def remove(self, ids: Sequence[str]) -> None:
        _check_known(ids, self._subscriptions)
        for id in ids:
            del self._subscriptions[id]

    def where(self, id: str) -> str:
        _check_known([id], self._subscriptions)
        return "list"

    def counters(self) -> Mapping[str, int]:
        return {}

    def stats(self) -> Mapping[str, int]:
        return {"list": len(self._subscriptions)}

    def close(self) -> None:
        self._subscriptions = {}

    def _asked(self, only: pa.Array | None) -> list[Subscription]:
        if only is None:
            return list(self._subscriptions.values())
        return [self._subscriptions[id] for id in only.to_pylist() if id in self._subscriptions]


class ReferenceDevice:
    """Matches with a BE-Tree, ranks with a BE*-Tree that is grown when first asked."""

    batch_events = BATCH_EVENTS

    def __init__(self, queries: QuerySet, progress: Progress | None = None) -> None:
        self._schema = queries.schema
        self._progress = progress
        self._conjunctions = _spread(queries, progress)
        self._bases = {subscription.id: subscription.weight for subscription in queries}
        self._tree = BETree(self._schema, domains=domains_of(self._schema, self._conjunctions))
        for id, conjunctions in self._growing():
            self._tree.insert(id, conjunctions)
        self._ranking: BEStarTree | None = None

    def match(self, events: Batch, only: pa.Array | None = None) -> pa.Array:
        found = pa.array([self._tree.match(event) for event in self._events(events)], MATCHES)
        return found if only is None else restricted(found, only)

    def top_k(
        self, events: Batch, k: int, weights: Mapping[int, int], only: pa.Array | None = None
    ) -> pa.Array:
        tree = self._grown_ranking()
        if only is None:
            best = [tree.top_k(event, k, weights=weights) for event in self._events(events)]
            return _scored(best)
        asked = set(only.to_pylist())
        ranked = (tree.top_k(event, len(tree), weights=weights) for event in self._events(events))
        return _scored([[match for match in found if match[0] in asked][:k] for found in ranked])

    def add(self, queries: QuerySet) -> None:
        added = _spread(queries, None)
        _check_new(added, self._conjunctions)
        self._conjunctions |= added
        self._bases |= {subscription.id: subscription.weight for subscription in queries}
        for id, conjunctions in added.items():
            self._tree.insert(id, conjunctions)
            if self._ranking is not None:
                self._ranking.insert(id, conjunctions, base=self._bases[id])

    def remove(self, ids: Sequence[str]) -> None:
        _check_known(ids, self._conjunctions)
        for id in ids:
            del self._conjunctions[id], self._bases[id]
            self._tree.delete(id)
            if self._ranking is not None:
                self._ranking.delete(id)

    def where(self, id: str) -> str:
        _check_known([id], self._conjunctions)
        return "tree"

    def counters(self) -> Mapping[str, int]:
        return {}

    def stats(self) -> Mapping[str, int]:
        return {"tree": len(self._conjunctions)}

    def close(self) -> None:
        self._conjunctions = {}

    def _grown_ranking(self) -> BEStarTree:
        if self._ranking is None:
            self._ranking = BEStarTree(self._schema)
            for id, conjunctions in self._growing():
                self._ranking.insert(id, conjunctions, base=self._bases[id])
        return self._ranking

    def _growing(self) -> Iterator[tuple[str, tuple[Conjunction, ...]]]:
        """What goes into a tree, with progress."""
        for done, item in enumerate(self._conjunctions.items()):
            if self._progress and done % PROGRESS_STEP == 0:
                self._progress("growing the tree", done, len(self._conjunctions))
            yield item

    def _events(self, events: Batch) -> list[Event]:
        rows = rows_of(events.wide(), self._schema)
        return [make_event(row, self._schema.attributes) for row in rows]


def _spread(queries: QuerySet, progress: Progress | None) -> dict[str, tuple[Conjunction, ...]]:
    """By id, the conjunctions of which one must hold."""
    spread: dict[str, tuple[Conjunction, ...]] = {}
    for done, subscription in enumerate(queries):
        if progress and done % PROGRESS_STEP == 0:
            progress("normalising subscriptions", done, len(queries))
        try:
            spread[subscription.id] = disjuncts(normalise(subscription.condition))
        except TooManyDisjuncts as error:
            error.args = (f"subscription {subscription.id!r}: {error}",)
            raise
    return spread


def _check_new(ids: Iterable[str], known: Container[str]) -> None:
    double = next((id for id in ids if id in known), None)
    if double is not None:
        raise ValueError(f"subscription {double!r} is on the device already")


def _check_known(ids: Iterable[str], known: Container[str]) -> None:
    unknown = next((id for id in ids if id not in known), None)
    if unknown is not None:
        raise KeyError(f"no subscription {unknown!r} on the device")


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
