"""Codes into thermometer wires that many comparisons share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_
from typing import TypeAlias, TypeVar

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.formula import Formula, picked
from penstock.rtl_lib.logic import InRange

Wire: TypeAlias = tuple[int, str, int]
"""Field, which part of its code ("high", "low" or "whole"), and the bound the part reaches."""

_Bit = TypeVar("_Bit", Value, Formula)
"""Bits of the circuit, or formulas over them."""

LUT_INPUTS = 4
STEP_BITS = LUT_INPUTS - 1
"""Bits of a code that a LUT compares, together with a wire for all bits below them."""
SHARED_USES = 3
"""From so many uses on, a bound is worth a wire of its own."""


def bounds_of(range_: InRange) -> list[int]:
    """The codes at which the range begins and ends."""
    ends = [range_.low] if range_.low else []
    return ends if range_.high is None else [*ends, range_.high]


def low_bits(width: int) -> int:
    """How many bits of a code make its low half; a short code is not halved.

    Of an odd number the low half has more: a bound takes one wire of it, but two of the high one.
    """
    return (width + 1) // 2 if width > 4 else 0


def parts_of(field: int, width: int, bound: int) -> list[Wire]:
    """The wires of the halves that make ``code >= bound``."""
    low = low_bits(width)
    above, rest = bound >> low, bound & (2**low - 1)
    if rest == 0:
        return [(field, "high", above)]
    highs = [(field, "high", part) for part in (above + 1, above) if 0 < part < 2 ** (width - low)]
    return [*highs, (field, "low", rest)]


class Predecoder(wiring.Component):
    """Split codes into halves and compare each half with all bounds that are asked for.

    ``code >= bound`` is then one function of three wires: the high half is beyond that of the
    bound, or reaches it and the low half reaches that of the bound. However wide the attribute
    was, and however many subscriptions compare with a bound, its wires exist once. A bound that
    is used often gets one wire for the whole comparison.

    Latency: 1 cycle while ``enable`` is high. Throughput: 1 set of codes per cycle.

    Parameters
    ----------
    widths : sequence of int
        Bits of each code.
    ranges : iterable of InRange
        Everything that `in_range` will be asked for, as often as it will be used.

    Members
    -------
    codes : In(sum(widths))
        The codes side by side, field 0 lowest.
    enable : In(1)
        Whether the wires take new codes in this cycle.
    wires : Out(number of wires)
        The registered wires.
    """

    def __init__(self, widths: Sequence[int], ranges: Iterable[InRange]) -> None:
        self.widths = tuple(widths)
        uses = Counter((r.field, bound) for r in ranges for bound in bounds_of(r))
        self._asked = frozenset(uses)
        found: set[Wire] = set()
        for (field, bound), count in sorted(uses.items()):
            width = self.widths[field]
            if not 1 <= bound < 2**width:
                raise ValueError(
                    f"field {field} has {width} bits: a bound lies between 1 and {2**width - 1}, "
                    f"not {bound}"
                )
            is_whole = bound == 1 or count >= SHARED_USES
            wires = [(field, "whole", bound)] if is_whole else parts_of(field, width, bound)
            found.update(wires)
        # The wires of a part of a code lie side by side, so that they are made together.
        self._wires: dict[Wire, int] = {wire: n for n, wire in enumerate(sorted(found))}
        super().__init__(
            {
                "codes": In(sum(self.widths)),
                "enable": In(1),
                "wires": Out(max(1, len(self._wires))),
            }
        )

    def in_range(self, wire: Callable[[int], _Bit], range_: InRange) -> _Bit:
        """Whether a code lies in a range with a bound; ``wire`` gives the wire of an index."""
        reached = [self._at_least(wire, range_.field, bound) for bound in bounds_of(range_)]
        if range_.high is not None:
            reached[-1] = ~reached[-1]
        return reduce(and_, reached)

    def _at_least(self, wire: Callable[[int], _Bit], field: int, bound: int) -> _Bit:
        if (field, bound) not in self._asked:
            raise ValueError(f"bound {bound} of field {field} was not asked for")
        whole = self._wires.get((field, "whole", bound))
        if whole is not None:
            return wire(whole)
        low = low_bits(self.widths[field])
        above, rest = bound >> low, bound & (2**low - 1)
        if rest == 0:
            return wire(self._wires[field, "high", above])
        value = wire(self._wires[field, "low", rest])
        if above > 0:
            value = wire(self._wires[field, "high", above]) & value
        if above + 1 < 2 ** (self.widths[field] - low):
            value = wire(self._wires[field, "high", above + 1]) | value
        return value

    def elaborate(self, platform: object) -> Module:
        m = Module()
        register = Signal.like(self.wires, reset_less=True, name="reached")
        parts: dict[tuple[int, str], list[int]] = {}
        for field, part, bound in self._wires:
            parts.setdefault((field, part), []).append(bound)
        made = [_reached(m, self._bits(*part), bounds) for part, bounds in parts.items()]
        with m.If(self.enable):
            m.d.sync += register.eq(Cat(*made))
        m.d.comb += self.wires.eq(register)
        return m

    def _bits(self, field: int, part: str) -> Value:
        """A part of a field's code."""
        start, width = sum(self.widths[:field]), self.widths[field]
        low = low_bits(width)
        first, last = {"high": (low, width), "low": (0, low), "whole": (0, width)}[part]
        return self.codes[start + first : start + last]


def _reached(m: Module, bits: Value, bounds: Sequence[int]) -> Value:
    """A bit per bound, ``bits >= bound``, as gates: a comparison would become a carry chain.

    The lowest bits first, as many as a LUT takes, and then a step for every `STEP_BITS` above: a
    bound is reached if they are beyond its own, or the same and what lies below is reached.
    """
    starts = [0, *range(LUT_INPUTS, len(bits), STEP_BITS)]
    levels = [list(bounds)]
    for start in reversed(starts[1:]):
        levels.append(sorted({bound % 2**start for bound in levels[-1]} - {0}))
    # The last bit is for bounds that end in zeros, of which the rest is reached always.
    lowest = levels.pop()
    below = Signal(len(lowest) + 1, name="reached_0")
    m.d.comb += below.eq(Cat(*(bits[:LUT_INPUTS] >= bound for bound in lowest), 1))
    for start, level in zip(starts[1:], reversed(levels), strict=True):
        places = {0: len(lowest), **{bound: place for place, bound in enumerate(lowest)}}
        here = bits[start : start + STEP_BITS]
        numbers = {value: n for n, value in enumerate(dict.fromkeys(b >> start for b in level))}
        beyond = Signal(len(numbers), name=f"beyond_{start}")
        same = Signal(len(numbers), name=f"same_{start}")
        own = [numbers[bound >> start] for bound in level]
        rests = picked(below, [places[bound % 2**start] for bound in level])
        lowest, below = level, Signal(len(level) + 1, name=f"reached_{start}")
        m.d.comb += [
            beyond.eq(Cat(*(here > value for value in numbers))),
            same.eq(Cat(*(here == value for value in numbers))),
            below.eq(Cat(picked(beyond, own) | (picked(same, own) & rests), 1)),
        ]
    return below[:-1]
