"""BE*-Tree: buckets that follow the expressions, and the k best by score."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from itertools import count

from penstock.gen.normal import Conjunction, Event
from penstock.sim.matching_tree import MatchingTree
from penstock.sim.scoring import NO_WORTH, Score, WeightedSum, upper_limit
from penstock.sim.tree_check import where
from penstock.sim.tree_nodes import NOWHERE, Box, Bucket, Entry, entries_in, hull, own_entries, walk

WEIGHTED_SUM = WeightedSum()


class BEStarTree(MatchingTree):
    """A BE*-Tree: a bucket covers what its expressions cover and no more.

    From the top down, a bucket that overflows is cut where its expressions part best; what
    lies across the cut stays. From the bottom up, boxes widen as expressions come and
    shrink as they go, an atomic bucket that others join becomes half of a new one around
    it, and a bucket whose halves have grown lopsided is clustered anew. The halves of a
    bucket never overlap.

    Parameters
    ----------
    schema : Schema
        The attributes that expressions and events may use.
    leaf_capacity : int
        How many conjunctions an l-node takes before it is split or partitioned.
    """

    def insert(self, id: str, conjunctions: Sequence[Conjunction], base: int = 0) -> None:
        """Add an expression that holds when any of the conjunctions does.

        ``base`` is added to its score by default; it must not be negative.
        """
        if base < 0:
            raise ValueError(f"expression {id!r} has a negative base weight: {base}")
        self._insert(id, conjunctions, base)

    def top_k(
        self,
        event: Event,
        k: int,
        *,
        weights: Mapping[int, int] | None = None,
        score: Score = WEIGHTED_SUM,
    ) -> list[tuple[str, int]]:
        """The k expressions that hold with the best scores, best first; ties by id.

        ``weights`` has the event's weight by attribute index, 1 where it has none. The score
        of an expression is that of its best conjunction that holds.
        """
        weights = weights or {}
        if k < 0 or any(weight < 0 for weight in weights.values()):
            raise ValueError(f"k and weights must not be negative: k={k}, weights={weights}")
        self._events += 1
        places = self._places(event)
        serial = count()  # keeps the heap from comparing buckets
        best: dict[str, int] = {}

        # Buckets wait with an upper bound, conjunctions with their score; of equal ones
        # buckets go first, so whatever ties with a conjunction is out before it.
        waiting: list[tuple[int, str, int, Bucket | Entry]] = [(0, "", 0, self._root)]
        while waiting and len(best) < k:
            above, _, _, node = heappop(waiting)
            if isinstance(node, Entry):
                if node.id not in best and self._holds(node, event):
                    best[node.id] = -above
                continue
            for entry in node.residents:
                worth = entry.worth.score(event, weights, score)
                heappush(waiting, (-worth, "\0" + entry.id, next(serial), entry))
            for bucket in self._reached(node, places):
                bound = bucket.worth.score(event, weights, score)
                heappush(waiting, (-bound, "", next(serial), bucket))
        return list(best.items())

    def check(self) -> None:
        super().check()
        for _, bucket in walk(self._root):
            worth = upper_limit(entry.worth for entry in entries_in(bucket))
            assert bucket.worth == worth, (
                f"{where(bucket)}: keeps {bucket.worth}, the most below is {worth}"
            )
            if bucket.owner is None:
                continue
            attribute = bucket.owner.attribute
            box = hull(entry.boxes[attribute] for entry in entries_in(bucket))
            assert bucket.box == box, f"{where(bucket)}: its expressions cover {box}"
            if bucket.halves is not None and not any(own_entries(bucket)):
                assert all(half.count for half in bucket.halves), (
                    f"{where(bucket)}: is nothing but a wrapping of one half"
                )

    def _top_box(self, attribute: int) -> Box:
        return NOWHERE

    def _cut(self, bucket: Bucket) -> tuple[int, Box, Box]:
        assert bucket.owner is not None
        attribute = bucket.owner.attribute
        bucket.clustered_count = bucket.count
        boxes = [entry.boxes[attribute] for entry in bucket.residents]
        return best_cut(boxes, bucket.box), NOWHERE, NOWHERE

    def _add(self, entry: Entry) -> list[Bucket]:
        path = super()._add(entry)
        for bucket in path:
            if is_lopsided(bucket):
                self._cluster_anew(bucket)
                break
        return path

    def _admit(self, bucket: Bucket, entry: Entry) -> None:
        if bucket.owner is not None:
            box = entry.boxes[bucket.owner.attribute]
            if bucket.halves is None and bucket.partitions and box != bucket.box:
                _wrap(bucket, box)
            bucket.box = hull((bucket.box, box))
        bucket.worth = upper_limit((bucket.worth, entry.worth))
        super()._admit(bucket, entry)

    def _dismiss(self, bucket: Bucket, entry: Entry) -> None:
        super()._dismiss(bucket, entry)
        bucket.clustered_count = min(bucket.clustered_count, bucket.count)
        below = (child.worth for child in bucket.children())
        here = (resident.worth for resident in bucket.residents)
        bucket.worth = upper_limit((*below, *here))
        if bucket.owner is not None:
            _shrink(bucket, bucket.owner.attribute, entry)

    def _merge(self, bucket: Bucket) -> None:
        super()._merge(bucket)
        if bucket.halves is not None and bucket.is_open and not bucket.residents:
            low, high = bucket.halves
            if not low.count or not high.count:
                _unwrap(bucket, high if high.count else low)

    def _cluster_anew(self, bucket: Bucket) -> None:
        bucket.residents = dict.fromkeys(entries_in(bucket))
        bucket.halves = None
        bucket.partitions = {}
        self._relieve(bucket)


def best_cut(boxes: Sequence[Box], around: Box) -> int:
    """The cut after which events have the fewest boxes to meet. Ties: few across, then low.

    An event meets all boxes across the cut and those on its own side, and is taken to come
    to a side as often as boxes lie there. Where all boxes are the same no cut parts them,
    and the middle is as good as any.
    """
    lows = sorted(box.low for box in boxes)
    highs = sorted(box.high for box in boxes)
    candidates = {high for high in highs if high < around.high}
    candidates |= {low - 1 for low in lows if low > around.low}

    def cost(cut: int) -> tuple[int, int, int]:
        below = bisect_right(highs, cut)
        above = len(lows) - bisect_right(lows, cut)
        across = len(boxes) - below - above
        return across * len(boxes) + below**2 + above**2, across, cut

    return min(candidates, key=cost, default=(around.low + around.high) // 2)


def is_lopsided(bucket: Bucket) -> bool:
    """Whether one half has outgrown the other since the last clustering.

    Only after the bucket has doubled: clustering anew then costs little per expression, and
    is not tried again and again where one place holds most of them.
    """
    if bucket.halves is None or bucket.count < 2 * bucket.clustered_count:
        return False
    counts = [half.count for half in bucket.halves]
    return 4 * max(counts) > 3 * sum(counts)


def _wrap(bucket: Bucket, box: Box) -> None:
    """Make a partitioned atomic bucket one half of itself, before another box joins it.

    Widened as it is, it would be neither atomic nor split, and yet partitioned.
    """
    place = bucket.box.low
    assert bucket.is_atomic, "a partitioned bucket that is neither split nor atomic"
    inner = Bucket(
        bucket.owner,
        bucket.box,
        bucket.residents,
        partitions=bucket.partitions,
        count=bucket.count,
        worth=bucket.worth,
    )
    for partition in inner.partitions.values():
        partition.bucket = inner
    other = Bucket(bucket.owner)
    goes_low = box.high > place
    bucket.cut = place if goes_low else place - 1
    bucket.halves = (inner, other) if goes_low else (other, inner)
    bucket.residents, bucket.partitions = {}, {}
    bucket.clustered_count = bucket.count


def _unwrap(bucket: Bucket, half: Bucket) -> None:
    """Let the only half that holds anything take its bucket's place."""
    bucket.residents, bucket.partitions = half.residents, half.partitions
    bucket.cut, bucket.halves = half.cut, half.halves
    bucket.clustered_count = half.clustered_count
    for partition in bucket.partitions.values():
        partition.bucket = bucket


def _shrink(bucket: Bucket, attribute: int, gone: Entry) -> None:
    """Fit the box to what is left after an entry has gone."""
    if not bucket.count:
        bucket.box, bucket.worth = NOWHERE, NO_WORTH
        return
    (low, high), left = gone.boxes[attribute], bucket.box
    if bucket.is_atomic or (low > left.low and high < left.high):
        return  # the entry did not reach the ends, or all others do
    own = (entry.boxes[attribute] for entry in own_entries(bucket))
    bucket.box = hull((*own, *(half.box for half in bucket.halves or ())))
