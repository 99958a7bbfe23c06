"""Answers are put together in order and taken apart without losing any event."""

from random import Random

import pyarrow as pa

from penstock.host.answers import best_of, merged, restricted
from penstock.host.device import MATCHES, SCORED_MATCHES

IDS = ["", "Z", "a", "ab", "\u00e9", "\uffff", "\U0001f600", *(f"q{n}" for n in range(20))]


def best(matches: list[tuple[str, int]], k: int) -> list[tuple[str, int]]:
    return sorted(matches, key=lambda match: (-match[1], match[0]))[:k]


def scored(rows: list[list[tuple[str, int]]]) -> pa.Array:
    return pa.array([[{"id": i, "score": s} for i, s in row] for row in rows], SCORED_MATCHES)


def random_rows(rng: Random, ids: list[str]) -> list[list[tuple[str, int]]]:
    worth = [0, 1, 1, 2, 2**63 - 1]
    sizes = [rng.choice([0, 0, 1, 3, len(ids)]) for _ in range(9)]
    return [[(id, rng.choice(worth)) for id in rng.sample(ids, size)] for size in sizes]


def test_best_of_two_answers_are_the_best_of_all_with_equal_scores_by_id() -> None:
    rng = Random(31)
    for _ in range(50):
        ids = rng.sample(IDS, len(IDS))
        first, second = random_rows(rng, ids[:13]), random_rows(rng, ids[13:])
        for k in (1, 2, 5, 100):
            some, more = ([best(row, k) for row in rows] for rows in (first, second))
            found = best_of(scored(some), scored(more), k)
            wanted = [best([*a, *b], k) for a, b in zip(first, second, strict=True)]
            assert found.type == SCORED_MATCHES
            assert found.equals(scored(wanted))


def test_matches_of_two_answers_are_merged_in_order_of_id() -> None:
    rng = Random(32)
    for _ in range(50):
        ids = rng.sample(IDS, len(IDS))
        first, second = (
            [sorted(id for id, _ in row) for row in random_rows(rng, some)]
            for some in (ids[:13], ids[13:])
        )
        both = [sorted(a + b) for a, b in zip(first, second, strict=True)]
        found = merged(pa.array(first, MATCHES), pa.array(second, MATCHES))
        assert found.equals(pa.array(both, MATCHES))
        only = sorted(rng.sample(IDS, 8))
        wanted = [[id for id in row if id in only] for row in both]
        assert restricted(found, pa.array(only, pa.string())).equals(pa.array(wanted, MATCHES))


def test_answers_to_no_events_and_without_matches_stay_so() -> None:
    for rows in ([], [[], []]):
        assert best_of(scored(rows), scored(rows), 3).equals(scored(rows))
        empty = pa.array(rows, MATCHES)
        assert merged(empty, empty).equals(empty)
