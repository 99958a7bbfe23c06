"""The collector passes every non-empty chunk once, numbered, and counts right."""

from __future__ import annotations

from amaranth import Module, Signal

from penstock.rtl_lib.collector import COUNTER_BITS, Collector
from penstock.sim.proofs.harness import (
    Inside,
    Proof,
    assume,
    claim,
    cover,
    implies,
    invariant,
    moves,
    waits_steadily,
)
from penstock.sim.proofs.run import Claim


class CollectorProof(Proof):
    """There are no registers on the way, so each cycle is held against the rules by itself."""

    dut: Collector

    def state(self, m: Module, inside: Inside) -> None:
        dut, i, o = self.dut, self.dut.i, self.dut.o
        events, chunks, stalls = (Signal(COUNTER_BITS, name=f"counted_{n}") for n in range(3))
        m.d.sync += [
            events.eq(events + (moves(i) & i.p.last)),
            chunks.eq(chunks + moves(o)),
            stalls.eq(stalls + (o.valid & ~o.ready)),
        ]
        claim(m, "a chunk goes out when it comes in", moves(o) == (moves(i) & i.p.some))
        claim(m, "a chunk is offered at once", o.valid == (i.valid & i.p.some))
        claim(m, "what is no chunk passes under any stall", implies(i.valid & ~i.p.some, i.ready))
        for field in ("bits", "chunk", "last"):
            claim(m, f"{field} is what came in", implies(o.valid, o.p[field] == i.p[field]))
        number = events[: dut.sequence_bits]
        claim(m, "a chunk has the number of its event", implies(o.valid, o.p.sequence == number))
        invariant(m, "the number is that of finished events", inside["sequence"] == number)
        claim(m, "events counts finished events", dut.events == events)
        claim(m, "chunks counts what was sent", dut.chunks == chunks)
        claim(m, "stalls counts cycles in which o was not taken", dut.stalls == stalls)
        assume(m, waits_steadily(m, i))
        claim(m, "an offered chunk stays until it is taken", waits_steadily(m, o))
        cover(m, "a chunk of the third event comes out", moves(o) & (events == 2) & (chunks == 1))
        cover(m, "the number has begun anew", moves(o) & (events == 2**dut.sequence_bits))
        cover(m, "a chunk had to wait", moves(o) & (stalls == 2))


CLAIMS = (
    Claim(
        "Collector(2, 4), sequence of 2 bits",
        "nothing lost, nothing twice, in order; numbers and counters are right",
        lambda: CollectorProof(Collector(2, 4, sequence_bits=2)),
    ),
)
