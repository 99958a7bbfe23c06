"""Comparisons of values with constants and with each other."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.delay import delayed


class DirectRanges(wiring.Component):
    """Test whether a value is present and lies in one of a few ranges fixed at build time.

    Latency: 1 cycle in which ``enable`` is high. Throughput: 1 value per such cycle.

    Parameters
    ----------
    width : int
        Bits per value, unsigned.
    ranges : iterable of (low, high)
        Both ends included. Where there are none, no value lies in them.

    Members
    -------
    enable : In(1)
        Whether the output takes a new verdict in this cycle.
    value, present : In(width), In(1)
        The value, and whether there is one.
    inside : Out(1)
        The verdict, from a register.
    """

    def __init__(self, width: int, ranges: Iterable[tuple[int, int]]) -> None:
        self.ranges = tuple(ranges)
        for low, high in self.ranges:
            if not 0 <= low <= high < 2**width:
                raise ValueError(
                    f"ranges must satisfy 0 <= low <= high < {2**width}, not ({low}, {high})"
                )
        super().__init__({"enable": In(1), "value": In(width), "present": In(1), "inside": Out(1)})

    def compute(self, value: int | None) -> bool:
        """The verdict on one value, or on an absent one."""
        return value is not None and any(low <= value <= high for low, high in self.ranges)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inside = [(self.value >= low) & (self.value <= high) for low, high in self.ranges]
        with m.If(self.enable):
            m.d.sync += self.inside.eq(self.present & Cat(*inside).any())
        return m


class Relation(IntEnum):
    """How two values stand to each other, as `PairCompare` says it."""

    ONE_ABSENT = 0
    BOTH_ABSENT = 1
    BELOW = 2
    EQUAL = 3
    ABOVE = 4


RELATION_BITS = 3
HALVED_FROM = 33
"""Values of so many bits are compared by halves, in two stages."""


class PairCompare(wiring.Component):
    """Tell how a left value stands to a right one.

    Latency: 1 cycle in which ``enable`` is high, or 2 for values of more than 32 bits, of which
    halves are compared first. Throughput: 1 pair per such cycle.

    Parameters
    ----------
    width : int
        Bits per value, unsigned.

    Members
    -------
    enable : In(1)
        Whether all stages move on in this cycle.
    left, right : In(width)
        The values.
    left_present, right_present : In(1)
        Whether there is one.
    relation : Out(3)
        A `Relation`, from registers: ``BELOW`` if the left value is less.
    """

    def __init__(self, width: int) -> None:
        if width < 1:
            raise ValueError(f"values have at least one bit, not {width}")
        self.width = width
        super().__init__(
            {
                "enable": In(1),
                "left": In(width),
                "right": In(width),
                "left_present": In(1),
                "right_present": In(1),
                "relation": Out(RELATION_BITS),
            }
        )

    @property
    def latency_cycles(self) -> int:
        return self.cycles_for(self.width)

    @staticmethod
    def cycles_for(width: int) -> int:
        """The latency for values of so many bits."""
        return 2 if width >= HALVED_FROM else 1

    @staticmethod
    def compute(left: int | None, right: int | None) -> Relation:
        """The relation of two values, either of which may be absent."""
        if left is None or right is None:
            return Relation.BOTH_ABSENT if left is right else Relation.ONE_ABSENT
        if left == right:
            return Relation.EQUAL
        return Relation.BELOW if left < right else Relation.ABOVE

    def elaborate(self, platform: object) -> Module:
        m = Module()
        half = self.width // 2 if self.latency_cycles == 2 else 0
        left, right = self.left[half:], self.right[half:]
        absent = Cat(~self.left_present, ~self.right_present)
        is_below, is_equal = left < right, left == right
        if half:
            low_left, low_right = self.left[:half], self.right[:half]
            halves = Cat(is_below, is_equal, low_left < low_right, low_left == low_right)
            absent = delayed(m, absent, 1, self.enable)
            high_below, high_equal, low_below, low_equal = delayed(m, halves, 1, self.enable)
            is_below = high_below | (high_equal & low_below)
            is_equal = high_equal & low_equal
        with m.If(self.enable):
            with m.If(absent.all()):
                m.d.sync += self.relation.eq(Relation.BOTH_ABSENT)
            with m.Elif(absent.any()):
                m.d.sync += self.relation.eq(Relation.ONE_ABSENT)
            with m.Elif(is_below):
                m.d.sync += self.relation.eq(Relation.BELOW)
            with m.Elif(is_equal):
                m.d.sync += self.relation.eq(Relation.EQUAL)
            with m.Else():
                m.d.sync += self.relation.eq(Relation.ABOVE)
        return m
