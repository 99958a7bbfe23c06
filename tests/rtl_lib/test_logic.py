"""Tests of the parameter object of networks."""

import pytest

from penstock.rtl_lib.logic import Enabled, Gate, InRange, Logic


def test_a_range_holds_its_low_end_and_not_its_high_one():
    logic = Logic((InRange(0, 2, 4), InRange(0, 3)), (0, 1, 2))
    assert [logic.compute([code], [True] * 3) for code in range(5)] == [
        (False, True, False),
        (False, True, False),
        (True, False, False),
        (True, False, True),
        (False, True, True),
    ]


@pytest.mark.parametrize(("is_or", "want"), [(False, [0, 0, 1, 0]), (True, [1, 0, 1, 1])])
def test_gates_take_negated_literals(is_or, want):
    logic = Logic((InRange(0, 1), InRange(1, 1), Gate((0, 3), is_or)), (4,))
    codes = [(a, b) for a in (0, 1) for b in (0, 1)]
    assert [int(logic.compute(code, [True])[0]) for code in codes] == want


def test_enable_bits_are_those_of_their_output():
    logic = Logic((Enabled(1), Enabled(0)), (0, 3))
    assert logic.compute([], [False, True]) == (True, True)
    assert logic.compute([], [True, False]) == (False, False)


def test_levels_count_gates_and_stages_the_deepest():
    nodes = (InRange(0, 1), Enabled(0), Gate((0,)), Gate((5, 2)), Gate((0, 2)))
    logic = Logic(nodes, (8,))
    assert logic.levels() == (0, 0, 1, 2, 1)
    assert logic.stages == 2


@pytest.mark.parametrize("nodes", [(), (InRange(0, 1),)])
def test_one_stage_is_the_least(nodes):
    assert Logic(nodes, ()).stages == 1


@pytest.mark.parametrize(
    ("nodes", "outputs", "message"),
    [
        ((Gate(()),), (), "node 0 is a gate without inputs"),
        ((InRange(0, 1), Gate((2,))), (), r"node 1 takes \(2,\), which must come before it"),
        ((InRange(0, 1), Gate((-1,))), (), r"node 1 takes \(-1,\)"),
        ((InRange(0, 3, 3),), (), "node 0 is an empty range"),
        ((InRange(0, 0, 0),), (), "node 0 is an empty range"),
        ((InRange(0, -1, 3),), (), "node 0 is an empty range"),
        ((InRange(0, 1), Enabled(1)), (0,), "node 1 is enabled by output 1, which is none"),
        ((InRange(0, 1),), (2,), "output 2 is no literal of 1 nodes"),
    ],
)
def test_what_cannot_be_built_is_refused(nodes, outputs, message):
    with pytest.raises(ValueError, match=message):
        Logic(nodes, outputs)
