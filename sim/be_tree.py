"""BE-Tree: Boolean expressions indexed by attribute, and by halving each attribute's domain."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.gen.schema import Schema
from penstock.sim.matching_tree import DEFAULT_LEAF_CAPACITY, MatchingTree
from penstock.sim.tree_check import where
from penstock.sim.tree_nodes import Box, Bucket, walk


class BETree(MatchingTree):
    """A BE-Tree: buckets are the cells of a grid, each half as wide as the one around it.

    What a p-node's clusters look like depends only on the expressions in it, not on the
    order in which they came.

    Parameters
    ----------
    schema : Schema
        The attributes that expressions and events may use.
    leaf_capacity : int
        How many conjunctions an l-node takes before it is split or partitioned.
    domains : mapping of int to (int, int)
        By attribute index the least and the greatest grid place to tell apart; places
        outside are taken to the nearest end. Saves levels, never changes an answer.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        leaf_capacity: int = DEFAULT_LEAF_CAPACITY,
        domains: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        super().__init__(schema, leaf_capacity=leaf_capacity)
        self._domains = [Box(*attribute.type.grid_bounds) for attribute in schema]
        for index, (low, high) in (domains or {}).items():
            if not 0 <= index < len(schema):
                raise ValueError(f"domains name attribute {index}, but there are {len(schema)}")
            if low > high:
                raise ValueError(f"the domain of attribute {index} is empty: {low} > {high}")
            self._domains[index] = Box(low, high)

    def check(self) -> None:
        super().check()
        for _, bucket in walk(self._root):
            if bucket.owner is None or bucket.halves is None:
                continue
            cells = self._cut(bucket)
            assert (bucket.cut, *(half.box for half in bucket.halves)) == cells, (
                f"{where(bucket)}: its halves are not the halves of its cell"
            )
        for partition in (p for _, b in walk(self._root) for p in b.partitions.values()):
            assert partition.top.box == self._domains[partition.attribute], (
                f"{where(partition.top)}: a top bucket that is not the whole domain"
            )

    def _place(self, attribute: int, position: int) -> int:
        low, high = self._domains[attribute]
        return min(max(position, low), high)

    def _top_box(self, attribute: int) -> Box:
        return self._domains[attribute]

    def _cut(self, bucket: Bucket) -> tuple[int, Box, Box]:
        low, high = bucket.box
        middle = (low + high) // 2
        return middle, Box(low, middle), Box(middle + 1, high)
