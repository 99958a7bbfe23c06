"""The k best of each event."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from penstock.rtl_lib.scores import ScoreFormat
from penstock.rtl_lib.skid_buffer import SkidBuffer


class BestQueue(wiring.Component):
    """Keep the k best matches of an event in order, and send them when the event ends.

    A row of ``k`` cells, best first. A match is compared with all of them at once: cells that hold
    better ones stay as they are, the first that does not takes it, and those behind take over what
    was before them. When an event ends, the row goes into registers of its own that shift it out,
    while the cells fill with the next event.

    Latency: 2 cycles from the end of an event to its best match. Throughput: 1 match per cycle in
    and one out. An event ends here only when the results of the one before have left, so it takes
    as many cycles as it has matches, or as the one before has results, whichever is more.

    Parameters
    ----------
    k : int
        How many are kept.
    score_format : ScoreFormat
        Widths of scores and ranks.
    sequence_bits : int
        Width of an event's number.

    Members
    -------
    i : In(stream.Signature(score_format.scored_layout(...)))
        The matches of events, in any order of scores, each event with a ``last`` item. No two of
        an event have the same rank.
    o : Out(stream.Signature(score_format.best_layout(...)))
        Up to ``k`` of each event, the highest score first, of equal scores the lowest rank;
        ``last`` with the final one. Events without matches are left out.
    busy : Out(1)
        Whether results of an event that has ended are still here.
    """

    def __init__(self, k: int, score_format: ScoreFormat, sequence_bits: int) -> None:
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        self.k = k
        self.cell_layout = data.StructLayout(
            {"key": score_format.rank_bits + score_format.score_bits, "valid": 1}
        )
        self.rank_bits = score_format.rank_bits
        self.layout = score_format.best_layout(sequence_bits)
        scored = score_format.scored_layout(sequence_bits)
        super().__init__(
            {
                "i": In(stream.Signature(scored)),
                "o": Out(stream.Signature(self.layout)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.out = out = SkidBuffer(self.layout)
        connect(m, out.o, flipped(self.o))
        cells = [Signal(self.cell_layout, name=f"cell_{n}") for n in range(self.k)]
        leaving = [Signal(self.cell_layout, name=f"leaving_{n}") for n in range(self.k)]
        sequence = Signal(len(self.i.p.sequence), reset_less=True)
        is_final = Signal()
        is_loaded = Signal()
        m.d.comb += [
            is_final.eq(~leaving[1].valid if self.k > 1 else 1),
            # An end waits until the last result of the event before goes.
            self.i.ready.eq(~self.i.p.last | ~leaving[0].valid | (out.i.ready & is_final)),
            is_loaded.eq(self.i.valid & self.i.ready & self.i.p.last),
            out.i.valid.eq(leaving[0].valid),
            out.i.p.rank.eq(~leaving[0].key[: self.rank_bits]),
            out.i.p.score.eq(leaving[0].key[self.rank_bits :]),
            out.i.p.sequence.eq(sequence),
            out.i.p.last.eq(is_final),
            self.busy.eq(leaving[0].valid | self.o.valid),
        ]
        with m.If(is_loaded):
            m.d.sync += sequence.eq(self.i.p.sequence)
        following = self._inserted(m, cells)
        for cell, taken in zip(cells, following, strict=True):
            with m.If(self.i.valid & self.i.ready):
                m.d.sync += [cell.key.eq(taken.key), cell.valid.eq(taken.valid & ~self.i.p.last)]
        # What leaves is the row as the event's last match makes it; then it shifts on.
        for number, place in enumerate(leaving):
            with m.If(is_loaded):
                m.d.sync += place.eq(following[number])
            with m.Elif(out.i.ready):
                m.d.sync += place.eq(leaving[number + 1] if number + 1 < self.k else 0)
        return m

    def _inserted(self, m: Module, cells: list[Value]) -> list[Signal]:
        """The cells as they are with the match that comes, if any comes."""
        new = Signal(self.cell_layout)
        # Of equal scores the lower rank is better, so of its complement the higher.
        m.d.comb += [
            new.key.eq(Cat(~self.i.p.rank, self.i.p.score)),
            new.valid.eq(self.i.p.some),
        ]
        following = []
        is_past = Value.cast(0)  # whether the match went into a cell before
        for number, cell in enumerate(cells):
            is_better = Signal(name=f"is_better_{number}")
            m.d.comb += is_better.eq(new.valid & (~cell.valid | (new.key > cell.key)))
            before = cells[number - 1].as_value() if number else new.as_value()
            shifted = Mux(is_past, before, new.as_value())
            made = Signal(self.cell_layout, name=f"following_{number}")
            m.d.comb += made.eq(Mux(is_better, shifted, cell.as_value()))
            following.append(made)
            is_past = is_better
        return following
