"""The queue sends exactly the best matches of every event, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from penstock.rtl_lib.best_queue import BestQueue
from penstock.rtl_lib.scores import ScoreFormat, Worth
from penstock.sim.proofs.harness import (
    Book,
    Inside,
    Proof,
    assume,
    claim,
    cover,
    implies,
    invariant,
    moves,
    named,
    waits_steadily,
)
from penstock.sim.proofs.run import Claim

RANK_BITS = 2
SCORE_BITS = 2
SEQUENCE_BITS = 2
FORMAT = ScoreFormat.of([Worth(2**RANK_BITS - 1, 2**SCORE_BITS - 1)], 1, 1)


@dataclass(frozen=True)
class Matches:
    """By rank, whether an event has the match and its score; which is the best is counted."""

    present: Signal
    scores: list[Signal]

    def better(self, rank: int) -> Value:
        """How many matches are better than that of a rank, by the definition of better."""
        return sum(
            (
                self.present[other]
                & (
                    (score > self.scores[rank])
                    | ((score == self.scores[rank]) & Value.cast(other < rank))
                )
                for other, score in enumerate(self.scores)
            ),
            Value.cast(0),
        )

    def best(self, m: Module, name: str, number: Value | int) -> tuple[Value, Value, Value]:
        """Whether there is a match with so many better ones, its rank and its score."""
        is_it = [
            named(m, self.present[r] & (self.better(r) == number), 1, f"{name}_is_{r}")
            for r in range(len(self.scores))
        ]
        # One at most is it, as no two are better than the same number of others.
        rank = reduce(or_, (Mux(is_it[r], r, 0) for r in range(len(self.scores))))
        score = reduce(or_, (Mux(is_it[r], s, 0) for r, s in enumerate(self.scores)))
        return (
            Cat(*is_it).any(),
            named(m, rank, RANK_BITS, f"{name}_rank"),
            named(m, score, SCORE_BITS, f"{name}_score"),
        )


class BestQueueProof(Proof):
    """A table says which matches an event has. What is the n-th best is counted, not sorted."""

    dut: BestQueue

    def state(self, m: Module, inside: Inside) -> None:
        i, o, k = self.dut.i, self.dut.o, self.dut.k
        ends = named(m, moves(i) & i.p.last, 1, "ends")
        # The matches of the event that comes, without and with the one that comes now.
        here = _matches("here")
        with_new = _matches("with_new")
        is_new = [moves(i) & i.p.some & (i.p.rank == rank) for rank in range(2**RANK_BITS)]
        m.d.comb += with_new.present.eq(here.present | Cat(*is_new))
        for rank, (old, new) in enumerate(zip(here.scores, with_new.scores, strict=True)):
            m.d.comb += new.eq(old)
            with m.If(is_new[rank]):
                m.d.comb += new.eq(i.p.score)
            m.d.sync += old.eq(new)
        m.d.sync += here.present.eq(with_new.present)
        with m.If(ends):
            m.d.sync += here.present.eq(0)
        assume(m, implies(i.valid & i.p.some, ~here.present.bit_select(i.p.rank, 1)))
        claim(m, "a match that does not end its event never waits", i.ready | i.p.last)
        for number in range(k):
            cell = self._cell(inside, f"cell_{number}")
            found = here.best(m, f"cell_{number}", number)
            invariant(m, "cells hold the best so far", *_holds(cell, found))
        sent, put, items = self._leaving(m, inside, ends, with_new)
        book = Book(m, "sent", 2, put=put, item=items, take=moves(o))
        out = inside.part("out")
        is_room = out["i__ready"]
        claim(m, "as many wait as were sent and not taken", book.count == o.valid + ~is_room)
        invariant(m, "the spare register is used only behind an item", is_room | o.valid)
        claim(m, "the oldest is offered", implies(o.valid, Value.cast(o.payload) == book[0]))
        spare = Value.cast(out["spare"])
        invariant(m, "the spare register holds the next", implies(~is_room, spare == book[1]))
        claim(m, "an offer stays until it is taken", waits_steadily(m, o))
        cover(m, "the last of k comes out while the next event fills",
              moves(o) & o.p.last & (sent == k) & here.present.any())  # fmt: skip

    def _leaving(
        self, m: Module, inside: Inside, ends: Value, ending: Matches
    ) -> tuple[Signal, Value, Value]:
        """The event that ended last: how many were sent of it; what is sent now, if anything."""
        i, k = self.dut.i, self.dut.k
        ended = _matches("ended")
        sequence, sent = Signal(SEQUENCE_BITS), Signal(range(k + 2))
        put = named(m, inside["i__valid"] & inside.part("out")["i__ready"], 1, "put")
        item = data.View(self.dut.layout, inside["i__payload"])
        with m.If(ends):
            m.d.sync += [sequence.eq(i.p.sequence), sent.eq(0)]
            m.d.sync += ended.present.eq(ending.present)
            for old, new in zip(ended.scores, ending.scores, strict=True):
                m.d.sync += old.eq(new)
        with m.Elif(put):
            m.d.sync += sent.eq(sent + 1)
        count = named(m, sum(ended.present, Value.cast(0)), 3, "count")
        limit = named(m, Mux(count > k, k, count), 3, "limit")
        exists, rank, score = ended.best(m, "next", sent)
        claim(m, "what goes out is the next best", implies(put, exists & (sent < k)))
        claim(m, "with its rank", implies(put, item.rank == rank))
        claim(m, "and its score", implies(put, item.score == score))
        claim(m, "and the number of its event", implies(put, item.sequence == sequence))
        claim(m, "last is with the last", implies(put, item.last == (sent + 1 == limit)))
        claim(
            m, "an event ends when all of the one before went", implies(ends, sent + put == limit)
        )
        invariant(m, "no more were sent than there are", sent <= limit)
        invariant(
            m, "the number stays", implies(inside["i__valid"], inside["sequence"] == sequence)
        )
        for number in range(k):
            cell = self._cell(inside, f"leaving_{number}")
            place = named(m, sent + number, 3, f"place_{number}")
            exists, *rest = ended.best(m, f"leaving_{number}", place)
            found = (exists & (place < k), *rest)
            invariant(m, "what leaves is in order", *_holds(cell, found))
        return sent, put, item.as_value()

    def _cell(self, inside: Inside, name: str) -> data.View[data.StructLayout]:
        return data.View(self.dut.cell_layout, inside[name])


def _matches(name: str) -> Matches:
    scores = [Signal(SCORE_BITS, name=f"{name}_score_{n}") for n in range(2**RANK_BITS)]
    return Matches(Signal(2**RANK_BITS, name=f"{name}_present"), scores)


def _holds(cell: data.View[data.StructLayout], found: Iterable[Value]) -> tuple[Value, Value]:
    """Whether a cell holds a match: whether there is one, its rank and its score."""
    exists, rank, score = found
    return cell.valid == exists, implies(cell.valid, cell.key == Cat(~rank, score))


def _proof_of(k: int) -> BestQueueProof:
    return BestQueueProof(BestQueue(k, FORMAT, SEQUENCE_BITS))


CLAIMS = tuple(
    Claim(
        f"BestQueue({k}), {2**RANK_BITS} ranks, {2**SCORE_BITS} scores",
        "the best of every event, in order, ties by rank; matches never wait, ends do",
        partial(_proof_of, k),
        cover_depth=16,
    )
    for k in (2, 1, 3)
)
