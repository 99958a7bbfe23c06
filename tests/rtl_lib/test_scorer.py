# amaranth: UnusedElaboratable=no
"""Tests of scores worked out from memories and multipliers."""

import random

import pytest
from rankings import random_worths, score_of
from streams import STALLS, run_streams

from penstock.rtl_lib.scorer import Scorer
from penstock.rtl_lib.scores import ScoreFormat, Worth

HIGHEST = 2**31 - 1
FACTOR_BITS = 16


class Fixed(Scorer):
    """A scorer whose factors are set from the start."""

    def __init__(self, worths, factors, position_bits=5):
        score_format = ScoreFormat.of(worths.values(), len(factors), FACTOR_BITS)
        super().__init__(position_bits, 8, score_format, worths)
        self.values = factors

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += [self.factors[n].eq(value) for n, value in enumerate(self.values)]
        return m


def items_of(rng, positions, count):
    return [
        {
            "position": rng.choice(positions),
            "sequence": n % 256,
            "some": int(rng.random() < 0.8),
            "last": int(rng.random() < 0.4),
        }
        for n in range(count)
    ]


def check(worths, factors, items, **how):
    dut = Fixed(worths, factors)
    traffic = run_streams(dut, {"i": items}, {"o": len(items)}, **how)
    for item, found in zip(items, traffic["o"].items, strict=True):
        assert (found.sequence, found.some, found.last) == (
            item["sequence"], item["some"], item["last"],
        )  # fmt: skip
        if item["some"]:
            worth = worths[item["position"]]
            assert (found.rank, found.score) == (worth.rank, score_of(worth, factors))
    return dut, traffic


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize("most_terms", [0, 1, 2, 3, 5, 8])
def test_scores_are_base_and_weights_times_factors(most_terms, stalls):
    rng = random.Random(most_terms)
    positions = sorted(rng.sample(range(32), 20))
    worths = random_worths(rng, positions, factor_count=9, most_terms=most_terms, highest=HIGHEST)
    factors = [rng.choice([0, 1, 2, 2**FACTOR_BITS - 1]) for _ in range(9)]
    check(worths, factors, items_of(rng, positions, 120), stalls=stalls)


def test_highest_score_does_not_overflow():
    factors = [2**FACTOR_BITS - 1] * 8
    worths = {0: Worth(0, HIGHEST, tuple((n, 4 * HIGHEST) for n in range(8)))}
    check(worths, factors, items_of(random.Random(1), [0], 10))


@pytest.mark.parametrize(("terms", "cycles"), [(0, 3), (1, 4), (2, 5), (3, 5), (4, 6), (8, 7)])
def test_match_per_cycle_after_the_cycles_it_says(terms, cycles):
    worths = {0: Worth(0, 1, tuple((n, 1) for n in range(terms)))}
    dut, traffic = check(worths, [1] * 8, items_of(random.Random(1), [0], 30))
    assert dut.cycles == cycles
    assert traffic["i"].cycles == list(range(1, 31))
    assert traffic["o"].cycles == [cycle + cycles for cycle in traffic["i"].cycles]


def test_format_is_as_narrow_as_the_matches_allow():
    made = ScoreFormat.of([Worth(4, 3), Worth(2, 0, ((1, 5),))], 2, FACTOR_BITS)
    assert (made.rank_bits, made.base_bits, made.weight_bits, made.term_count) == (3, 2, 3, 1)
    assert made.score_bits == (5 * (2**FACTOR_BITS - 1)).bit_length()
    with pytest.raises(ValueError, match="at least one match that is ranked"):
        ScoreFormat.of([], 2, FACTOR_BITS)
