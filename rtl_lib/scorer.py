"""What each match is worth: memories, multipliers and a sum."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth import Array, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.delay import delayed
from penstock.rtl_lib.scores import ScoreFormat, Worth, position_layout


class Scorer(wiring.Component):
    """Look up what a match is worth, multiply its weights by their factors, and add up.

    A row of memory has the base and the terms, each a weight and the number of its factor. There
    is a multiplier for each term, and the sum is a tree with registers between.

    Latency: `cycles`, that is 3 and one for each level of the tree. Throughput: 1 match per cycle.

    Parameters
    ----------
    position_bits, sequence_bits : int
        Width of the number of a match bit, and of an event.
    score_format : ScoreFormat
        The widths of all numbers.
    worths : mapping of int to Worth
        By match bit, what it is worth. Other bits do not come.

    Members
    -------
    factors : In(ArrayLayout(factor_bits, factor_count))
        What weights are multiplied with. They may change only while there are no matches here.
    i : In(stream.Signature(position_layout(...)))
        Matches, and ends of events.
    o : Out(stream.Signature(score_format.scored_layout(...)))
        The same with their scores, from registers.
    busy : Out(1)
        Whether there are any inside.
    """

    def __init__(
        self,
        position_bits: int,
        sequence_bits: int,
        score_format: ScoreFormat,
        worths: Mapping[int, Worth],
    ) -> None:
        self.score_format = score_format
        self.worths = dict(worths)
        if not all(0 <= position < 2**position_bits for position in self.worths):
            raise ValueError(f"a match bit's number does not fit into {position_bits} bits")
        self.cycles = 3 + score_format.term_count.bit_length()
        factors = data.ArrayLayout(score_format.factor_bits, score_format.factor_count)
        super().__init__(
            {
                "factors": In(factors),
                "i": In(stream.Signature(position_layout(position_bits, sequence_bits))),
                "o": Out(stream.Signature(score_format.scored_layout(sequence_bits))),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = self.score_format.row_layout
        depth = 2 ** len(self.i.p.position)
        init = [
            self.score_format.row(self.worths[n]) if n in self.worths else {}
            for n in range(1 + max(self.worths))
        ]
        m.submodules.rows = rows = Memory(shape=layout, depth=depth, init=init)
        read, o = rows.read_port(), self.o
        advance = Signal()
        m.d.comb += [
            advance.eq(o.ready | ~o.valid),
            self.i.ready.eq(advance),
            read.addr.eq(self.i.p.position),
            read.en.eq(advance),
        ]
        valid = [Value.cast(self.i.valid)]
        for _ in range(self.cycles):
            valid.append(delayed(m, valid[-1], 1, advance))
        m.d.comb += [
            o.valid.eq(valid[-1]),
            o.p.score.eq(self._score(m, read.data, advance)),
            o.p.rank.eq(delayed(m, read.data.rank, self.cycles - 1, advance, is_data=True)),
            self.busy.eq(sum(valid[1:], Value.cast(0)).any()),
        ]
        for name in ("sequence", "some", "last"):
            value = delayed(m, self.i.p[name], self.cycles, advance, is_data=True)
            m.d.comb += o.p[name].eq(value)
        return m

    def _score(self, m: Module, row: data.View[data.StructLayout], advance: Value) -> Value:
        """Base and products added up, `cycles - 1` cycles after the row."""
        known = Array(self.factors[n] for n in range(self.score_format.factor_count))
        parts = [delayed(m, row.base, 2, advance, is_data=True)]
        for number in range(self.score_format.term_count):
            term = row.terms[number]
            factor = delayed(m, known[term.factor], 1, advance, is_data=True)
            weight = delayed(m, term.weight, 1, advance, is_data=True)
            parts.append(delayed(m, factor * weight, 1, advance, is_data=True))
        while len(parts) > 1:
            pairs = [parts[n : n + 2] for n in range(0, len(parts), 2)]
            parts = [delayed(m, _sum(pair), 1, advance, is_data=True) for pair in pairs]
        return parts[0]


def _sum(values: list[Value]) -> Value:
    return values[0] + values[1] if len(values) == 2 else values[0]
