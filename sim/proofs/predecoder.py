"""Shared wires and what is made of them: in range or not, for every code."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Module, Signal

from penstock.rtl_lib.logic import InRange
from penstock.rtl_lib.predecoder import Predecoder
from penstock.sim.proofs.harness import Inside, Proof, before, claim, cover, implies
from penstock.sim.proofs.run import Claim


class PredecoderProof(Proof):
    """Every range is held against plain comparisons with the codes last taken."""

    dut: Predecoder

    def __init__(self, dut: Predecoder, widths: Sequence[int], ranges: Sequence[InRange]) -> None:
        super().__init__(dut)
        self._widths = tuple(widths)
        self._ranges = tuple(dict.fromkeys(ranges))

    def state(self, m: Module, inside: Inside) -> None:
        dut = self.dut
        is_known, taken = Signal(), Signal(len(dut.codes), name="taken")
        with m.If(dut.enable):
            m.d.sync += [is_known.eq(1), taken.eq(dut.codes)]
        was_off = before(m, ~dut.enable)
        starts = [sum(self._widths[:field]) for field in range(len(self._widths))]
        for number, asked in enumerate(self._ranges):
            code = taken[starts[asked.field] : starts[asked.field] + self._widths[asked.field]]
            wanted = code >= asked.low
            if asked.high is not None:
                wanted = wanted & (code < asked.high)
            verdict = dut.in_range(lambda wire: dut.wires[wire], asked)
            claim(
                m, f"in_range is right about {_shown(asked)}", implies(is_known, verdict == wanted)
            )
            if number in (0, len(self._ranges) - 1):
                cover(m, f"a code stays in {_shown(asked)}", is_known & was_off & verdict)
                cover(m, f"a code stays out of {_shown(asked)}", is_known & was_off & ~verdict)


def _shown(asked: InRange) -> str:
    return f"field {asked.field} from {asked.low} below {asked.high or 'the end'}"


def bounds_once(field: int, width: int) -> list[InRange]:
    """Ranges that use every bound of a code of so many bits once."""
    end = 2**width
    return [InRange(field, low, low + 1 if low + 1 < end else None) for low in range(1, end, 2)]


def bounds_often(field: int, width: int) -> list[InRange]:
    """Ranges that use every bound three times or more: above, below, around a code."""
    ends = range(1, 2**width)
    codes = [InRange(field, low, low + 1) for low in ends[:-1]]
    return [
        *(InRange(field, 0, end) for end in ends),
        *(InRange(field, end) for end in ends),
        *codes,
    ]


def _proof(widths: Sequence[int], ranges: Sequence[InRange]) -> PredecoderProof:
    return PredecoderProof(Predecoder(widths, ranges), widths, ranges)


WIDTHS = (1, 3, 4, 6)
"""Of short codes and a longer one."""
ONCE = [asked for field, width in enumerate(WIDTHS) for asked in bounds_once(field, width)]
OFTEN = [asked for field, width in enumerate(WIDTHS) for asked in bounds_often(field, width)]

SAYS = "in_range = (low <= code < high), for every code"

CLAIMS = (
    Claim("Predecoder(1, 3, 4, 6), bounds used once", SAYS, lambda: _proof(WIDTHS, ONCE)),
    Claim("Predecoder(1, 3, 4, 6), bounds used often", SAYS, lambda: _proof(WIDTHS, OFTEN)),
    Claim("Predecoder(9), bounds used once", SAYS,
          lambda: _proof((9,), bounds_once(0, 9))),
    Claim("Predecoder(9), bounds used often", SAYS,
          lambda: _proof((9,), bounds_often(0, 9))),
)  # fmt: skip
