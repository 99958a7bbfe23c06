"""Where the codes of an event come from: the parameter objects of a front.

Raw values are unsigned numbers with a presence bit on top, which is high if there is a value; an
absent one is 0 altogether. So a threshold of ``1 << bits`` tells presence, and one with that bit
set compares a value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.rtl_lib.compare import RELATION_BITS, PairCompare
from penstock.rtl_lib.direct_encoder import DirectEncoder, check_stretches


@dataclass(frozen=True, slots=True)
class Passed:
    """The code comes ready made with the event."""

    code_bits: int

    @property
    def latency_cycles(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A search ranks a value among thresholds, and a memory holds the code of each rank.

    Both can be written while events flow.
    """

    value: int
    """Which value of the event."""
    thresholds: tuple[int, ...]
    codes: tuple[int, ...]
    """``codes[n]`` is the code of values that reach ``n`` thresholds."""

    @property
    def rank_bits(self) -> int:
        return max(1, len(self.thresholds).bit_length())

    @property
    def code_bits(self) -> int:
        return max(1, max(self.codes).bit_length())

    @property
    def latency_cycles(self) -> int:
        return 2 * self.rank_bits + 1

    def compute(self, values: Sequence[int]) -> int:
        return self.codes[bisect_right(self.thresholds, values[self.value])]


@dataclass(frozen=True, slots=True)
class Direct:
    """Comparisons with all thresholds at once; for few thresholds, fixed for good."""

    value: int
    thresholds: tuple[int, ...]
    codes: tuple[int, ...]

    @property
    def code_bits(self) -> int:
        return max(1, max(self.codes).bit_length())

    @property
    def latency_cycles(self) -> int:
        return DirectEncoder.latency_cycles

    def compute(self, values: Sequence[int]) -> int:
        return self.codes[bisect_right(self.thresholds, values[self.value])]


@dataclass(frozen=True, slots=True)
class Compared:
    """How two values relate, as a `Relation`.

    Of two widths, the narrower value is one of a narrower signed type: both count from the
    lowest number of their own.
    """

    left: int
    right: int
    value_bits: int
    """Bits of the wider of the two, its presence bit not counted."""

    @property
    def code_bits(self) -> int:
        return RELATION_BITS

    @property
    def latency_cycles(self) -> int:
        return PairCompare.cycles_for(self.value_bits)


Source: TypeAlias = Passed | Ranked | Direct | Compared


def check_source(source: Source, value_bits: Sequence[int]) -> None:
    """ValueError if a source does not fit the values of an event."""
    if isinstance(source, Passed):
        if source.code_bits < 1:
            raise ValueError(f"codes have at least one bit, not {source.code_bits}")
        return
    used = (source.left, source.right) if isinstance(source, Compared) else (source.value,)
    if not all(0 <= value < len(value_bits) for value in used):
        raise ValueError(f"an event has {len(value_bits)} values, not all of {used}")
    if isinstance(source, Compared):
        if source.value_bits != max(value_bits[value] for value in used):
            raise ValueError(f"neither value has {source.value_bits} bits")
    else:
        check_stretches(value_bits[source.value] + 1, source.thresholds, source.codes)
