"""The part that BE-Tree and BE*-Tree share: three rules, and matching.

The trees differ in where a bucket is cut and in what it covers; see `be_tree` and
`be_star_tree`. All loops are over work lists: a tree is as deep as its grid is fine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from penstock.gen.normal import Conjunction, Event, attributes_of, holds
from penstock.gen.schema import Schema
from penstock.sim.scoring import worth_of
from penstock.sim.tree_check import check_tree
from penstock.sim.tree_nodes import (
    Box,
    Bucket,
    Entry,
    Partition,
    attributes_above,
    box_of,
    entries_in,
    route,
)
from penstock.sim.tree_view import Statistics, measure, outline

DEFAULT_LEAF_CAPACITY = 16


class MatchingTree(ABC):
    """Standing expressions, each a disjunction of conjunctions under one id."""

    def __init__(self, schema: Schema, *, leaf_capacity: int = DEFAULT_LEAF_CAPACITY) -> None:
        if leaf_capacity < 1:
            raise ValueError(f"leaf_capacity must be at least 1, not {leaf_capacity!r}")
        self.schema = schema
        self.leaf_capacity = leaf_capacity
        self._root = Bucket(owner=None)
        self._entries: dict[str, tuple[Entry, ...]] = {}
        self._events = 0
        self._checked = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, id: object) -> bool:
        return id in self._entries

    def insert(self, id: str, conjunctions: Sequence[Conjunction]) -> None:
        """Add an expression that holds when any of the conjunctions does."""
        self._insert(id, conjunctions, base=0)

    def delete(self, id: str) -> None:
        """Take an expression out again."""
        if id not in self._entries:
            raise KeyError(f"no expression {id!r} in the tree")
        for entry in self._entries.pop(id):
            self._remove(entry)

    def match(self, event: Event) -> list[str]:
        """The ids of the expressions that hold for the event, in order."""
        self._events += 1
        places = self._places(event)
        found: set[str] = set()
        pending = [self._root]
        while pending:
            bucket = pending.pop()
            for entry in bucket.residents:
                if entry.id not in found and self._holds(entry, event):
                    found.add(entry.id)
            pending += self._reached(bucket, places)
        return sorted(found)

    def statistics(self) -> Statistics:
        """How large the tree is, and how much of it events have met so far."""
        return measure(
            self._root,
            expressions=len(self._entries),
            leaf_capacity=self.leaf_capacity,
            events=self._events,
            checked=self._checked,
        )

    def outline(self) -> str:
        """The tree as indented text: equal for trees of equal structure."""
        return outline(self._root, self.schema)

    def check(self) -> None:
        """Walk the whole tree; AssertionError if it is not as the rules leave it."""
        entries = [entry for parts in self._entries.values() for entry in parts]
        check_tree(self._root, entries, self.leaf_capacity)

    @abstractmethod
    def _top_box(self, attribute: int) -> Box:
        """What the outermost bucket of an attribute's c-directory covers while empty."""

    @abstractmethod
    def _cut(self, bucket: Bucket) -> tuple[int, Box, Box]:
        """Where to cut a bucket that overflows, and what its halves cover while empty."""

    def _place(self, attribute: int, position: int) -> int:
        """Where on the tree's grid a position of the type's grid lies; must be monotone."""
        return position

    def _places(self, event: Event) -> dict[int, int]:
        attributes = self.schema.attributes
        return {
            index: self._place(index, attributes[index].type.grid(key))
            for index, key in event.keys.items()
        }

    def _holds(self, entry: Entry, event: Event) -> bool:
        self._checked += 1
        return all(holds(leaf, event) for leaf in entry.conjunction.leaves)

    def _reached(self, bucket: Bucket, places: dict[int, int]) -> list[Bucket]:
        """The buckets directly below that cover the event's place."""
        reached = []
        for child in bucket.children():
            assert child.owner is not None, "a root below another bucket"
            place = places.get(child.owner.attribute)
            if place is not None and child.box.low <= place <= child.box.high:
                reached.append(child)
        return reached

    def _insert(self, id: str, conjunctions: Sequence[Conjunction], base: int) -> None:
        if id in self._entries:
            raise ValueError(f"expression {id!r} is in the tree already; delete it first")
        entries = tuple(
            self._entry(id, part, conjunction, base)
            for part, conjunction in enumerate(conjunctions)
        )
        self._entries[id] = entries
        for entry in entries:
            self._add(entry)

    def _entry(self, id: str, part: int, conjunction: Conjunction, base: int) -> Entry:
        known = self.schema.attributes
        for leaf in conjunction.leaves:
            if leaf.weight < 0:
                raise ValueError(f"expression {id!r} has a negative weight: {leaf}")
            for a in attributes_of(leaf):
                if a.index >= len(known) or known[a.index] != a:
                    raise ValueError(f"expression {id!r} tests {a!r}, which is not in the schema")
        boxes = {}
        for test in conjunction.tests:
            box, index = box_of(test), test.attribute.index
            if box is not None:
                boxes[index] = Box(self._place(index, box.low), self._place(index, box.high))
        return Entry(id, part, conjunction, boxes, worth_of(conjunction, base))

    def _add(self, entry: Entry) -> list[Bucket]:
        """Insertion rule: the entry goes to its home bucket. Returns the way there."""
        path = []
        for bucket in route(self._root, entry):
            self._admit(bucket, entry)
            path.append(bucket)
        path[-1].residents[entry] = None
        self._relieve(path[-1])
        return path

    def _remove(self, entry: Entry) -> None:
        """Undo `_add`, then tidy from the home bucket outwards."""
        path = list(route(self._root, entry))
        del path[-1].residents[entry]
        for bucket in reversed(path):
            self._dismiss(bucket, entry)
            emptied = [a for a, p in bucket.partitions.items() if not p.top.count]
            for attribute in emptied:
                del bucket.partitions[attribute]
            self._merge(bucket)

    def _admit(self, bucket: Bucket, entry: Entry) -> None:
        """Account for an entry that comes to be in the bucket or below it."""
        bucket.count += 1

    def _dismiss(self, bucket: Bucket, entry: Entry) -> None:
        """Account for an entry that has left the bucket or what is below it."""
        bucket.count -= 1

    def _relieve(self, bucket: Bucket) -> None:
        """Forced split rule: where an l-node overflows, split; partition only after that."""
        crowded = [bucket]
        while crowded:
            bucket = crowded.pop()
            if len(bucket.residents) <= self.leaf_capacity:
                continue
            if bucket.may_be_partitioned:
                crowded += self._partition(bucket)
            else:
                crowded += self._split(bucket)

    def _split(self, bucket: Bucket) -> tuple[Bucket, ...]:
        """Cut a bucket in two; what lies on both sides of the cut stays. Returns all three."""
        assert bucket.owner is not None
        assert bucket.is_open and bucket.halves is None, "a cascading split"
        bucket.cut, low, high = self._cut(bucket)
        bucket.halves = (Bucket(bucket.owner, low), Bucket(bucket.owner, high))
        for entry in list(bucket.residents):
            half = bucket.half_of(entry.boxes[bucket.owner.attribute])
            if half is not None:
                self._settle(entry, bucket, half)
        return bucket, *bucket.halves

    def _partition(self, bucket: Bucket) -> tuple[Bucket, ...]:
        """Move the residents that have the best attribute under a new p-node, if there is one."""
        attribute = best_attribute(bucket)
        if attribute is None:
            return ()
        partition = Partition(attribute, bucket)
        partition.top = Bucket(partition, self._top_box(attribute))
        bucket.partitions[attribute] = partition
        movers = [entry for entry in bucket.residents if attribute in entry.boxes]
        for entry in movers:
            self._settle(entry, bucket, partition.top)
        return bucket, partition.top

    def _settle(self, entry: Entry, source: Bucket, target: Bucket) -> None:
        del source.residents[entry]
        target.residents[entry] = None
        self._admit(target, entry)

    def _merge(self, bucket: Bucket) -> None:
        """Merge rule: leaf halves that fit into their parent's l-node go there if it is open."""
        if bucket.halves is None or not bucket.is_open or bucket.count > self.leaf_capacity:
            return
        if all(half.halves is None and half.is_open for half in bucket.halves):
            bucket.residents = dict.fromkeys(entries_in(bucket))
            bucket.halves = None


def best_attribute(bucket: Bucket) -> int | None:
    """The unused attribute that spares events most: see `spared`. Ties: lower index."""
    used = set(attributes_above(bucket)) | bucket.partitions.keys()
    boxes: dict[int, list[Box]] = {}
    for entry in bucket.residents:
        for attribute, box in entry.boxes.items():
            if attribute not in used:
                boxes.setdefault(attribute, []).append(box)
    ranks = ((spared(found), len(found), -attribute) for attribute, found in boxes.items())
    best = max(ranks, default=None)
    return None if best is None else -best[2]


def spared(boxes: Sequence[Box]) -> int:
    """How many boxes no single place meets, at best: all less the most that overlap."""
    steps = sorted([(box.low, 0) for box in boxes] + [(box.high, 1) for box in boxes])
    most = inside = 0
    for _, leaves in steps:  # at one place, boxes begin before others end
        inside += -1 if leaves else 1
        most = max(most, inside)
    return len(boxes) - most
