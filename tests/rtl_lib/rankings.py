"""What ranking circuits ought to do, in plain Python, and random things for them to rank."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from models import Chunks

from penstock.rtl_lib.scores import Worth

Best: TypeAlias = list[tuple[int, int]]
"""Ranks and scores, best first."""


def score_of(worth: Worth, factors: Sequence[int]) -> int:
    return worth.base + sum(weight * factors[number] for number, weight in worth.terms)


def best_of(
    chunks: Chunks, chunk_bits: int, worths: Mapping[int, Worth], factors: Sequence[int], k: int
) -> Best:
    """The k best of an event's match bits, by sorting all of them."""
    found = [
        worths[position]
        for chunk, bits in chunks
        for position in range(chunk * chunk_bits, (chunk + 1) * chunk_bits)
        if bits >> position % chunk_bits & 1 and position in worths
    ]
    scored = [(worth.rank, score_of(worth, factors)) for worth in found]
    return sorted(scored, key=lambda match: (-match[1], match[0]))[:k]


def rest_of(chunks: Chunks, chunk_bits: int, worths: Mapping[int, Worth]) -> Chunks:
    """The bits that are not ranked."""
    rest = [
        (chunk, bits & ~sum(1 << n % chunk_bits for n in worths if n // chunk_bits == chunk))
        for chunk, bits in chunks
    ]
    return [(chunk, bits) for chunk, bits in rest if bits]


def match_items(events: Sequence[Chunks]) -> list[dict[str, int]]:
    """Events as the collector sends them."""
    return [
        {"bits": bits, "chunk": chunk, "sequence": number, "last": int(place == len(chunks) - 1)}
        for number, chunks in enumerate(events)
        for place, (chunk, bits) in enumerate(chunks)
    ]


def best_items(bests: Mapping[int, Best]) -> list[tuple[int, int, int, int]]:
    """What a queue sends for events by their numbers: number, rank, score and ``last``."""
    return [
        (number, rank, score, int(place == len(best) - 1))
        for number, best in bests.items()
        for place, (rank, score) in enumerate(best)
    ]


def sent(items: Sequence[Any]) -> list[tuple[int, int, int, int]]:
    return [(int(i.sequence), int(i.rank), int(i.score), int(i.last)) for i in items]


def random_worths(
    rng: random.Random,
    positions: Sequence[int],
    *,
    factor_count: int,
    most_terms: int,
    highest: int,
) -> dict[int, Worth]:
    """Something for every match bit, and often the same for several."""
    ranks = rng.sample(range(len(positions)), len(positions))
    worths = {}
    for position, rank in zip(positions, ranks, strict=True):
        count = rng.randrange(min(most_terms, factor_count) + 1)
        factors = rng.sample(range(factor_count), count)
        terms = tuple((factor, rng.choice([0, 1, 2, highest])) for factor in factors)
        worths[position] = Worth(rank, rng.choice([0, 1, 5, highest]), terms)
    return worths
