"""Values into codes by comparisons with constants."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import reduce
from operator import xor

from amaranth import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class DirectEncoder(wiring.Component):
    """Turn a value into the code of the stretch it lies in, all thresholds at once.

    A gate or two per bit and threshold: less than a search where there are few of either. The
    thresholds cannot be written.

    Latency: 2 cycles in which ``enable`` is high. Throughput: 1 value per such cycle.

    Parameters
    ----------
    width : int
        Bits per value, unsigned.
    thresholds : sequence of int
        In ascending order, each once.
    codes : sequence of int
        ``codes[n]`` is the code of values that reach ``n`` thresholds.

    Members
    -------
    enable : In(1)
        Whether all stages move on in this cycle.
    value : In(width)
        The value.
    code : Out(bits of the greatest code)
        Its code, from registers.
    """

    latency_cycles = 2

    def __init__(self, width: int, thresholds: Sequence[int], codes: Sequence[int]) -> None:
        check_stretches(width, thresholds, codes)
        self.thresholds, self.codes = tuple(thresholds), tuple(codes)
        code_bits = max(1, max(codes).bit_length())
        super().__init__({"enable": In(1), "value": In(width), "code": Out(code_bits)})

    def compute(self, value: int) -> int:
        """The code of a value."""
        return self.codes[bisect_right(self.thresholds, value)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reached = Signal(len(self.thresholds), reset_less=True)
        code = Signal.like(self.code, reset_less=True)
        # Whoever reaches a threshold has reached those below it, so a bit of the code is what it
        # was to begin with, turned over at each threshold where it changes.
        turns = [one ^ other for one, other in zip(self.codes, self.codes[1:], strict=False)]
        bits = [
            reduce(
                xor,
                (reached[n] for n, turn in enumerate(turns) if turn >> bit & 1),
                Const(self.codes[0] >> bit & 1),
            )
            for bit in range(len(code))
        ]
        with m.If(self.enable):
            m.d.sync += [
                reached.eq(Cat(*(_reaches(self.value, bound) for bound in self.thresholds))),
                code.eq(Cat(*bits)),
            ]
        m.d.comb += self.code.eq(code)
        return m


def check_stretches(width: int, thresholds: Sequence[int], codes: Sequence[int]) -> None:
    """ValueError if these thresholds do not cut values of so many bits into these codes."""
    if len(codes) != len(thresholds) + 1:
        raise ValueError(
            f"{len(thresholds)} thresholds make {len(thresholds) + 1} codes, not {len(codes)}"
        )
    if list(thresholds) != sorted(set(thresholds)):
        raise ValueError("thresholds must be in ascending order, each once")
    if thresholds and not 0 <= thresholds[0] <= thresholds[-1] < 2**width:
        raise ValueError(f"thresholds must fit into {width} bits")
    if min(codes) < 0:
        raise ValueError(f"codes must not be negative, as {min(codes)} is")


def _reaches(value: Value, bound: int) -> Value:
    """``value >= bound`` as gates; synthesis would make a carry chain of a comparison."""
    reaches: Value = Const(1)
    for index in range(len(value)):
        reaches = value[index] & reaches if bound >> index & 1 else value[index] | reaches
    return reaches
