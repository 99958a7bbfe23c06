"""The end of a chain that ranks: matches in, the k best of each event out."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from penstock.rtl_lib.best_queue import BestQueue
from penstock.rtl_lib.bit_serialiser import BitSerialiser
from penstock.rtl_lib.collector import COUNTER_BITS
from penstock.rtl_lib.events import config_layout
from penstock.rtl_lib.match_split import MatchSplit
from penstock.rtl_lib.results import match_layout
from penstock.rtl_lib.scorer import Scorer
from penstock.rtl_lib.scores import ScoreFormat, Worth


class Ranker(wiring.Component):
    """Take the match bits that are ranked out of the matches, and send the best of each event.

    It is off after reset: all matches pass. A word with bit 0 set at address ``base`` turns it on,
    one with bit 0 clear off. The word at address ``base + 1 + n`` replaces factor ``n``; all are 1
    after reset. These words are not ordered with events: they may be sent only when all events
    before them have been answered and ``busy`` is low.

    Latency: 1 cycle for matches that pass; ``4 + Scorer.cycles`` from an event's last chunk, if it
    has one match, to the best match. Throughput: 1 match per cycle. An event takes as many cycles
    as it has matches that are ranked, or non-empty chunks, or as the event before has results,
    whichever is most.

    Parameters
    ----------
    chunk_bits, chunk_count, address_bits : int
        Those of the chain; ``chunk_bits`` is a power of two.
    k : int
        How many matches of an event are sent at most.
    score_format : ScoreFormat
        Widths of all numbers, and how many factors there are.
    worths : mapping of int to Worth
        By match bit, which is ``chunk * chunk_bits`` and its place there, what it is worth. All
        others pass.
    base : int
        The first address.

    Members
    -------
    i : In(stream.Signature(match_layout(...)))
        Matches, as the collector sends them.
    word, has_word : In(config_layout(...)), In(1)
        A configuration word, and whether there is one. Other addresses are nothing to this.
    o : Out(stream.Signature(match_layout(...)))
        Matches that pass. While the ranker is on, an event may have none with ``last``.
    best : Out(stream.Signature(score_format.best_layout(...)))
        The best matches of each event that has any.
    busy : Out(1)
        Whether there are any matches inside.
    """

    def __init__(
        self,
        *,
        chunk_bits: int,
        chunk_count: int,
        address_bits: int,
        k: int,
        score_format: ScoreFormat,
        worths: Mapping[int, Worth],
        base: int,
    ) -> None:
        self.score_format = score_format
        self.addresses = range(base, base + 1 + self.score_format.factor_count)
        if self.addresses.stop > 2**address_bits:
            raise ValueError(
                f"addresses {base} to {self.addresses[-1]} do not fit into {address_bits} bits"
            )
        if len({worth.rank for worth in worths.values()}) < len(worths):
            raise ValueError("two matches have the same rank")
        self.k = k
        self.chunk_bits, self.chunk_count = chunk_bits, chunk_count
        self.worths = dict(worths)
        matches = match_layout(chunk_bits, chunk_count, COUNTER_BITS)
        super().__init__(
            {
                "i": In(stream.Signature(matches)),
                "word": In(config_layout(chunk_bits, address_bits)),
                "has_word": In(1),
                "o": Out(stream.Signature(matches)),
                "best": Out(stream.Signature(self.score_format.best_layout(COUNTER_BITS))),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        split = MatchSplit(self.chunk_bits, COUNTER_BITS, self._masks())
        bits = BitSerialiser(self.chunk_bits, self.chunk_count, COUNTER_BITS)
        scorer = Scorer(bits.position_bits, COUNTER_BITS, self.score_format, self.worths)
        queue = BestQueue(self.k, self.score_format, COUNTER_BITS)
        m.submodules.split, m.submodules.bits = split, bits
        m.submodules.scorer, m.submodules.queue = scorer, queue
        connect(m, flipped(self.i), split.i)
        connect(m, split.rest, flipped(self.o))
        connect(m, split.ranked, bits.i)
        connect(m, bits.o, scorer.i)
        connect(m, scorer.o, queue.i)
        connect(m, queue.o, flipped(self.best))
        is_in_split = split.rest.valid | split.ranked.valid
        m.d.comb += self.busy.eq(is_in_split | bits.o.valid | scorer.busy | queue.busy)
        self._configure(m, split, scorer)
        return m

    def _configure(self, m: Module, split: MatchSplit, scorer: Scorer) -> None:
        """The registers that configuration words replace."""
        ranks = Signal()
        with m.If(self.has_word & (self.word.address == self.addresses[0])):
            m.d.sync += ranks.eq(self.word.bits[0])
        m.d.comb += split.ranks.eq(ranks)
        for number, address in enumerate(self.addresses[1:]):
            factor = Signal(self.score_format.factor_bits, init=1, name=f"factor_{number}")
            with m.If(self.has_word & (self.word.address == address)):
                m.d.sync += factor.eq(self.word.bits)
            m.d.comb += scorer.factors[number].eq(factor)

    def _masks(self) -> list[int]:
        """For each chunk the bits that are ranked."""
        masks = [0] * self.chunk_count
        for position in self.worths:
            chunk, bit = divmod(position, self.chunk_bits)
            masks[chunk] |= 1 << bit
        return masks
