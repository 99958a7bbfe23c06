# amaranth: UnusedElaboratable=no
"""Tests of match vectors cut into chunks."""

import random
from dataclasses import dataclass

import pytest
from models import chunks_of, events_of, item_count
from streams import simulate

from penstock.rtl_lib.serialiser import Serialiser

BUBBLE = None


@dataclass
class Run:
    items: list
    taken: list[int]
    """The cycle in which each event was taken."""
    sent: list[int]
    """The cycle in which each item was sent."""


def run(dut, vectors, item_limit, *, sink_stall=0.0, seed=5, limit_cycles=5000):
    """Offer a vector, or a bubble, in each cycle with ``advance`` high."""
    done = Run([], [], [])

    async def source(ctx):
        rng, cycle = random.Random(f"{seed} source"), 0
        for vector in vectors:
            ctx.set(dut.valid, vector is not BUBBLE)
            # Bits of a bubble mean nothing, so they are any.
            ctx.set(dut.hits, rng.getrandbits(len(dut.hits)) if vector is BUBBLE else vector)
            is_taken = False
            while not is_taken:
                *_, is_taken = await ctx.tick().sample(dut.advance)
                cycle += 1
            if vector is not BUBBLE:
                done.taken.append(cycle)
        ctx.set(dut.valid, 0)

    async def sink(ctx):
        rng, cycle, spare = random.Random(f"{seed} sink"), 0, 0
        while spare < 12:
            ready = rng.random() >= sink_stall
            ctx.set(dut.o.ready, ready)
            *_, valid, payload = await ctx.tick().sample(dut.o.valid, dut.o.payload)
            cycle += 1
            if ready and valid:
                done.items.append(payload)
                done.sent.append(cycle)
            spare += len(done.items) >= item_limit

    simulate(dut, source, sink, limit_cycles=limit_cycles)
    return done


def random_vector(rng, hit_count, chunk_bits):
    """Empty, with one full chunk, full, or anything."""
    full = 2**hit_count - 1
    chunk = (2**chunk_bits - 1) << rng.randrange(hit_count) // chunk_bits * chunk_bits
    return rng.choice([0, full & chunk, full, rng.getrandbits(hit_count), 1 << hit_count - 1])


@pytest.mark.parametrize("stalls", [(0.0, 0.0), (0.4, 0.4), (0.0, 0.7), (0.7, 0.0)])
@pytest.mark.parametrize(
    ("hit_count", "chunk_bits", "first_chunk"),
    [(1, 1, 0), (1, 4, 1), (3, 4, 0), (4, 4, 5), (5, 4, 2), (8, 2, 4), (7, 3, 0), (5, 1, 8)],
)
def test_nothing_is_lost_doubled_or_reordered(hit_count, chunk_bits, first_chunk, stalls):
    rng = random.Random(hit_count)
    vectors = [
        BUBBLE if rng.random() < stalls[0] else random_vector(rng, hit_count, chunk_bits)
        for _ in range(120)
    ]
    events = [
        chunks_of(vector, chunk_bits, first_chunk) for vector in vectors if vector is not BUBBLE
    ]
    dut = Serialiser(hit_count, chunk_bits=chunk_bits, chunk_count=16, first_chunk=first_chunk)
    done = run(dut, vectors, item_count(events), sink_stall=stalls[1])
    assert events_of(done.items) == events


@pytest.mark.parametrize("vector", [0, 0b100, 0b111111])
def test_results_leave_four_cycles_after_the_vector(vector):
    dut = Serialiser(6, chunk_bits=2, chunk_count=3)
    done = run(dut, [BUBBLE, vector], max(1, len(chunks_of(vector, 2))))
    assert done.sent[0] == done.taken[0] + 4


@pytest.mark.parametrize("vectors", [[0] * 60, [1] * 60, [0, 1, 0b100, 0b110000] * 15])
def test_one_event_passes_per_cycle_with_at_most_one_chunk_each(vectors):
    done = run(Serialiser(6, chunk_bits=2, chunk_count=3), vectors, 60)
    assert done.taken == list(range(1, 61))
    assert done.sent == list(range(5, 65))


def test_a_further_chunk_costs_a_cycle():
    done = run(Serialiser(6, chunk_bits=2, chunk_count=3), [0b111111, 0b0011, 0b1111] * 20, 120)
    assert done.sent == list(range(5, 125))


@pytest.mark.parametrize(
    ("hit_count", "first_chunk", "message"),
    [
        (0, 0, "at least one match bit, not 0"),
        (9, 2, "the first of 3 chunks must be a multiple of 4, not 2"),
        (9, 4, "chunks 4 to 6 do not exist among 6"),
    ],
)
def test_chunks_that_do_not_exist_are_refused(hit_count, first_chunk, message):
    with pytest.raises(ValueError, match=message):
        Serialiser(hit_count, chunk_bits=4, chunk_count=6, first_chunk=first_chunk)
