# amaranth: UnusedElaboratable=no
"""Tests of direct comparisons."""

import random

import pytest
from streams import run_enabled

from penstock.rtl_lib.compare import DirectRanges, PairCompare, Relation


def near(bounds, width):
    """Values on both sides of each bound, and the extremes."""
    values = {0, 2**width - 1, *(bound + step for bound in bounds for step in (-1, 0, 1))}
    return sorted(value for value in values if 0 <= value < 2**width)


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize(
    ("width", "ranges"),
    [
        (1, [(1, 1)]),
        (4, []),
        (4, [(0, 15)]),
        (4, [(3, 3), (5, 9)]),
        (4, [(2, 8), (4, 12)]),
        (16, [(0, 0), (1000, 2000), (65535, 65535)]),
    ],
)
def test_a_value_is_inside_one_of_the_ranges_a_cycle_later(width, ranges, stall):
    dut = DirectRanges(width, ranges)
    values = [None, *near([bound for pair in ranges for bound in pair], width), None]
    inputs = [
        # An absent value is any number: present comes first.
        {"value": ranges[0][0] if value is None and ranges else value or 0,
         "present": value is not None}
        for value in values
    ]  # fmt: skip
    got = run_enabled(dut, [*inputs, inputs[0]], ["inside"], stall=stall)[1:]
    assert got == [(dut.compute(value),) for value in values]


@pytest.mark.parametrize("pair", [(3, 2), (-1, 2), (2, 16)])
def test_ranges_outside_the_values_are_refused(pair):
    with pytest.raises(ValueError, match="0 <= low <= high < 16, not"):
        DirectRanges(4, [pair])


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize(("width", "latency"), [(1, 1), (5, 1), (32, 1), (33, 2), (64, 2)])
def test_pairs_are_compared_exactly_as_late_as_documented(width, latency, stall):
    rng = random.Random(width)
    dut = PairCompare(width)
    assert dut.latency_cycles == latency
    half = 2 ** (width // 2)
    edges = [None, *near([half], width)]
    pairs = [(left, right) for left in edges for right in edges]
    # Equal but for one bit, anywhere.
    for _ in range(60):
        value = rng.getrandbits(width)
        pairs.append((value, value ^ 1 << rng.randrange(width)))
    rng.shuffle(pairs)
    inputs = [
        {
            "left": rng.getrandbits(width) if left is None else left,
            "right": rng.getrandbits(width) if right is None else right,
            "left_present": left is not None,
            "right_present": right is not None,
        }
        for left, right in pairs
    ]
    got = run_enabled(dut, inputs + inputs[:latency], ["relation"], stall=stall)[latency:]
    assert [Relation(relation) for (relation,) in got] == [dut.compute(*pair) for pair in pairs]


def test_relations_have_the_documented_numbers():
    names = ["ONE_ABSENT", "BOTH_ABSENT", "BELOW", "EQUAL", "ABOVE"]
    assert [Relation(number).name for number in range(5)] == names


def test_a_pair_without_bits_is_refused():
    with pytest.raises(ValueError, match="at least one bit, not 0"):
        PairCompare(0)
