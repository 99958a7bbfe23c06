"""Tests of the register slice."""

import random

import pytest
from streams import STALLS, run_streams, simulate

from penstock.rtl_lib.skid_buffer import SkidBuffer


@pytest.mark.parametrize("width", [1, 9])
@pytest.mark.parametrize("stalls", STALLS)
def test_items_arrive_once_and_in_order(width, stalls):
    rng = random.Random(1)
    items = [rng.randrange(2**width) for _ in range(300)]
    got = run_streams(SkidBuffer(width), {"i": items}, {"o": 300}, stalls=stalls)
    assert got["o"].items == items


def test_an_item_takes_one_cycle_and_one_item_passes_per_cycle():
    traffic = run_streams(SkidBuffer(8), {"i": range(100)}, {"o": 100})
    assert traffic["i"].cycles == list(range(1, 101))
    assert traffic["o"].cycles == list(range(2, 102))


def test_two_items_are_taken_while_nobody_takes_them():
    traffic = run_streams(
        SkidBuffer(8), {"i": [1, 2]}, {"o": 0}, stalls=(0.0, 1.0), limit_cycles=50
    )
    assert traffic["i"].cycles == [1, 2]
    with pytest.raises(AssertionError, match="not done after 50 cycles"):
        run_streams(SkidBuffer(8), {"i": [1, 2, 3]}, {"o": 0}, stalls=(0.0, 1.0), limit_cycles=50)


def test_ready_next_foretells_ready():
    dut = SkidBuffer(4)
    rng = random.Random(2)

    async def bench(ctx):
        foretold = 1
        for _ in range(300):
            ctx.set(dut.i.valid, rng.random() < 0.6)
            ctx.set(dut.o.ready, rng.random() < 0.6)
            *_, ready, ready_next = await ctx.tick().sample(dut.i.ready, dut.ready_next)
            assert ready == foretold
            foretold = ready_next

    simulate(dut, bench)
