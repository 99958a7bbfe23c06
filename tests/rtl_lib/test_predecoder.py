# amaranth: UnusedElaboratable=no
"""Tests of comparisons shared as wires."""

import pytest
from streams import run_enabled

from penstock.rtl_lib.logic import Enabled, InRange, Logic
from penstock.rtl_lib.network import Network
from penstock.rtl_lib.predecoder import SHARED_USES, Predecoder, low_bits


def verdicts(width, ranges, *, stall=0.0):
    """For each code, which of the ranges hold it."""
    logic = Logic(tuple(ranges), tuple(range(0, 2 * len(ranges), 2)))
    inputs = [{"codes": code} for code in range(2**width)] + [{"codes": 0}] * 2
    got = run_enabled(Network([width], logic), inputs, ["outputs"], stall=stall)
    return [bits for (bits,) in got[2:]]


@pytest.mark.parametrize("width", [1, 2, 4, 5, 6])
@pytest.mark.parametrize("uses", [1, SHARED_USES])
def test_every_bound_of_a_code_is_right_for_every_code(width, uses):
    bounds = range(1, 2**width)
    got = verdicts(width, [InRange(0, bound) for bound in bounds] * uses)
    for code, bits in enumerate(got):
        assert bits == int(
            "".join("1" if code >= bound else "0" for bound in bounds)[::-1] * uses, 2
        )


@pytest.mark.parametrize("width", [4, 5])
def test_every_range_of_a_code_is_right_for_every_code(width):
    top = 2**width
    ranges = [InRange(0, low, high) for low in range(top) for high in (*range(low + 1, top), None)]
    got = verdicts(width, ranges, stall=0.4)
    for code, bits in enumerate(got):
        for index, range_ in enumerate(ranges):
            holds = range_.low <= code and (range_.high is None or code < range_.high)
            assert bits >> index & 1 == holds, (code, range_)


def test_codes_of_more_than_four_bits_are_halved():
    assert [low_bits(width) for width in (1, 4, 5, 8, 9)] == [0, 0, 3, 4, 5]


@pytest.mark.parametrize(
    ("width", "bounds", "wires"),
    [
        (4, [1, 15, 7], 3),  # short codes: a wire per bound
        (5, [1], 1),  # bound 1: a wire of its own
        (5, [8], 1),  # nothing in the low half
        (5, [9], 3),  # beyond, reached, low half reached
        (5, [9, 10], 4),  # two wires shared
        (5, [9] * SHARED_USES, 1),  # used often: one wire for the whole
        (5, [31], 2),  # top bound: nothing lies beyond
        (5, [2], 2),  # first block: every code reaches it
    ],
)
def test_wires_exist_once(width, bounds, wires):
    dut = Predecoder([width], [InRange(0, bound) for bound in bounds])
    assert len(dut.wires) == wires


def test_wires_follow_their_codes_by_one_enabled_cycle():
    dut = Predecoder([1, 3], [InRange(0, 1), InRange(1, 5)])
    codes = [0, 1, 10, 15, 8, 9, 11, 0, 0]
    got = run_enabled(dut, [{"codes": code} for code in codes], ["wires"], stall=0.4)
    assert [wires for (wires,) in got[1:]] == [
        (code & 1) | (code >> 1 >= 5) << 1 for code in codes[:-1]
    ]


@pytest.mark.parametrize(
    ("width", "range_", "message"),
    [
        (1, InRange(0, 2), "field 0 has 1 bits: a bound lies between 1 and 1, not 2"),
        (3, InRange(0, 0, 8), "a bound lies between 1 and 7, not 8"),
    ],
)
def test_bounds_no_code_reaches_are_refused(width, range_, message):
    with pytest.raises(ValueError, match=message):
        Predecoder([width], [range_])


def test_a_range_that_was_not_asked_for_is_refused():
    dut = Predecoder([5], [InRange(0, 9)])
    with pytest.raises(ValueError, match="bound 8 of field 0 was not asked for"):
        dut.in_range(lambda wire: dut.wires[wire], InRange(0, 8))


def test_without_bounds_there_is_still_a_wire_to_connect():
    assert len(Predecoder([3], []).wires) == 1
    logic = Logic((Enabled(0), InRange(0, 0)), (0, 2))
    inputs = [{"codes": 3, "enabled": 1}] * 3
    assert run_enabled(Network([3], logic), inputs, ["outputs"])[2] == (3,)
