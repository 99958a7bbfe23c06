"""The invariant of the matching trees, checked by walking one.

Every expression sits in the smallest bucket that encloses it, and a bucket that is not
atomic is split before it is partitioned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from penstock.sim.tree_nodes import (
    NOWHERE,
    Bucket,
    Entry,
    attributes_above,
    entries_in,
    own_entries,
    route,
    walk,
)


def check_tree(root: Bucket, entries: Sequence[Entry], leaf_capacity: int) -> None:
    """AssertionError, saying where, if a rule is broken; ``entries`` is what was inserted."""
    found = Counter(entries_in(root))
    for entry in entries:
        assert found[entry] == 1, f"{name(entry)} is in the tree {found[entry]} times, not once"
    assert len(found) == len(entries), "the tree holds entries that were deleted"
    assert root.owner is None and root.halves is None, "the root was split"
    for _, bucket in walk(root):
        _check_places(bucket)
        _check_homes(root, bucket)
        _check_forced_split(bucket, leaf_capacity)
        _check_merge(bucket, leaf_capacity)


def name(entry: Entry) -> str:
    return f"{entry.id!r}, disjunct {entry.part}"


def where(bucket: Bucket) -> str:
    """A bucket for messages: attribute and box, outermost first."""
    if bucket.owner is None:
        return "root"
    box = "empty" if bucket.box == NOWHERE else f"{bucket.box.low}..{bucket.box.high}"
    return f"{where(bucket.owner.bucket)} > attribute {bucket.owner.attribute} in {box}"


def _check_places(bucket: Bucket) -> None:
    """Counts, owners, and that halves lie within their bucket and apart."""
    count = len(bucket.residents) + sum(child.count for child in bucket.children())
    assert bucket.count == count, f"{where(bucket)}: counts {bucket.count}, holds {count}"
    path = attributes_above(bucket)
    assert len(set(path)) == len(path), f"{where(bucket)}: an attribute is used twice"
    for attribute, partition in bucket.partitions.items():
        place = f"{where(bucket)}: partition on {attribute}"
        assert partition.attribute == attribute and partition.bucket is bucket, f"{place} is lost"
        assert partition.top.owner is partition, f"{place} does not own its top bucket"
        assert partition.top.count, f"{place} is empty"
    if bucket.halves is None:
        return
    low, high = bucket.halves
    for half in bucket.halves:
        assert half.owner is bucket.owner, f"{where(half)}: a half of another partition's bucket"
        if half.box != NOWHERE:
            assert bucket.box.encloses(half.box), f"{where(half)}: reaches out of {bucket.box}"
    assert low.box == NOWHERE or low.box.high <= bucket.cut, f"{where(low)}: crosses the cut"
    assert high.box == NOWHERE or high.box.low > bucket.cut, f"{where(high)}: crosses the cut"


def _check_homes(root: Bucket, bucket: Bucket) -> None:
    """The insertion rule, and that an entry's way leads to where it is."""
    for entry in bucket.residents:
        *_, home = route(root, entry)
        assert home is bucket, (
            f"{name(entry)} is in {where(bucket)}, but its way ends at {where(home)}"
        )
    if bucket.owner is None:
        return
    for entry in own_entries(bucket):
        box = entry.boxes[bucket.owner.attribute]
        assert bucket.box.encloses(box), f"{where(bucket)} does not enclose {name(entry)}, {box}"
        for half in bucket.halves or ():
            assert not half.box.encloses(box), (
                f"{name(entry)} is in {where(bucket)}; the smaller {half.box} encloses {box}"
            )


def _check_forced_split(bucket: Bucket, leaf_capacity: int) -> None:
    if bucket.partitions:
        assert bucket.may_be_partitioned, f"{where(bucket)}: partitioned but never split"
    if len(bucket.residents) <= leaf_capacity:
        return
    over = f"{where(bucket)}: {len(bucket.residents)} entries overflow {leaf_capacity}"
    assert bucket.may_be_partitioned, f"{over}, and it could be split"
    used = {*attributes_above(bucket), *bucket.partitions}
    for entry in bucket.residents:
        assert entry.boxes.keys() <= used, f"{over}, and {name(entry)} could be partitioned away"


def _check_merge(bucket: Bucket, leaf_capacity: int) -> None:
    if bucket.halves is None or not bucket.is_open:
        return
    if all(half.halves is None and half.is_open for half in bucket.halves):
        assert bucket.count > leaf_capacity, (
            f"{where(bucket)}: {bucket.count} entries fit one l-node, yet the halves remain"
        )
