"""A tile's subscriptions as gates of a pipeline: each stage one gate, each gate a few LUTs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from penstock.gen.normal import Pair, Test
from penstock.gen.plan import Gate, Plan, PlanTile
from penstock.gen.ranges import Range, Ranges
from penstock.rtl_lib.logic import Enabled, InRange, Logic, Node
from penstock.rtl_lib.logic import Gate as PipelinedGate
from penstock.rtl_lib.predecoder import SHARED_USES, bounds_of, parts_of

WIDEST_GATE = 13
"""Wires that four LUTs of four inputs take. Wider gates spare registers, and slow the clock."""
LUT_STEP = 3
"""Wires that one more LUT makes room for."""
LONGEST_CHAIN = 3
"""Beyond so many gates one after the other, a tree is worth its extra inputs."""


def tile_logic(plan: Plan, tile: PlanTile, ranges: Ranges) -> Logic:
    """The logic of one tile: an output per entry, each with its enable bit.

    hot: price from 6 and live   ->   n0: enabled 0
                                      n1: 2 <= price code     n2: 1 <= live code
                                      n3: n0 and n1 and n2    output 0: n3
    """
    builder = _Builder(plan, ranges, [plan.root(index) for index in tile.entries])
    outputs = [
        builder.output(position, plan.root(index)) for position, index in enumerate(tile.entries)
    ]
    return Logic(tuple(builder.nodes), tuple(outputs))


class _Builder:
    """Collects the nodes of one tile; equal nodes are one."""

    def __init__(self, plan: Plan, ranges: Ranges, roots: Sequence[int]) -> None:
        self.plan = plan
        self.nodes: dict[Node, int] = {}
        self.levels: list[int] = []
        self.wires: list[int] = []
        self.enables: set[int] = set()
        self.made: dict[int, int] = {}
        self.users = _users(plan, roots)
        self.ranges = {
            index: ranges.of(node)
            for index in sorted(self.users)
            if isinstance(node := plan.nodes[index], Test | Pair)
        }
        self.bound_uses = Counter(
            (part.field, bound)
            for index, parts in self.ranges.items()
            for part in parts
            for bound in bounds_of(self._in_range(part))
            for _ in range(self.users[index])
        )

    def output(self, position: int, root: int) -> int:
        """The literal of an entry's match bit."""
        enabled = self._add(Enabled(position), level=0, wires=1)
        self.enables.add(enabled >> 1)
        return self._join([enabled, *self._items(root, is_or=False)], is_or=False)

    def _items(self, index: int, *, is_or: bool) -> list[int]:
        """A node as inputs of a gate of a kind; what only that gate uses is taken apart."""
        node = self.plan.nodes[index]
        if isinstance(node, Gate):
            is_always = not node.inputs  # conditions that never hold have no place in a tile
            if node.is_or == is_or and (self.users[index] == 1 or is_always):
                return [item for below in node.inputs for item in self._items(below, is_or=is_or)]
            return [self._made(index)]
        held = self.ranges[index]
        if len(held) == 1 or (is_or and self.users[index] == 1):
            return [self._leaf(part) for part in held]
        gaps = self._gaps(held)
        if len(gaps) == 1 or (not is_or and self._cost(gaps) <= self._cost(held) + 1):
            return [self._leaf(part) ^ 1 for part in gaps]
        return [self._made(index)]

    def _made(self, index: int) -> int:
        """The literal of a node with a register of its own."""
        if index not in self.made:
            node = self.plan.nodes[index]
            if isinstance(node, Gate):
                items = [i for below in node.inputs for i in self._items(below, is_or=node.is_or)]
                self.made[index] = self._join(items, is_or=node.is_or)
            else:
                leaves = [self._leaf(part) for part in self.ranges[index]]
                self.made[index] = self._join(leaves, is_or=True)
        return self.made[index]

    def _join(self, literals: Iterable[int], *, is_or: bool) -> int:
        """One literal for the AND or OR of many: a chain of gates, or a tree of them if long."""
        items = sorted(dict.fromkeys(literals), key=self._order)
        inputs = sum(self.wires[item >> 1] for item in items) - 1  # the chain is one to each gate
        gate_count = max(1, -(-inputs // (WIDEST_GATE - 1)))
        width = 1 + LUT_STEP * -(-inputs // (LUT_STEP * gate_count))
        is_chain = gate_count <= LONGEST_CHAIN
        while len(items) > 1:
            gate = self._filled(items, width)
            items = [item for item in items if item not in gate]
            level = 1 + max(self.levels[item >> 1] for item in gate)
            joined = self._add(PipelinedGate(gate, is_or), level=level, wires=1)
            items.insert(0 if is_chain else len(items), joined)
        return items[0]

    def _order(self, item: int) -> tuple[int, bool, int, int]:
        """Early ones first; enable bits before all, or each would wait in a register of its own."""
        is_enable = item >> 1 in self.enables
        return self.levels[item >> 1], not is_enable, -self.wires[item >> 1], item

    def _filled(self, items: Sequence[int], width: int) -> tuple[int, ...]:
        """The first items, as many as a gate has room for, at least two."""
        gate: list[int] = []
        room = width
        lowest = self.levels[items[0] >> 1]
        is_full = False
        for item in items:
            if is_full and self.levels[item >> 1] > lowest:
                break  # later ones would delay the gate, and those before them
            if len(gate) < 2 or self.wires[item >> 1] <= room:
                gate.append(item)
                room -= self.wires[item >> 1]
            else:
                is_full = True  # but a narrower one may fit
        return tuple(gate)

    def _leaf(self, part: Range) -> int:
        return self._add(self._in_range(part), level=0, wires=self._cost([part]))

    def _add(self, node: Node, *, level: int, wires: int) -> int:
        if node not in self.nodes:
            self.nodes[node] = len(self.nodes)
            self.levels.append(level)
            self.wires.append(wires)
        return 2 * self.nodes[node]

    def _in_range(self, part: Range) -> InRange:
        is_open = part.high > self.plan.fields[part.field].highest
        return InRange(part.field, part.low, None if is_open else part.high)

    def _gaps(self, held: Sequence[Range]) -> list[Range]:
        """The codes that lie in none of the ranges, as ranges."""
        field = held[0].field
        starts = [0, *(part.high for part in held)]
        ends = [*(part.low for part in held), self.plan.fields[field].highest + 1]
        return [Range(field, *gap) for gap in zip(starts, ends, strict=True) if gap[0] < gap[1]]

    def _cost(self, parts: Iterable[Range]) -> int:
        """How many predecoded wires the ranges look at."""
        wires: set[object] = set()
        for part in parts:
            for bound in bounds_of(self._in_range(part)):
                if bound == 1 or self.bound_uses[part.field, bound] >= SHARED_USES:
                    wires.add((part.field, bound))
                else:
                    wires.update(parts_of(part.field, self.plan.fields[part.field].width, bound))
        return len(wires)


def _users(plan: Plan, roots: Sequence[int]) -> Counter[int]:
    """How often each node that the roots need is used, by an entry or a gate."""
    users = Counter(roots)
    for index in range(max(roots), -1, -1):  # users come after what they use
        node = plan.nodes[index]
        if index in users and isinstance(node, Gate):
            users.update(node.inputs)
    return users
