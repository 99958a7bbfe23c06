"""The end of the chain that keeps the k best."""

from __future__ import annotations

from penstock.gen.plan import CHUNK_BITS, FACTOR_BITS, Plan
from penstock.rtl_lib.ranker import Ranker
from penstock.rtl_lib.scores import ScoreFormat, Worth
from penstock.rtl_lib.shape import ChainShape


def ranker_of(plan: Plan, shape: ChainShape) -> Ranker | None:
    """The ranker of a plan, if it ranks anything."""
    found, ranking = score_format_of(plan), plan.ranking
    if found is None or ranking is None:
        return None
    return Ranker(
        chunk_bits=shape.chunk_bits,
        chunk_count=shape.chunk_count,
        address_bits=shape.address_bits,
        k=ranking.k,
        score_format=found,
        worths=_worths(plan),
        base=ranking.base,
    )


def score_format_of(plan: Plan) -> ScoreFormat | None:
    """How wide the numbers are that a plan's circuit ranks by, if it ranks anything."""
    if plan.ranking is None or not plan.ranking.entries:
        return None
    return ScoreFormat.of(_worths(plan).values(), len(plan.ranking.attributes), FACTOR_BITS)


def _worths(plan: Plan) -> dict[int, Worth]:
    """By match bit what each subscription that is ranked is worth."""
    assert plan.ranking is not None, "nothing is ranked"
    ranks = {entry: rank for rank, entry in enumerate(plan.ranking.entries)}
    numbers = {attribute: n for n, attribute in enumerate(plan.ranking.attributes)}
    worths = {}
    for tile in plan.tiles:
        for place, index in enumerate(tile.entries):
            if index in ranks:
                score = plan.entries[index].score
                terms = tuple((numbers[a], weight) for a, weight in score.weights or ())
                position = tile.first_chunk * CHUNK_BITS + place
                worths[position] = Worth(ranks[index], score.base, terms)
    return worths
