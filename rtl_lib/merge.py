"""Two result links into one."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from penstock.rtl_lib.results import result_layout
from penstock.rtl_lib.skid_buffer import SkidBuffer


class Merge(wiring.Component):
    """Append a tile's own results to those that come from the tiles before it, event by event.

    Both sides bring the results of every event, in the same order of events. Markers of events
    without matches are dropped as soon as the other side has a match.

    Latency: 1 cycle. Throughput: 1 item per cycle. An event takes as many cycles as it has
    non-empty chunks, and one if it has none.

    Parameters
    ----------
    chunk_bits, chunk_count : int
        Width of a chunk, and how many there are in the circuit.

    Members
    -------
    before, own : In(stream.Signature(result_layout(...)))
        Results from the chain so far, and from this tile.
    o : Out(stream.Signature(result_layout(...)))
        The results of both, from registers.
    """

    def __init__(self, chunk_bits: int, chunk_count: int) -> None:
        self.layout = result_layout(chunk_bits, chunk_count)
        super().__init__(
            {
                "before": In(stream.Signature(self.layout)),
                "own": In(stream.Signature(self.layout)),
                "o": Out(stream.Signature(self.layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.out = out = SkidBuffer(self.layout)
        connect(m, out.o, flipped(self.o))
        before, own, joined = self.before, self.own, out.i
        # High while `before` has ended its part of the event and `own` has not.
        is_own_turn = Signal()
        with m.If(is_own_turn | ~before.p.some):
            m.d.comb += joined.payload.eq(own.payload)
        with m.Else():
            m.d.comb += [
                joined.p.bits.eq(before.p.bits),
                joined.p.chunk.eq(before.p.chunk),
                joined.p.some.eq(1),
                joined.p.last.eq(before.p.last & ~own.p.some),
            ]
        # `before` may pass alone as long as it does not end the event.
        needs_own = Signal()
        ends_before = Signal()
        takes_own = Signal()
        m.d.comb += [
            needs_own.eq(is_own_turn | before.p.last),
            joined.valid.eq((is_own_turn | before.valid) & (own.valid | ~needs_own)),
            ends_before.eq(~is_own_turn & before.p.last),
            takes_own.eq(is_own_turn | ~before.p.some | (before.p.last & ~own.p.some)),
            before.ready.eq(joined.ready & ~is_own_turn & (own.valid | ~needs_own)),
            own.ready.eq(joined.ready & takes_own & (is_own_turn | before.valid)),
        ]
        with m.If(joined.valid & joined.ready):
            m.d.sync += is_own_turn.eq((is_own_turn | ends_before) & ~joined.p.last)
        return m
