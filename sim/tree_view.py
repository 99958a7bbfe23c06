"""A matching tree in numbers and as text."""

from __future__ import annotations

from dataclasses import dataclass, fields

from penstock.gen.schema import Schema
from penstock.sim.tree_nodes import NOWHERE, Bucket, walk


@dataclass(frozen=True, slots=True)
class Statistics:
    """The size of a matching tree and the work it has done; print it for a table."""

    expressions: int
    conjunctions: int
    p_nodes: int
    c_nodes: int
    """Buckets other than the root; halves that hold nothing count too."""
    l_nodes: int
    """Those that hold anything, the root's included."""
    depth: int
    """Buckets on the longest way down, the root not counted."""
    largest_l_node: int
    overflowing_l_nodes: int
    """Over capacity because nothing is left to split or to partition on."""
    events: int
    """Events matched or ranked since the tree was made."""
    checked: int
    """Conjunctions that were tested for them, one by one."""

    def __str__(self) -> str:
        rows = ((field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self))
        return "\n".join(f"{label:<20}{number:>10,}" for label, number in rows)


def measure(
    root: Bucket, *, expressions: int, leaf_capacity: int, events: int, checked: int
) -> Statistics:
    """The statistics of the tree below a root."""
    buckets = list(walk(root))
    sizes = [len(bucket.residents) for _, bucket in buckets]
    return Statistics(
        expressions=expressions,
        conjunctions=root.count,
        p_nodes=sum(len(bucket.partitions) for _, bucket in buckets),
        c_nodes=len(buckets) - 1,
        l_nodes=sum(size > 0 for size in sizes),
        depth=max(depth for depth, _ in buckets),
        largest_l_node=max(sizes),
        overflowing_l_nodes=sum(size > leaf_capacity for size in sizes),
        events=events,
        checked=checked,
    )


def outline(root: Bucket, schema: Schema) -> str:
    """One line per bucket, indented by depth: its range, then the entries of its l-node."""
    lines = []
    for depth, bucket in walk(root):
        residents = sorted((entry.id, entry.part) for entry in bucket.residents)
        held = ", ".join(f"{id}/{part}" for id, part in residents)
        lines.append(f"{'  ' * depth}{_label(bucket, schema)}: {held}".rstrip())
    return "\n".join(lines)


def _label(bucket: Bucket, schema: Schema) -> str:
    if bucket.owner is None:
        return "root"
    places = "nowhere" if bucket.box == NOWHERE else f"[{bucket.box.low}, {bucket.box.high}]"
    return f"{schema.attributes[bucket.owner.attribute].name} {places}"
