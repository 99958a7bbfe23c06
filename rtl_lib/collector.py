"""The end of the chain: results become numbered matches, and everything is counted."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.results import match_layout, result_layout

COUNTER_BITS = 32


class Collector(wiring.Component):
    """Number the events, drop those without matches, and count.

    Latency: none; what goes out comes from the registers of the link before it. Throughput:
    1 item per cycle. Events without matches pass even while ``o`` stalls.

    Parameters
    ----------
    chunk_bits, chunk_count : int
        Width of a chunk, and how many there are.
    sequence_bits : int
        Bits of the event number, which starts at 0 and wraps.

    Members
    -------
    i : In(stream.Signature(result_layout(...)))
        The results of every event.
    o : Out(stream.Signature(match_layout(...)))
        Non-empty chunks: event number, chunk number, match bits, and whether it is the event's
        last.
    events, chunks, stalls : Out(32)
        Events finished, non-empty chunks sent, and cycles in which ``o`` was not taken.
    """

    def __init__(self, chunk_bits: int, chunk_count: int, sequence_bits: int = 32) -> None:
        self.sequence_bits = sequence_bits
        super().__init__(
            {
                "i": In(stream.Signature(result_layout(chunk_bits, chunk_count))),
                "o": Out(stream.Signature(match_layout(chunk_bits, chunk_count, sequence_bits))),
                "events": Out(COUNTER_BITS),
                "chunks": Out(COUNTER_BITS),
                "stalls": Out(COUNTER_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sequence = Signal(self.sequence_bits)
        m.d.comb += [
            self.o.valid.eq(self.i.valid & self.i.p.some),
            self.i.ready.eq(self.o.ready | ~self.i.p.some),
            self.o.p.bits.eq(self.i.p.bits),
            self.o.p.chunk.eq(self.i.p.chunk),
            self.o.p.last.eq(self.i.p.last),
            self.o.p.sequence.eq(sequence),
        ]
        with m.If(self.i.valid & self.i.ready & self.i.p.last):
            m.d.sync += [sequence.eq(sequence + 1), self.events.eq(self.events + 1)]
        with m.If(self.o.valid):
            with m.If(self.o.ready):
                m.d.sync += self.chunks.eq(self.chunks + 1)
            with m.Else():
                m.d.sync += self.stalls.eq(self.stalls + 1)
        return m
