"""Codes into thermometer wires that many comparisons share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from amaranth import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.logic import InRange

Wire: TypeAlias = tuple[int, str, int]
"""Field, which part of its code ("high", "low" or "whole"), and the bound the part reaches."""

SHARED_USES = 3
"""From so many uses on, a bound is worth a wire of its own."""


def bounds_of(range_: InRange) -> list[int]:
    """The codes at which the range begins and ends."""
    ends = [range_.low] if range_.low else []
    return ends if range_.high is None else [*ends, range_.high]


def low_bits(width: int) -> int:
    """How many bits of a code make its low half; a short code is not halved."""
    return width // 2 if width > 4 else 0


def parts_of(field: int, width: int, bound: int) -> list[Wire]:
    """The wires of the halves that make ``code >= bound``."""
    low = low_bits(width)
    above, rest = bound >> low, bound & (2**low - 1)
    if rest == 0:
        return [(field, "high", above)]
    wires = [(field, "high", above + 1), (field, "high", above), (field, "low", rest)]
    return [wire for wire in wires if 0 < wire[2] < 2 ** (width - low)]


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
        self._wires: dict[Wire, int] = {}
        for (field, bound), count in sorted(uses.items()):
            width = self.widths[field]
            if not 1 <= bound < 2**width:
                raise ValueError(
                    f"field {field} has {width} bits: a bound lies between 1 and {2**width - 1}, "
                    f"not {bound}"
                )
            is_whole = bound == 1 or count >= SHARED_USES
            wires = [(field, "whole", bound)] if is_whole else parts_of(field, width, bound)
            for wire in wires:
                self._wires.setdefault(wire, len(self._wires))
        super().__init__(
            {
                "codes": In(sum(self.widths)),
                "enable": In(1),
                "wires": Out(max(1, len(self._wires))),
            }
        )

    def in_range(self, wire: Callable[[int], Value], range_: InRange) -> Value:
        """Whether a code lies in the range; ``wire`` gives the wire of an index."""
        value: Value = Const(1)
        if range_.low:
            value = self._at_least(wire, range_.field, range_.low)
        if range_.high is not None:
            value = value & ~self._at_least(wire, range_.field, range_.high)
        return value

    def _at_least(self, wire: Callable[[int], Value], field: int, bound: int) -> Value:
        if (field, bound) not in self._asked:
            raise ValueError(f"bound {bound} of field {field} was not asked for")

        def reaches(part: str, of: int) -> Value:
            if of <= 0:
                return Const(1)
            index = self._wires.get((field, part, of))
            return Const(0) if index is None else wire(index)

        if (field, "whole", bound) in self._wires:
            return reaches("whole", bound)
        low = low_bits(self.widths[field])
        above, rest = bound >> low, bound & (2**low - 1)
        if rest == 0:
            return reaches("high", above)
        return reaches("high", above + 1) | (reaches("high", above) & reaches("low", rest))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        codes: list[Value] = []
        offset = 0
        for width in self.widths:
            codes.append(self.codes[offset : offset + width])
            offset += width
        registers, updates = [], []
        for field, part, bound in self._wires:
            low = low_bits(self.widths[field])
            bits = {"high": codes[field][low:], "low": codes[field][:low], "whole": codes[field]}
            wire = Signal(name=f"f{field}_{part}_{bound}", reset_less=True)
            registers.append(wire)
            updates.append(wire.eq(_at_least(bits[part], bound)))
        with m.If(self.enable):
            m.d.sync += updates
        m.d.comb += self.wires.eq(Cat(*registers))
        return m


def _at_least(bits: Value, bound: int) -> Value:
    """``bits >= bound`` as gates; synthesis would make a carry chain of a comparison."""
    value: Value = Const(1)
    for index in range(len(bits)):
        value = bits[index] & value if bound >> index & 1 else bits[index] | value
    return value
