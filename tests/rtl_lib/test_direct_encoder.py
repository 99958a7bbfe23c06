# amaranth: UnusedElaboratable=no
"""Tests of codes by comparison with constants."""

import random

import pytest
from streams import run_enabled

from penstock.rtl_lib.direct_encoder import DirectEncoder


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize(
    ("width", "thresholds", "codes"),
    [
        (1, [], [1]),
        (1, [1], [0, 1]),
        (4, [0], [3, 2]),
        (4, [15], [0, 1]),
        (4, [1, 2, 9], [0, 5, 0, 5]),
        (4, list(range(16)), [*range(15, -1, -1), 16]),
    ],
)
def test_every_value_has_the_code_of_its_stretch_two_cycles_later(width, thresholds, codes, stall):
    dut = DirectEncoder(width, thresholds, codes)
    values = list(range(2**width))
    inputs = [{"value": value} for value in [*values, *[0] * dut.latency_cycles]]
    got = run_enabled(dut, inputs, ["code"], stall=stall)[2:]
    assert got == [(codes[sum(t <= value for t in thresholds)],) for value in values]
    assert dut.latency_cycles == 2


def test_wide_values_are_compared_in_every_bit():
    rng = random.Random(2)
    thresholds = sorted(rng.getrandbits(65) for _ in range(5))
    dut = DirectEncoder(65, thresholds, [0, 3, 1, 4, 2, 5])
    values = [threshold + step for threshold in thresholds for step in (-1, 0, 1)]
    values += [threshold ^ 1 << bit for threshold in thresholds for bit in range(65)]
    inputs = [{"value": value} for value in [*values, 0, 0]]
    got = run_enabled(dut, inputs, ["code"])[2:]
    assert got == [(dut.compute(value),) for value in values]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, [1], [0]), "1 thresholds make 2 codes, not 1"),
        ((4, [2, 1], [0, 1, 2]), "ascending order, each once"),
        ((4, [1, 1], [0, 1, 2]), "ascending order, each once"),
        ((4, [16], [0, 1]), "must fit into 4 bits"),
        ((4, [-1], [0, 1]), "must fit into 4 bits"),
        ((4, [1], [0, -1]), "must not be negative, as -1 is"),
    ],
)
def test_stretches_no_value_can_have_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        DirectEncoder(*arguments)
