"""Values into ranks among sorted thresholds."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.lookup import Lookup


class RankEncoder(wiring.Component):
    """Count how many thresholds a value reaches, by binary search.

    There is a memory per level of the search: level ``k`` holds ``2**k`` thresholds. Levels of
    hundreds of thresholds become block RAM, short ones LUT RAM or registers.

    Thresholds have positions from 1 to ``2**rank_bits - 1`` in ascending order: rank ``n``
    begins at the one in position ``n``. Positions above the last threshold are empty, and no
    value reaches an empty one.

    Latency: ``2 * rank_bits`` cycles in which ``enable`` is high. Throughput: 1 value, or 1 new
    threshold, per such cycle. Values that come after a new threshold see it; the ranks of values
    under way are not defined, nor are those of any while thresholds are out of order. To let
    values leave first is cheaper than to carry thresholds along behind them.

    Parameters
    ----------
    width : int
        Bits per value, unsigned.
    rank_bits : int
        Bits per rank.
    thresholds : sequence of int
        Those the circuit starts with, in ascending order.

    Members
    -------
    enable : In(1)
        Whether all stages move on in this cycle.
    value : In(width)
        The value to rank or, where ``levels`` is not 0, a threshold.
    levels : In(rank_bits)
        The level to which the threshold at ``position`` belongs, as `level_bit` gives it: whoever
        writes knows it, and here it would cost gates. 0 writes nothing.
    position : In(rank_bits)
        The position to write.
    exists : In(1)
        Whether the position gets a threshold. Else it becomes empty, and ``value`` must be 0.
    rank : Out(rank_bits)
        How many thresholds the value reaches, from registers.
    """

    def __init__(self, width: int, rank_bits: int, thresholds: Sequence[int] = ()) -> None:
        if width < 1 or rank_bits < 1:
            raise ValueError(f"values and ranks have at least one bit, not {width}, {rank_bits}")
        if len(thresholds) >= 2**rank_bits:
            raise ValueError(
                f"ranks of {rank_bits} bits have up to {2**rank_bits - 1} thresholds, "
                f"not {len(thresholds)}"
            )
        if list(thresholds) != sorted(thresholds):
            raise ValueError("thresholds must be in ascending order")
        if thresholds and not 0 <= thresholds[0] <= thresholds[-1] < 2**width:
            raise ValueError(f"thresholds must fit into {width} bits")
        self.width = width
        self.rank_bits = rank_bits
        self.thresholds = tuple(thresholds)
        super().__init__(
            {
                "enable": In(1),
                "value": In(width),
                "levels": In(rank_bits),
                "position": In(rank_bits),
                "exists": In(1),
                "rank": Out(rank_bits),
            }
        )

    @property
    def latency_cycles(self) -> int:
        return 2 * self.rank_bits

    def compute(self, value: int) -> int:
        """The rank of a value among the thresholds the circuit starts with."""
        return sum(threshold <= value for threshold in self.thresholds)

    @staticmethod
    def level_bit(position: int, rank_bits: int) -> int:
        """The bit, of one per level, of the level that holds a position; 0 for position 0."""
        lowest = position & -position
        return 1 << rank_bits - lowest.bit_length() if position else 0

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The bits of the rank that are found so far, the highest lowest.
        value, found = self.value, Const(0, 0)
        for level in range(self.rank_bits):
            looked_up = Signal(self.width, name=f"looked_up_{level}", reset_less=True)
            decided = Signal(self.width, name=f"decided_{level}", reset_less=True)
            before = Signal(level, name=f"before_{level}", reset_less=True)
            after = Signal(level + 1, name=f"after_{level}", reset_less=True)
            m.submodules[f"level_{level}"] = thresholds = self._thresholds(level)
            m.d.comb += [
                thresholds.enable.eq(self.enable),
                thresholds.writes.eq(self.levels[level]),
                thresholds.address.eq(found[::-1]),
                thresholds.write_address.eq(self.position[self.rank_bits - level :]),
                thresholds.write_row.value.eq(self.value),
                thresholds.write_row.exists.eq(self.exists),
            ]
            # One carry chain for both: without a threshold the row is 0, and the one stays.
            row = thresholds.row
            is_below = (Cat(looked_up, Const(1)) - Cat(row.value, row.exists))[self.width]
            with m.If(self.enable):
                m.d.sync += [looked_up.eq(value), decided.eq(looked_up)]
                m.d.sync += [before.eq(found), after.eq(Cat(before, ~is_below))]
            value, found = decided, after
        m.d.comb += self.rank.eq(found[::-1])
        return m

    def _thresholds(self, level: int) -> Lookup:
        """The thresholds that halve what the levels before have left."""
        step = 2 ** (self.rank_bits - 1 - level)
        positions = range(step, 2**self.rank_bits, 2 * step)
        rows = [
            {"value": self.thresholds[position - 1], "exists": 1}
            for position in positions
            if position <= len(self.thresholds)
        ]
        return Lookup(data.StructLayout({"value": self.width, "exists": 1}), 2**level, rows)
