"""Chunks of match bits into one match after the other."""

from __future__ import annotations

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.results import index_width, match_layout
from penstock.rtl_lib.scores import position_layout


class BitSerialiser(wiring.Component):
    """Send the number of each bit that is set, the lowest of a chunk first.

    Latency: 1 cycle. Throughput: 1 bit per cycle. A chunk takes as many cycles as it has bits set,
    and one if it has none.

    Parameters
    ----------
    chunk_bits : int
        Width of a chunk, a power of two: a bit's number is that of its chunk above that of its
        place there.
    chunk_count, sequence_bits : int
        How many chunks there are, and the width of an event's number.

    Members
    -------
    i : In(stream.Signature(match_layout(...)))
        Chunks; one without bits is the end of an event and nothing else.
    o : Out(stream.Signature(position_layout(...)))
        The numbers of the bits, ``last`` with the event's last; a chunk without bits is an item
        with ``some`` low.
    """

    def __init__(self, chunk_bits: int, chunk_count: int, sequence_bits: int) -> None:
        if chunk_bits & (chunk_bits - 1):
            raise ValueError(f"a chunk must have a power of two of bits, not {chunk_bits}")
        self.layout = match_layout(chunk_bits, chunk_count, sequence_bits)
        self.offset_bits = (chunk_bits - 1).bit_length()
        self.position_bits = index_width(chunk_count) + self.offset_bits
        numbers = position_layout(self.position_bits, sequence_bits)
        super().__init__(
            {"i": In(stream.Signature(self.layout)), "o": Out(stream.Signature(numbers))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(self.layout, reset_less=True)
        is_some, o = Signal(), self.o
        others = left.bits & (left.bits - 1)
        is_final = ~others.any()
        m.d.comb += [
            o.p.position.eq(Cat(self._offset(left.bits & ~others), left.chunk)),
            o.p.sequence.eq(left.sequence),
            o.p.some.eq(is_some),
            o.p.last.eq(left.last & is_final),
            self.i.ready.eq(~o.valid | (o.ready & is_final)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                o.valid.eq(self.i.valid),
                left.eq(self.i.payload),
                is_some.eq(self.i.p.bits.any()),
            ]
        with m.Elif(o.ready):
            m.d.sync += left.bits.eq(others)
        return m

    def _offset(self, lowest: Value) -> Value:
        """The number of the one bit that is set."""
        return Cat(
            Cat(bit for number, bit in enumerate(lowest) if number >> place & 1).any()
            for place in range(self.offset_bits)
        )
