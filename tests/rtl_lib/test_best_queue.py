# amaranth: UnusedElaboratable=no
"""Tests of the queue that keeps the best of each event."""

import random

import pytest
from rankings import best_items, sent
from streams import STALLS, run_streams

from penstock.rtl_lib.best_queue import BestQueue
from penstock.rtl_lib.scores import ScoreFormat, Worth

RANKS = 64
FORMAT = ScoreFormat.of([Worth(RANKS - 1, 7)], 1, 16)


def items_of(events):
    """Events as ranks with scores; those without matches end with an item of their own."""
    items = []
    for number, matches in enumerate(events):
        for place, (rank, score) in enumerate(matches):
            last = int(place == len(matches) - 1)
            match = {"rank": rank, "score": score, "some": 1, "last": last}
            items.append({**match, "sequence": number})
        if not matches:
            items.append({"rank": 5, "score": 7, "some": 0, "last": 1, "sequence": number})
    return items


def wanted(events, k):
    best = {
        number: sorted(matches, key=lambda match: (-match[1], match[0]))[:k]
        for number, matches in enumerate(events)
    }
    return best_items(best)


def random_event(rng, most):
    return [(rank, rng.randrange(8)) for rank in rng.sample(range(RANKS), rng.randrange(most + 1))]


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_best_come_in_order_under_stalls(k, stalls):
    rng = random.Random(k)
    events = [random_event(rng, most=rng.choice([0, 1, 3, 16])) for _ in range(60)]
    want = wanted(events, k)
    traffic = run_streams(
        BestQueue(k, FORMAT, 16), {"i": items_of(events)}, {"o": len(want)}, stalls=stalls
    )
    assert sent(traffic["o"].items) == want


@pytest.mark.parametrize("order", [1, -1])
def test_rising_and_falling_scores_give_the_same(order):
    matches = [(rank, rank % 8) for rank in range(40)][::order]
    want = wanted([matches], 10)
    traffic = run_streams(BestQueue(10, FORMAT, 16), {"i": items_of([matches])}, {"o": 10})
    assert sent(traffic["o"].items) == want


def test_equal_scores_come_by_rank():
    matches = [(rank, 0) for rank in (9, 63, 0, 7, 8)]
    traffic = run_streams(BestQueue(4, FORMAT, 16), {"i": items_of([matches])}, {"o": 4})
    assert [rank for _, rank, _, _ in sent(traffic["o"].items)] == [0, 7, 8, 9]


def test_event_ends_that_have_no_match_of_their_own_still_end_it():
    """The last chunk of an event may have no ranked bit, while one before had."""
    end = {"rank": 0, "score": 0, "some": 0, "last": 1, "sequence": 3}
    items = [{"rank": 2, "score": 6, "some": 1, "last": 0, "sequence": 3}, end]
    traffic = run_streams(BestQueue(3, FORMAT, 16), {"i": items}, {"o": 1})
    assert sent(traffic["o"].items) == [(3, 2, 6, 1)]


def test_matches_go_in_and_out_one_per_cycle():
    """Events of as many matches as are kept leave no cycle unused; the first leaves after two."""
    events = [[(rank, rank % 8) for rank in range(4)]] * 20
    traffic = run_streams(BestQueue(4, FORMAT, 16), {"i": items_of(events)}, {"o": 80})
    assert traffic["i"].cycles == list(range(1, 81))
    assert traffic["o"].cycles == list(range(4 + 2, 4 + 2 + 80))


def test_events_with_fewer_matches_than_the_one_before_has_results_wait_for_those():
    events = [[(rank, 0) for rank in range(4)], [(1, 1)], [(2, 2)]]
    traffic = run_streams(BestQueue(4, FORMAT, 16), {"i": items_of(events)}, {"o": 6})
    assert traffic["i"].cycles == [1, 2, 3, 4, 8, 9]


def test_matches_fill_the_cells_while_the_output_stalls():
    """Only an event's end has to wait for the results of the event before."""
    events = [[(1, 1)], [(2, 2)], [(3, 3)], [(rank, 4) for rank in range(4)]]
    items = items_of(events)[:-1]
    traffic = run_streams(BestQueue(2, FORMAT, 16), {"i": items}, {"o": 0}, stalls=(0.0, 1.0))
    assert traffic["i"].cycles == list(range(1, 7))


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(k):
    with pytest.raises(ValueError, match=f"k must be at least 1, not {k}"):
        BestQueue(k, FORMAT, 16)
