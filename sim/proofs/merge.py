"""Two result links become one: all chunks of both, event by event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from penstock.rtl_lib.merge import Merge
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

EVENT_BITS = 2
"""Enough to tell the events apart that are under way at one time."""


@dataclass(frozen=True, slots=True)
class Spot:
    """How far the merged link has come: before an item, with what has been said by then."""

    event: Value
    is_first: Value
    """Whether the next item is its event's first."""
    own_came: Value
    """Whether the tile itself has had a chunk in this event."""
    before_count: Value
    own_count: Value
    """Chunks of each side that have been said since the first spot."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two links: the chunks taken from it, and the event it is in."""

    chunks: Book
    event: Signal
    is_first: Signal

    @staticmethod
    def entry(item: data.View, event: Value) -> Value:
        return Cat(item.bits, item.chunk, event)

    def comes_next(self, item: data.View, event: Value, index: Value) -> Value:
        """Whether the item is the chunk that comes after so many others."""
        return (self.chunks.count > index) & (self.chunks[index] == Side.entry(item, event))

    def has_more(self, event: Value, index: Value) -> Value:
        """Whether a chunk of this event is still to come, after so many others."""
        is_there = self.chunks.count > index
        return is_there & (self.chunks[index][-EVENT_BITS:] == event)


class MergeProof(Proof):
    """Chunks carry their side in the top bit of their number, as those of tiles do.

    What goes out is held against two books of what went in. For the induction the two items in
    the register slice behind it are followed too, up to what the inputs have said.
    """

    dut: Merge

    def state(self, m: Module, inside: Inside) -> None:
        dut = self.dut
        o, skid = dut.o, inside.part("out")
        before = self._side(m, "before", dut.before, 0)
        own = self._side(m, "own", dut.own, 1)
        start = Spot(
            Signal(EVENT_BITS, name="event"), Signal(init=1, name="is_first"),
            Signal(name="own_came"), Const(0, 2), Const(0, 2),
        )  # fmt: skip
        spare, has_spare = data.View(dut.layout, skid["spare"]), ~skid["is_spare_empty"]
        after_o = self._said(m, start, o.p, o.valid)
        with m.If(o.ready):
            m.d.sync += [
                start.event.eq(after_o.event),
                start.is_first.eq(after_o.is_first),
                start.own_came.eq(after_o.own_came),
            ]
        self._right(m, claim, start, o.p, o.valid, before, own)
        self._right(m, invariant, after_o, spare, has_spare, before, own)
        are_out = (before.chunks.count == 0) & (own.chunks.count == 0)
        claim(m, "nothing taken is hidden", are_out | o.valid)
        claim(m, "every event is answered", implies(own.event != start.event, o.valid))
        claim(m, "an offered item stays until it is taken", waits_steadily(m, o))
        invariant(m, "the spare register is used only behind an item", implies(has_spare, o.valid))
        taken = moves(dut.before) | moves(dut.own)
        # A side that has ended the event waits for the other, and so does one that might.
        may_go = Mux(
            before.event != own.event,
            dut.own.valid,
            dut.before.valid & (dut.own.valid | ~dut.before.p.last),
        )
        claim(m, "nothing waits for nothing", implies(may_go & ~o.valid, taken))
        end = self._said(m, after_o, spare, has_spare)
        self._ends_at_the_inputs(m, end, inside["is_own_turn"], before, own)
        self._covers(m, start)

    def _side(self, m: Module, name: str, link: wiring.PureInterface, tag: int) -> Side:
        """Follow a link and let in only what a result link may bring."""
        event = Signal(EVENT_BITS, name=f"{name}_event")
        is_first = Signal(init=1, name=f"{name}_is_first")
        with m.If(moves(link)):
            m.d.sync += [event.eq(event + link.p.last), is_first.eq(link.p.last)]
        item, is_marker = link.p, ~link.p.some
        assume(m, implies(link.valid & is_marker, item.last & is_first))
        assume(m, implies(link.valid, item.chunk[-1] == tag))
        # `before` goes out by what `own` shows and is not asked for yet: that must not change.
        assume(m, waits_steadily(m, link))
        said = moves(self.dut.o) & self.dut.o.p.some & (self.dut.o.p.chunk[-1] == tag)
        book = Book(
            m, name, 2, put=moves(link) & item.some, item=Side.entry(item, event), take=said
        )
        return Side(book, event, is_first)

    @staticmethod
    def _said(m: Module, spot: Spot, item: data.View, valid: Value) -> Spot:
        """Where the link is after the item, or where it was if there is none."""
        is_chunk, is_own = valid & item.some, item.chunk[-1]
        own_came = spot.own_came | (item.some & is_own)
        return Spot(
            named(m, spot.event + (valid & item.last), EVENT_BITS, "event_after"),
            named(m, Mux(valid, item.last, spot.is_first), 1, "is_first_after"),
            named(m, Mux(valid, ~item.last & own_came, spot.own_came), 1, "own_came_after"),
            named(m, spot.before_count + (is_chunk & ~is_own), 2, "before_count_after"),
            named(m, spot.own_count + (is_chunk & is_own), 2, "own_count_after"),
        )

    def _right(
        self,
        m: Module,
        asserted: Callable[..., None],
        spot: Spot,
        item: data.View,
        valid: Value,
        before: Side,
        own: Side,
    ) -> None:
        """The item is what has to come at this spot."""
        is_own, event = item.chunk[-1], spot.event
        after = self._said(m, spot, item, Const(1, 1))
        is_next = Mux(
            is_own,
            own.comes_next(item, event, spot.own_count),
            before.comes_next(item, event, spot.before_count),
        )
        is_more = before.has_more(event, after.before_count) | own.has_more(event, after.own_count)
        is_ended = (before.event != event) & (own.event != event)
        is_chunk, is_marker = valid & item.some, valid & ~item.some
        is_alone = item.last & spot.is_first
        asserted(m, "a chunk is its side's next", implies(is_chunk, is_next))
        asserted(m, "chunks from before go first", implies(is_chunk & ~is_own, ~spot.own_came))
        asserted(m, "a marker is alone in its event", implies(is_marker, is_alone))
        asserted(m, "the last item ends the event", implies(valid & item.last, is_ended & ~is_more))
        asserted(m, "any other item does not", implies(valid & ~item.last, is_more | ~is_ended))

    def _ends_at_the_inputs(
        self, m: Module, end: Spot, is_own_turn: Value, before: Side, own: Side
    ) -> None:
        """After all items under way, the link is where the inputs are."""
        invariant(
            m,
            "what is under way leads up to the inputs",
            before.chunks.count == end.before_count,
            own.chunks.count == end.own_count,
            own.event == end.event,
            before.event == (end.event + is_own_turn)[:EVENT_BITS],
            end.own_came == (is_own_turn & ~own.is_first),
            implies(is_own_turn, ~end.is_first & before.is_first),
            implies(~is_own_turn, own.is_first & (before.is_first == end.is_first)),
        )
        shown = self.dut.own.valid & self.dut.own.p.some
        invariant(m, "own turns begin with a chunk", implies(is_own_turn & own.is_first, shown))

    def _covers(self, m: Module, start: Spot) -> None:
        o, was_full = self.dut.o, Signal()
        m.d.sync += was_full.eq(was_full | (o.valid & ~o.ready))
        is_second = moves(o) & was_full & (start.event == 1)
        cover(m, "an event has chunks of both sides", is_second & start.own_came & o.p.last)
        cover(m, "an event has no chunk", is_second & ~o.p.some)
        cover(m, "a side has two chunks", is_second & ~start.is_first & ~o.p.chunk[-1])


CLAIMS = (
    Claim(
        "Merge(2, 4)",
        "all chunks of both sides, event by event, once and in order; offers are steady",
        lambda: MergeProof(Merge(2, 4)),
    ),
)
