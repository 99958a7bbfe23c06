"""What matches are worth, as numbers in memories, and how scored matches travel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amaranth.lib import data

from penstock.rtl_lib.results import index_width


@dataclass(frozen=True, slots=True)
class Worth:
    """A match that is worth ``base``, and each term's weight times the factor of its number."""

    rank: int
    """Its place among all that are ranked: of equal scores the lower rank is better."""
    base: int
    terms: tuple[tuple[int, int], ...] = ()
    """Pairs of a factor's number and a weight."""


@dataclass(frozen=True, slots=True)
class ScoreFormat:
    """How wide the numbers must be for some matches, so that no score ever overflows."""

    factor_count: int
    """Factors that exist; at least one."""
    factor_bits: int
    term_count: int
    """Terms of the match that has most."""
    rank_bits: int
    base_bits: int
    weight_bits: int
    score_bits: int

    @staticmethod
    def of(worths: Iterable[Worth], factor_count: int, factor_bits: int) -> ScoreFormat:
        """The narrowest format for these matches; ValueError if there are none."""
        known = tuple(worths)
        if not known:
            raise ValueError("there must be at least one match that is ranked")
        weights = [[weight for _, weight in worth.terms] for worth in known]
        highest_factor = 2**factor_bits - 1
        scores = (w.base + sum(ws) * highest_factor for w, ws in zip(known, weights, strict=True))
        return ScoreFormat(
            factor_count=max(1, factor_count),
            factor_bits=factor_bits,
            term_count=max(map(len, weights)),
            rank_bits=index_width(1 + max(worth.rank for worth in known)),
            base_bits=_width(max(worth.base for worth in known)),
            weight_bits=_width(max((weight for ws in weights for weight in ws), default=0)),
            score_bits=_width(max(scores)),
        )

    @property
    def row_layout(self) -> data.StructLayout:
        """A row of the memory that says what a match bit is worth."""
        term = {"factor": index_width(self.factor_count), "weight": self.weight_bits}
        return data.StructLayout(
            {
                "rank": self.rank_bits,
                "base": self.base_bits,
                "terms": data.ArrayLayout(data.StructLayout(term), self.term_count),
            }
        )

    def row(self, worth: Worth) -> Mapping[str, object]:
        """A match in that layout; terms that it does not have weigh nothing."""
        terms = [*worth.terms, *[(0, 0)] * (self.term_count - len(worth.terms))]
        return {
            "rank": worth.rank,
            "base": worth.base,
            "terms": [{"factor": factor, "weight": weight} for factor, weight in terms],
        }

    def scored_layout(self, sequence_bits: int) -> data.StructLayout:
        """A match with its score, or with ``some`` low nothing but the end of an event."""
        return data.StructLayout({**self._fields(sequence_bits), "some": 1, "last": 1})

    def best_layout(self, sequence_bits: int) -> data.StructLayout:
        """What leaves the circuit: one of the best of the event with this number."""
        return data.StructLayout({**self._fields(sequence_bits), "last": 1})

    def _fields(self, sequence_bits: int) -> dict[str, int]:
        return {"rank": self.rank_bits, "score": self.score_bits, "sequence": sequence_bits}


def position_layout(position_bits: int, sequence_bits: int) -> data.StructLayout:
    """The number of a match bit, or with ``some`` low nothing but the end of an event."""
    return data.StructLayout(
        {"position": position_bits, "sequence": sequence_bits, "some": 1, "last": 1}
    )


def _width(highest: int) -> int:
    """Bits for numbers up to this; at least one."""
    return max(1, highest.bit_length())
