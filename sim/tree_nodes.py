"""What the matching trees are made of, and the way of an expression through them.

A bucket is a c-node together with its l-node and its p-directory:

    Bucket ── residents      the l-node: entries that belong no deeper
       ├───── halves         the two buckets it was split into at its cut, or None
       └───── partitions     the p-directory: p-nodes by attribute, oldest first
                └── Partition ── top    the outermost bucket of its c-directory

The root is a bucket of no attribute: it is never split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.gen.normal import Conjunction, Test
from penstock.sim.scoring import NO_WORTH, Worth


class Box(NamedTuple):
    """The places on an attribute's grid from ``low`` to ``high``, both included."""

    low: int
    high: int

    def encloses(self, other: Box) -> bool:
        return self.low <= other.low and other.high <= self.high


NOWHERE = Box(0, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One disjunct of an expression as the tree holds it; equal only to itself.

    ``boxes`` has, by attribute, the places outside which the conjunction cannot hold.
    """

    id: str
    part: int
    conjunction: Conjunction
    boxes: Mapping[int, Box]
    worth: Worth = NO_WORTH


@dataclass(slots=True, eq=False)
class Bucket:
    """A c-node: the entries whose boxes lie within ``box`` on the owner's attribute."""

    owner: Partition | None
    box: Box = NOWHERE
    residents: dict[Entry, None] = field(default_factory=dict)
    cut: int = 0
    """The last place of the lower half; without halves of no meaning."""
    halves: tuple[Bucket, Bucket] | None = None
    partitions: dict[int, Partition] = field(default_factory=dict)
    count: int = 0
    """Entries here and below."""
    worth: Worth = NO_WORTH
    """The most that an entry here or below is worth; only BE*-Tree keeps it."""
    clustered_count: int = 0
    """The count when it was last split; only BE*-Tree keeps it."""

    @property
    def is_open(self) -> bool:
        return not self.partitions

    @property
    def is_atomic(self) -> bool:
        return self.box.low == self.box.high

    @property
    def may_be_partitioned(self) -> bool:
        """The forced split rule: only where splitting is over, or impossible."""
        return self.owner is None or self.halves is not None or self.is_atomic

    def half_of(self, box: Box) -> Bucket | None:
        """The half on whose side of the cut the box lies, or ``None`` if it has both."""
        if self.halves is None:
            return None
        if box.high <= self.cut:
            return self.halves[0]
        return self.halves[1] if box.low > self.cut else None

    def children(self) -> Iterator[Bucket]:
        """The halves, and the top buckets of the partitions."""
        yield from self.halves or ()
        for partition in self.partitions.values():
            yield partition.top


@dataclass(slots=True, eq=False)
class Partition:
    """A p-node: the entries of ``bucket`` that have a box on ``attribute``."""

    attribute: int
    bucket: Bucket
    top: Bucket = field(init=False)


def box_of(test: Test) -> Box | None:
    """The hull of a test's values on the grid; ``None`` if it may hold for no value at all."""
    if test.values.null or not test.values.cuts:
        return None
    of = test.attribute.type
    stretches = test.values.stretches()
    first, beyond = stretches[0][0], stretches[-1][1]
    if beyond is None:
        return Box(of.grid(first), of.grid_bounds[1])
    # Strings below `beyond` can share its place: the grid sees only their first bytes.
    last = of.grid(beyond) if isinstance(beyond, str) else of.grid(beyond) - 1
    return Box(of.grid(first), last)


def hull(boxes: Iterable[Box]) -> Box:
    """The smallest box around all that are not empty."""
    known = [box for box in boxes if box != NOWHERE]
    if not known:
        return NOWHERE
    return Box(min(box.low for box in known), max(box.high for box in known))


def route(root: Bucket, entry: Entry) -> Iterator[Bucket]:
    """The buckets on an entry's way from the root to its home bucket, which is the last.

    The insertion rule: into a half while one encloses it, else under the oldest partition
    it has a box for, else it is at home. Lazy, so that a bucket may change as it is entered.
    """
    bucket: Bucket | None = root
    while bucket is not None:
        yield bucket
        inner = None
        if bucket.owner is not None:
            inner = bucket.half_of(entry.boxes[bucket.owner.attribute])
        if inner is None:
            tops = (p.top for a, p in bucket.partitions.items() if a in entry.boxes)
            inner = next(tops, None)
        bucket = inner


def walk(bucket: Bucket) -> Iterator[tuple[int, Bucket]]:
    """Every bucket from this one down, with its depth; a bucket before those in it."""
    pending = [(0, bucket)]
    while pending:
        depth, bucket = pending.pop()
        yield depth, bucket
        pending += [(depth + 1, child) for child in reversed(list(bucket.children()))]


def entries_in(bucket: Bucket) -> Iterator[Entry]:
    """Every entry here and below."""
    for _, inner in walk(bucket):
        yield from inner.residents


def own_entries(bucket: Bucket) -> Iterator[Entry]:
    """Entries that belong to the bucket and to neither half: residents and partitioned ones."""
    yield from bucket.residents
    for partition in bucket.partitions.values():
        yield from entries_in(partition.top)


def attributes_above(bucket: Bucket) -> list[int]:
    """The attributes used on the way to a bucket, the nearest first."""
    used = []
    while bucket.owner is not None:
        used.append(bucket.owner.attribute)
        bucket = bucket.owner.bucket
    return used
