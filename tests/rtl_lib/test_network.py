# amaranth: UnusedElaboratable=no
"""Tests of pipelined logic against its computation in Python."""

import random

import pytest
from models import bits_of, random_codes, random_logic
from streams import run_enabled

from penstock.rtl_lib.logic import Enabled, Gate, InRange, Logic
from penstock.rtl_lib.network import Network
from penstock.rtl_lib.shape import ChainShape


def check(widths, logic, *, stall=0.0, count=60, seed=1):
    """Random codes and enable bits: the outputs are right, and exactly as late as documented."""
    rng = random.Random(seed)
    dut = Network(widths, logic)
    shape = ChainShape(tuple(widths), 1, 1, 1, 1)
    sets = [random_codes(rng, widths) for _ in range(count)]
    flags = [[rng.random() < 0.8 for _ in logic.outputs] for _ in range(count)]
    latency = 1 + logic.stages
    inputs = [
        {
            "codes": shape.pack(sets[min(cycle, count - 1)]),
            "enabled": bits_of(flags[min(max(cycle - 1, 0), count - 1)]),
        }
        for cycle in range(count + latency)
    ]
    got = run_enabled(dut, inputs, ["outputs"], stall=stall, seed=seed)
    want = [bits_of(logic.compute(*pair)) for pair in zip(sets, flags, strict=True)]
    assert [outputs for (outputs,) in got[latency:]] == want


def test_one_bit_codes_and_one_output():
    check([1], Logic((InRange(0, 1), Enabled(0), Gate((1, 2))), (4,)))


@pytest.mark.parametrize("is_or", [False, True])
def test_negated_inputs_and_outputs(is_or):
    nodes = (InRange(0, 3, 7), InRange(1, 1), Gate((0, 3), is_or), Gate((5, 1), is_or))
    check([4, 5], Logic(nodes, (4, 5, 6, 7)))


def test_outputs_straight_from_comparisons_and_enable_bits_are_as_late_as_any():
    nodes = (InRange(0, 5), Enabled(1), Gate((0, 2)), Gate((4,)), Gate((7, 0), True))
    check([5], Logic(nodes, (0, 1, 2, 3, 8)))


def test_late_gates_see_early_values_of_the_same_codes():
    nodes = [InRange(0, 9), Enabled(0), InRange(1, 2, 3)]
    for _ in range(4):  # each gate takes the one before it and, anew, the comparisons
        nodes.append(Gate((2 * len(nodes) - 1, 0, 5), is_or=len(nodes) % 2 == 0))
    nodes.append(Gate((2 * len(nodes) - 2, 2)))
    logic = Logic(tuple(nodes), (2 * len(nodes) - 2, 6))
    assert logic.stages == 5
    check([5, 2], logic, stall=0.4)


def test_gates_with_a_shared_input_and_with_the_same_input_twice():
    nodes = (InRange(0, 2), Gate((0, 0, 1), True), Gate((0,)), Gate((4, 2)), Gate((4, 2), True))
    check([3], Logic(nodes, (6, 8, 4)))


@pytest.mark.parametrize("stall", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_random_logic_is_what_it_computes(seed, stall):
    rng = random.Random(seed)
    widths = [rng.choice([1, 2, 4, 5, 7]) for _ in range(rng.randrange(1, 5))]
    logic = random_logic(rng, widths, rng.randrange(1, 12), node_count=30)
    check(widths, logic, stall=stall, seed=seed)


def test_a_network_without_outputs_is_refused():
    with pytest.raises(ValueError, match="at least one output"):
        Network([2], Logic((InRange(0, 1),), ()))
