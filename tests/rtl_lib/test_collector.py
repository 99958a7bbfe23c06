"""Tests of the end of the chain."""

import random

import pytest
from models import result_items
from streams import STALLS, run_streams, simulate

from penstock.rtl_lib.collector import Collector


def matches_of(events, sequence_bits=32):
    return [
        (number % 2**sequence_bits, chunk, bits, int(index == len(chunks) - 1))
        for number, chunks in enumerate(events)
        for index, (chunk, bits) in enumerate(chunks)
    ]


def sent(items):
    return [(int(i.sequence), int(i.chunk), int(i.bits), int(i.last)) for i in items]


@pytest.mark.parametrize("sequence_bits", [3, 32])
@pytest.mark.parametrize("stalls", STALLS)
def test_matches_carry_the_number_of_their_event(stalls, sequence_bits):
    rng = random.Random(6)
    events = [
        [(chunk, rng.randrange(1, 4)) for chunk in range(3) if rng.random() < 0.3]
        for _ in range(150)
    ]
    want = matches_of(events, sequence_bits)
    dut = Collector(2, 3, sequence_bits=sequence_bits)
    traffic = run_streams(dut, {"i": result_items(events)}, {"o": len(want)}, stalls=stalls)
    assert sent(traffic["o"].items) == want


def test_one_chunk_of_one_bit():
    traffic = run_streams(Collector(1, 1), {"i": result_items([[], [(0, 1)]])}, {"o": 1})
    assert sent(traffic["o"].items) == [(1, 0, 1, 1)]


def test_matches_go_out_in_the_cycle_they_come_in():
    traffic = run_streams(Collector(2, 3), {"i": result_items([[(0, 1), (2, 3)]] * 20)}, {"o": 40})
    assert traffic["o"].cycles == traffic["i"].cycles == list(range(1, 41))


def test_events_without_matches_pass_a_stalled_output():
    traffic = run_streams(
        Collector(2, 3), {"i": result_items([[]] * 20)}, {"o": 0}, stalls=(0.0, 1.0)
    )
    assert traffic["i"].cycles == list(range(1, 21))


def test_counters_count_events_chunks_and_stalled_cycles():
    dut = Collector(2, 3)
    rng = random.Random(8)
    items = result_items([[], [(0, 1)], [(1, 2), (2, 3)]] * 20)
    expected = {"events": 0, "chunks": 0, "stalls": 0}

    async def bench(ctx):
        for item in items:
            ctx.set(dut.i.payload, item)
            is_taken = False
            while not is_taken:
                valid, ready = rng.random() < 0.7, rng.random() < 0.5
                ctx.set(dut.i.valid, valid)
                ctx.set(dut.o.ready, ready)
                await ctx.tick()
                is_taken = valid and (ready or not item["some"])
                expected["events"] += is_taken and item["last"]
                expected["chunks"] += is_taken and item["some"]
                expected["stalls"] += valid and not is_taken
                assert {name: ctx.get(getattr(dut, name)) for name in expected} == expected

    simulate(dut, bench)
    assert expected["events"] == 60 and expected["chunks"] == 60 and expected["stalls"] > 20
