"""A chain that takes raw values."""

from __future__ import annotations

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from penstock.rtl_lib.chain import Chain, ranked_ports
from penstock.rtl_lib.collector import COUNTER_BITS
from penstock.rtl_lib.front import Front


class RawMatcher(wiring.Component):
    """Make the codes of events, and test them against all tiles' subscriptions.

    Latency: that of the front and that of the chain. Throughput: that of the chain.

    Parameters
    ----------
    front : Front
        What makes the codes, of the chain's shape.
    chain : Chain
        The tiles.

    Members
    -------
    i : In(stream.Signature(front.raw_layout))
        Raw events and configuration words.
    o, events, chunks, stalls, and with a ranker best, busy
        Those of the chain.
    """

    def __init__(self, front: Front, chain: Chain) -> None:
        if front.shape != chain.shape:
            raise ValueError("the front has another shape than the chain")
        self.front = front
        self.chain = chain
        members = chain.signature.members
        super().__init__(
            {
                "i": front.signature.members["i"],
                "o": members["o"],
                "events": Out(COUNTER_BITS),
                "chunks": Out(COUNTER_BITS),
                "stalls": Out(COUNTER_BITS),
                **ranked_ports(chain.ranker),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.front = self.front
        m.submodules.chain = self.chain
        connect(m, flipped(self.i), self.front.i)
        connect(m, self.front.o, self.chain.i)
        connect(m, self.chain.o, flipped(self.o))
        if self.chain.ranker is not None:
            connect(m, self.chain.best, flipped(self.best))
            m.d.comb += self.busy.eq(self.chain.busy)
        for counter in ("events", "chunks", "stalls"):
            m.d.comb += getattr(self, counter).eq(getattr(self.chain, counter))
        return m
