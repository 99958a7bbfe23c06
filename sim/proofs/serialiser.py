"""Vectors of match bits become their non-empty chunks, every one once and in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from penstock.rtl_lib.serialiser import Serialiser
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
    named,
    waits_steadily,
)
from penstock.sim.proofs.run import Claim

INDEX_BITS = 3
"""For the up to five vectors that can be under way."""
WAIT_CYCLES = 3
"""Cycles between taking a vector and offering its first chunk, where nothing is in the way."""


@dataclass(frozen=True, slots=True)
class Spot:
    """How far the link has come: the vector it is in, and which of its chunks it has sent."""

    index: Value
    sent: Value


class SerialiserProof(Proof):
    """What goes out is held against a book of the vectors that were taken.

    For the induction, the three items under way are followed in the same way, up to the two
    vectors that wait.
    """

    dut: Serialiser

    def state(self, m: Module, inside: Inside) -> None:
        dut, o, skid = self.dut, self.dut.o, inside.part("out")
        self._taken = Book(
            m, "taken", INDEX_BITS,
            put=dut.valid & dut.advance, item=dut.hits, take=moves(o) & o.p.last,
        )  # fmt: skip
        start = Spot(Const(0, INDEX_BITS), Signal(dut.own_chunks, name="sent"))
        spare, has_spare = data.View(dut.layout, skid["spare"]), ~skid["is_spare_empty"]
        leaving = data.View(dut.layout, inside["i__payload"])
        after_o = self._next(m, start, o.valid)
        with m.If(o.ready):
            m.d.sync += start.sent.eq(after_o.sent)
        after_spare = self._next(m, after_o, has_spare)
        self._right(m, claim, start, o.p, o.valid)
        self._right(m, invariant, after_o, spare, has_spare)
        self._right(m, invariant, after_spare, leaving, inside["i__valid"])
        invariant(m, "the spare register is used only behind an item", implies(has_spare, o.valid))
        claim(m, "an offered item stays until it is taken", waits_steadily(m, o))
        end = self._next(m, after_spare, inside["i__valid"])
        self._waiting(m, inside, end, has_spare)
        waited = Signal(range(WAIT_CYCLES + 2))
        is_late = (self._taken.count != 0) & ~o.valid
        m.d.sync += waited.eq(Mux(is_late, waited + (waited <= WAIT_CYCLES), 0))
        claim(m, "a vector is answered in four cycles", implies(~o.valid, waited < WAIT_CYCLES))
        self._covers(m)

    def _chunks(self, index: Value) -> list[Value]:
        """The chunks of a vector in the book."""
        vector, bits = Cat(self._taken[index]), self.dut.chunk_bits
        return [vector[start : start + bits] for start in range(0, len(vector), bits)]

    def _left(self, m: Module, spot: Spot) -> Value:
        """Which of the vector's chunks are still to be sent."""
        filled = Cat(chunk.any() for chunk in self._chunks(spot.index))
        return named(m, filled & ~spot.sent, self.dut.own_chunks, "left")

    def _next(self, m: Module, spot: Spot, valid: Value) -> Spot:
        """The spot after the item that has to come at this one, if there is an item."""
        left = self._left(m, spot)
        rest = left & (left - 1)
        is_last = valid & (rest == 0)
        sent = Mux(is_last, 0, spot.sent | (left & ~rest))
        return Spot(
            named(m, spot.index + is_last, INDEX_BITS, "index"),
            named(m, Mux(valid, sent, spot.sent), self.dut.own_chunks, "sent"),
        )

    def _right(
        self,
        m: Module,
        asserted: Callable[..., None],
        spot: Spot,
        item: data.View,
        valid: Value,
    ) -> None:
        """The item is what has to come at this spot."""
        left = self._left(m, spot)
        number, bits, others = Const(0), Const(0), Const(0)
        for index, chunk in reversed([*enumerate(self._chunks(spot.index))]):
            others = Mux(left[index], left[index + 1 :].any(), others)
            number = Mux(left[index], index, number)
            bits = Mux(left[index], chunk, bits)
        is_chunk, is_none = valid & left.any(), valid & ~left.any()
        asserted(m, "there is an event to answer", implies(valid, self._taken.count > spot.index))
        asserted(
            m,
            "the lowest chunk that is left comes next",
            implies(is_chunk, item.some & (item.bits == bits) & (item.last == ~others.any())),
            implies(is_chunk, item.chunk == self.dut.first_chunk + number),
        )
        asserted(m, "an empty vector is one marker", implies(is_none, ~item.some & item.last))

    def _waiting(self, m: Module, inside: Inside, spot: Spot, has_spare: Value) -> None:
        """After all items under way come the vector that is being cut and the one behind it."""
        valid, next_valid = inside["valid"], inside["next_valid"]
        chosen, rest = inside["chosen"], inside["rest"]
        chunks = range(self.dut.own_chunks)
        held = Cat(inside[f"held_{number}"] for number in chunks)
        following = Cat(inside[f"next_{number}"] for number in chunks)
        index = named(m, spot.index + valid, INDEX_BITS, "index")
        behind = Spot(index, Const(0, self.dut.own_chunks))
        left = self._left(m, spot)
        invariant(
            m,
            "what is under way leads up to the inputs",
            self._taken.count == (behind.index + next_valid)[:INDEX_BITS],
            implies(valid, held == self._taken[spot.index]),
            implies(valid, (rest == (left & (left - 1))) & (chosen == (left & ~rest))),
            implies(~valid, spot.sent == 0),
            implies(next_valid, following == self._taken[behind.index]),
            implies(next_valid, inside["next_some"] == self._left(m, behind)),
            self.dut.advance == (~valid | (~has_spare & (rest == 0))),
        )

    def _covers(self, m: Module) -> None:
        o = self.dut.o
        was_full, out = Signal(), Signal(2)
        m.d.sync += [
            was_full.eq(was_full | (~self.dut.advance & (self._taken.count == 5))),
            out.eq(out + (moves(o) & o.p.last)),
        ]
        cover(m, "the third event comes out, and all was full", was_full & (out == 2) & moves(o))
        if self.dut.own_chunks > 1:
            cover(m, "a second chunk comes out", moves(o) & before(m, moves(o) & ~o.p.last))
        cover(m, "a marker comes out", moves(o) & ~o.p.some)


SAYS = "the non-empty chunks of every vector, once and in order; offers are steady"

CLAIMS = (
    Claim("Serialiser(5), 3 chunks of 2", SAYS,
          lambda: SerialiserProof(Serialiser(5, chunk_bits=2, chunk_count=7, first_chunk=4)),
          depth=6, cover_depth=16),
    Claim("Serialiser(9), 5 chunks of 2", SAYS,
          lambda: SerialiserProof(Serialiser(9, chunk_bits=2, chunk_count=13, first_chunk=8)),
          depth=6, cover_depth=16),
    Claim("Serialiser(2), 1 chunk of 2", SAYS,
          lambda: SerialiserProof(Serialiser(2, chunk_bits=2, chunk_count=4, first_chunk=3)),
          depth=6, cover_depth=16),
)  # fmt: skip
