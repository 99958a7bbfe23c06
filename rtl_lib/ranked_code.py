"""Values into codes by binary search."""

from __future__ import annotations

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.lookup import Lookup
from penstock.rtl_lib.rank_encoder import RankEncoder
from penstock.rtl_lib.sources import Ranked


def write_layout(rank_bits: int) -> data.StructLayout:
    """What a write is to; the new threshold or code itself takes the place of the value."""
    return data.StructLayout(
        {
            "position": rank_bits,
            "levels": rank_bits,  # as `RankEncoder.level_bit` gives it; 0 with `is_code`
            "exists": 1,
            "is_code": 1,
        }
    )


class RankedCode(wiring.Component):
    """Rank a value among thresholds, and look up the code of the rank.

    Latency: ``2 * rank_bits + 1`` cycles in which ``enable`` is high. Throughput: 1 value, or 1
    write, per such cycle. Values that come after a write see it; there must be none under way.

    Parameters
    ----------
    width : int
        Bits per value, unsigned.
    source : Ranked
        The thresholds and codes that the circuit starts with.

    Members
    -------
    enable : In(1)
        Whether all stages move on in this cycle.
    value : In(width)
        The value or, with ``writes`` high, what to write.
    writes : In(1)
        Whether this cycle writes and has no value.
    write : In(write_layout(rank_bits))
        What is written: the threshold, or with ``is_code`` the code, at ``position``.
    code : Out(code_bits)
        The code, from registers.
    """

    def __init__(self, width: int, source: Ranked) -> None:
        rank_bits, code_bits = source.rank_bits, source.code_bits
        if code_bits > width:
            raise ValueError(f"a code of {code_bits} bits has no room in a value of {width}")
        self.encoder = RankEncoder(width, rank_bits, source.thresholds)
        self.codes = Lookup(code_bits, 2**rank_bits, source.codes)
        super().__init__(
            {
                "enable": In(1),
                "value": In(width),
                "writes": In(1),
                "write": In(write_layout(rank_bits)),
                "code": Out(code_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.encoder = encoder = self.encoder
        m.submodules.codes = codes = self.codes
        m.d.comb += [
            encoder.enable.eq(self.enable),
            encoder.value.eq(self.value),
            encoder.levels.eq(self.write.levels & self.writes.replicate(encoder.rank_bits)),
            encoder.position.eq(self.write.position),
            encoder.exists.eq(self.write.exists),
            codes.enable.eq(self.enable),
            codes.writes.eq(self.writes & self.write.is_code),
            codes.address.eq(encoder.rank),
            codes.write_address.eq(self.write.position),
            codes.write_row.eq(self.value),
            self.code.eq(codes.row),
        ]
        return m
