"""How large the circuit of a plan will be, told from the plan alone.

Tiles are counted and, over all of them, the bits of the events that they take, the match bits, the
bounds that they compare codes with, and how often those are used. Of each kind one costs

                    LUT4   flip-flops
    bit of events    1.1      4.4        two places per tile, and what passes events on
    match bit        1.5      4.4        its valid bit, its last gate, its place in a chunk
    bound            0.92     0.81       predecoded once per tile
    use of a bound   0.27     0.16       its share of a gate's inputs
    tile           221      283          what cuts match bits into chunks and joins results

which is a least-squares fit to what Yosys counted for 15 sets of 1 to 5,000 subscriptions: within
6 % for LUT4s and 10 % for flip-flops, but for 5,000 subscriptions that share no constant, where it
is 15 % and 13 % too low.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.gen.normal import Pair, Test
from penstock.gen.plan import Gate, Plan, Source
from penstock.gen.ranges import Range, Ranges

LUT_COSTS = (1.06, 1.52, 0.92, 0.27, 221)
FLIP_FLOP_COSTS = (4.36, 4.42, 0.81, 0.16, 283)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a circuit takes of an ECP5, about."""

    luts: int
    flip_flops: int
    left_out: tuple[str, ...] = ()
    """What it does not count."""


def estimate_of(plan: Plan) -> Estimate:
    """The size of a plan's circuit; without tiles there is none."""
    if not plan.tiles:
        return Estimate(0, 0, tuple(_left_out(plan)))
    ranges = _RangesOnce(plan)
    event_bits = sum(field.width for field in plan.fields)
    match_bits = bounds = uses = 0
    for tile in plan.tiles:
        used = _bound_uses(plan, [plan.root(index) for index in tile.entries], ranges)
        match_bits += len(tile.entries)
        bounds += len(used)
        uses += used.total()
    counts = (event_bits * len(plan.tiles), match_bits, bounds, uses, len(plan.tiles))
    return Estimate(
        _total(LUT_COSTS, counts), _total(FLIP_FLOP_COSTS, counts), tuple(_left_out(plan))
    )


def _left_out(plan: Plan) -> Iterator[str]:
    if any(field.source is not Source.HOST for field in plan.fields):
        yield "the front"
    if plan.table:
        yield "the table"
    if plan.ranking and plan.ranking.entries:
        yield "the ranking"


def _total(costs: Sequence[float], counts: Sequence[int]) -> int:
    return round(sum(cost * count for cost, count in zip(costs, counts, strict=True)))


class _RangesOnce:
    """The ranges of each node, looked up once though many tiles use it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._ranges = Ranges(plan.fields)
        self._known: dict[int, tuple[Range, ...]] = {}

    def of(self, index: int) -> tuple[Range, ...]:
        if index not in self._known:
            node = self._plan.nodes[index]
            assert isinstance(node, Test | Pair), "a gate has no range"
            self._known[index] = self._ranges.of(node)
        return self._known[index]


def _bound_uses(plan: Plan, roots: Sequence[int], ranges: _RangesOnce) -> Counter[tuple[int, int]]:
    """How often a tile compares each field with each bound."""
    users = Counter(roots)
    found: Counter[tuple[int, int]] = Counter()
    for index in range(max(roots), -1, -1):  # users come after what they use
        if index not in users:
            continue
        node = plan.nodes[index]
        if isinstance(node, Gate):
            users.update(node.inputs)
            continue
        for part in ranges.of(index):
            highest = plan.fields[part.field].highest
            for bound in (part.low, part.high):
                if 0 < bound <= highest:
                    found[part.field, bound] += users[index]
    return found
