"""The register slice loses nothing, doubles nothing and keeps the order."""

from __future__ import annotations

from amaranth import Module, Signal, Value

from penstock.rtl_lib.skid_buffer import SkidBuffer
from penstock.sim.proofs.harness import (
    Book,
    Inside,
    Proof,
    before,
    claim,
    cover,
    implies,
    invariant,
    moves,
    waits_steadily,
)
from penstock.sim.proofs.run import Claim


class SkidBufferProof(Proof):
    """What goes out is held against a book of what went in, under any stalls."""

    dut: SkidBuffer

    def state(self, m: Module, inside: Inside) -> None:
        i, o = self.dut.i, self.dut.o
        spare = Value.cast(inside["spare"])
        item = Value.cast(i.payload)
        sent = Book(m, "sent", 2, put=moves(i), item=item, take=moves(o))
        claim(m, "as many wait as went in and did not come out", sent.count == o.valid + ~i.ready)
        invariant(m, "the spare register is used only behind an item", i.ready | o.valid)
        claim(m, "the oldest item is offered", implies(o.valid, Value.cast(o.payload) == sent[0]))
        invariant(m, "the spare register holds the next item", implies(~i.ready, spare == sent[1]))
        claim(m, "an offered item stays until it is taken", waits_steadily(m, o))
        claim(m, "an item takes one cycle", implies(before(m, moves(i)), o.valid))
        claim(m, "an item passes in every cycle while o is ready", before(m, ~o.ready) | i.ready)
        claim(m, "ready_next foretells ready", i.ready == before(m, self.dut.ready_next, init=1))
        was_full, out = Signal(), Signal(2)
        m.d.sync += [was_full.eq(was_full | ~i.ready), out.eq(out + moves(o))]
        cover(m, "three items come out, two of which had to wait", was_full & (out == 3))


CLAIMS = (
    Claim(
        "SkidBuffer(4)",
        "nothing lost, nothing twice, in order; one cycle; offers are steady",
        lambda: SkidBufferProof(SkidBuffer(4)),
    ),
)
