"""Tests of two result links into one."""

import random

import pytest
from models import events_of, item_count, result_items
from streams import STALLS, run_streams

from penstock.rtl_lib.merge import Merge


def random_chunks(rng, chunks, chunk_bits, chance):
    return [(chunk, rng.randrange(1, 2**chunk_bits)) for chunk in chunks if rng.random() < chance]


def merged(before, own, *, chunk_bits=3, stalls=(0.0, 0.0), seed=7):
    want = [left + right for left, right in zip(before, own, strict=True)]
    traffic = run_streams(
        Merge(chunk_bits, 8),
        {"before": result_items(before), "own": result_items(own)},
        {"o": item_count(want)},
        stalls=stalls,
        seed=seed,
    )
    assert events_of(traffic["o"].items) == want
    return traffic


@pytest.mark.parametrize("chunk_bits", [1, 5])
@pytest.mark.parametrize("chances", [(0.1, 0.1), (0.7, 0.7), (1.0, 1.0), (0.0, 0.5), (0.5, 0.0)])
@pytest.mark.parametrize("stalls", STALLS)
def test_nothing_is_lost_doubled_or_reordered(chunk_bits, chances, stalls):
    rng = random.Random(4)
    before = [random_chunks(rng, range(4), chunk_bits, chances[0]) for _ in range(40)]
    own = [random_chunks(rng, range(4, 8), chunk_bits, chances[1]) for _ in range(40)]
    merged(before, own, chunk_bits=chunk_bits, stalls=stalls)


@pytest.mark.parametrize("seed", range(4))
def test_sides_that_stall_apart_stay_in_step(seed):
    rng = random.Random(seed)
    before = [random_chunks(rng, range(4), 3, 0.3) for _ in range(60)]
    own = [random_chunks(rng, range(4, 8), 3, 0.3) for _ in range(60)]
    merged(before, own, stalls=(0.6, 0.2), seed=seed)


def test_an_item_takes_one_cycle():
    traffic = merged([[], [(0, 1)], [], [(0, 1)]], [[], [], [(4, 1)], [(4, 1)]])
    assert traffic["o"].cycles == [2, 3, 4, 5, 6]
    assert traffic["before"].cycles == [1, 2, 3, 4]
    assert traffic["own"].cycles == [1, 2, 3, 5]


@pytest.mark.parametrize(
    ("before", "own"),
    [
        ([], []),
        ([(0, 1)], []),
        ([], [(4, 1)]),
        ([(1, 1), (2, 1)], []),
        ([(1, 1)], [(4, 1), (5, 1)]),
    ],
)
def test_an_event_takes_a_cycle_per_chunk_and_one_if_it_has_none(before, own):
    traffic = merged([before] * 50, [own] * 50)
    cycles = 50 * max(1, len(before) + len(own))
    assert traffic["o"].cycles == list(range(2, 2 + cycles))


def test_chunks_from_before_pass_while_own_results_are_not_there():
    """All but the last, which must know whether it is the last of the event."""
    traffic = run_streams(
        Merge(3, 8), {"before": result_items([[(0, 1), (1, 2), (2, 3)]])[:2]}, {"o": 2}
    )
    assert [int(item.chunk) for item in traffic["o"].items] == [0, 1]
