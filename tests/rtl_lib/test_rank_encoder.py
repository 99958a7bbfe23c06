# amaranth: UnusedElaboratable=no
"""Tests of binary search for ranks."""

import random

import pytest
from streams import run_enabled

from penstock.rtl_lib.rank_encoder import RankEncoder


def ranks(dut, items, *, stall=0.0):
    """The ranks of the values among the items; a write is (position, threshold or None).

    Before a write, values leave.
    """
    inputs, places = [], []
    for item in items:
        if isinstance(item, int):
            places.append(len(inputs) + dut.latency_cycles)
            # What a write would say has no meaning for a value, so it is anything.
            inputs.append({"value": item, "levels": 0, "position": item % 2, "exists": item % 2})
        else:
            position, threshold = item
            inputs += [{"value": 0, "levels": 0}] * dut.latency_cycles
            inputs.append(
                {
                    "value": threshold or 0,
                    "levels": dut.level_bit(position, dut.rank_bits),
                    "position": position,
                    "exists": threshold is not None,
                }
            )
    inputs += [{"value": 0, "levels": 0}] * (dut.latency_cycles + 1)
    got = run_enabled(dut, inputs, ["rank"], stall=stall)
    return [got[place][0] for place in places]


@pytest.mark.parametrize("rank_bits", [1, 2, 3])
def test_any_number_of_thresholds_is_searched_right_and_as_late_as_documented(rank_bits):
    rng = random.Random(rank_bits)
    for count in range(2**rank_bits):
        thresholds = sorted(rng.choices(range(32), k=count))
        dut = RankEncoder(5, rank_bits, thresholds)
        values = list(range(32))
        assert ranks(dut, values) == [dut.compute(value) for value in values]
    assert dut.latency_cycles == 2 * rank_bits


@pytest.mark.parametrize("thresholds", [[], [0], [31], [0, 0, 31], [7] * 7, [31] * 7])
def test_equal_and_extreme_thresholds_count_each(thresholds):
    dut = RankEncoder(5, 3, thresholds)
    values = [0, 6, 7, 8, 30, 31]
    assert ranks(dut, values) == [sum(t <= value for t in thresholds) for value in values]


def test_one_bit_values():
    assert ranks(RankEncoder(1, 1, [1]), [0, 1, 0]) == [0, 1, 0]


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_wide_values_and_a_deep_search_under_stalls(stall):
    rng = random.Random(9)
    thresholds = sorted(rng.getrandbits(40) for _ in range(40))
    dut = RankEncoder(40, 6, thresholds)
    near = [threshold + step for threshold in thresholds for step in (-1, 0, 1)]
    values = [0, 2**40 - 1, *near]
    rng.shuffle(values)
    assert ranks(dut, values, stall=stall) == [dut.compute(value) for value in values]


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_a_threshold_is_seen_by_the_values_after_it_and_no_others(stall):
    """Thresholds come and go at the end, so that they are always in order."""
    rng = random.Random(10)
    thresholds = [3, 9]
    items, want = [], []
    for _ in range(300):
        chance = rng.random()
        if chance < 0.2 and len(thresholds) < 7:
            thresholds.append(rng.randrange(thresholds[-1] if thresholds else 0, 32))
            items.append((len(thresholds), thresholds[-1]))
        elif chance < 0.35 and thresholds:
            items.append((len(thresholds), None))
            thresholds.pop()
        elif chance < 0.45 and thresholds:  # move one as far as its neighbours let it
            index = rng.randrange(len(thresholds))
            low, *_, high = [0, *thresholds[:index]][-1], *[*thresholds[index + 1 :], 31][:1]
            thresholds[index] = rng.randint(low, high)
            items.append((index + 1, thresholds[index]))
        else:
            value = rng.choice([*thresholds, *(t - 1 for t in thresholds if t), 0, 31])
            items.append(value)
            want.append(sum(threshold <= value for threshold in thresholds))
    assert ranks(RankEncoder(5, 3, [3, 9]), items, stall=stall) == want


def test_all_positions_can_be_written_and_position_0_is_none():
    thresholds = list(range(10, 150, 10))
    items = [*((n + 1, t) for n, t in enumerate(thresholds)), (0, 0), *range(0, 160, 5)]
    want = [sum(t <= value for t in thresholds) for value in range(0, 160, 5)]
    assert ranks(RankEncoder(8, 4), items) == want


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1), "at least one bit, not 0, 1"),
        ((4, 0), "at least one bit, not 4, 0"),
        ((4, 1, [1, 2]), "ranks of 1 bits have up to 1 thresholds, not 2"),
        ((4, 2, [2, 1]), "ascending order"),
        ((4, 2, [2, 16]), "thresholds must fit into 4 bits"),
        ((4, 2, [-1, 6]), "thresholds must fit into 4 bits"),
    ],
)
def test_thresholds_no_search_can_have_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RankEncoder(*arguments)
