"""Which match bits the circuit ranks, and which leave it as they are."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.results import match_layout


class MatchSplit(wiring.Component):
    """Part the bits of each chunk in two: those that are ranked, and the rest.

    Latency: 1 cycle. Throughput: 1 chunk per cycle while both outputs take theirs.

    Parameters
    ----------
    chunk_bits, sequence_bits : int
        Width of a chunk, and of an event's number.
    masks : sequence of int
        For each chunk of the circuit the bits that can be ranked.

    Members
    -------
    ranks : In(1)
        Whether anything is ranked; else all bits are the rest. It may change only while neither
        output has an item.
    i : In(stream.Signature(match_layout(...)))
        Non-empty chunks of matches.
    ranked : Out(stream.Signature(match_layout(...)))
        The ranked bits, where there are any or the event ends. Every event that came ends here.
    rest : Out(stream.Signature(match_layout(...)))
        The other bits, where there are any. ``last`` is as it came: an event whose last chunk has
        no other bits does not end here.
    """

    def __init__(self, chunk_bits: int, sequence_bits: int, masks: Sequence[int]) -> None:
        self.chunk_bits = chunk_bits
        self.masks = tuple(masks)
        if not all(0 <= mask < 2**chunk_bits for mask in self.masks):
            raise ValueError(f"a mask is wider than the {chunk_bits} bits of a chunk")
        self.layout = match_layout(chunk_bits, len(self.masks), sequence_bits)
        super().__init__(
            {
                "ranks": In(1),
                "i": In(stream.Signature(self.layout)),
                "ranked": Out(stream.Signature(self.layout)),
                "rest": Out(stream.Signature(self.layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = max(2, len(self.masks))
        m.submodules.masks = masks = Memory(shape=self.chunk_bits, depth=depth, init=self.masks)
        mask = masks.read_port()
        held = Signal(self.layout, reset_less=True)
        is_held = Signal()
        # What has been taken from one output while the other waits.
        was_ranked, was_rest = Signal(), Signal()
        ranked, rest = self.ranked, self.rest
        m.d.comb += [
            mask.addr.eq(self.i.p.chunk),
            mask.en.eq(self.i.ready),
            ranked.payload.eq(held),
            rest.payload.eq(held),
            ranked.p.bits.eq(held.bits & mask.data),
            ranked.valid.eq(is_held & self.ranks & ~was_ranked & (ranked.p.bits.any() | held.last)),
            rest.valid.eq(is_held & ~was_rest & rest.p.bits.any()),
        ]
        with m.If(self.ranks):
            m.d.comb += rest.p.bits.eq(held.bits & ~mask.data)
        are_done = (~ranked.valid | ranked.ready) & (~rest.valid | rest.ready)
        m.d.comb += self.i.ready.eq(~is_held | are_done)
        with m.If(self.i.ready):
            m.d.sync += [
                is_held.eq(self.i.valid),
                held.eq(self.i.payload),
                was_ranked.eq(0),
                was_rest.eq(0),
            ]
        with m.Else():
            m.d.sync += [
                was_ranked.eq(was_ranked | (ranked.valid & ranked.ready)),
                was_rest.eq(was_rest | (rest.valid & rest.ready)),
            ]
        return m
