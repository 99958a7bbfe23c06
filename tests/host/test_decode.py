"""Match bits as lists of ids: as a plain loop would make them."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from penstock import QuerySet, Schema
from penstock.gen.manifest import Manifest, manifest_of
from penstock.gen.passes import plan_of
from penstock.gen.passes.cluster import cluster
from penstock.gen.plan import CHUNK_BITS
from penstock.host.decode import Decoder
from penstock.host.device import MATCHES


def manifest(count: int, tile_size: int = 512) -> Manifest:
    """So many subscriptions, whose ids sort neither as they were added nor as they are placed."""
    rng = Random(count)
    queries = QuerySet(Schema.of({"n": "INT"}))
    for number in range(count):
        first = rng.choice("aZ_\u00e9")
        queries.add(f"{first}{number}", f"n >= {number * 37 % 1009}")
    plan = cluster(plan_of(queries), tile_size=tile_size)
    return manifest_of(plan, queries, "")


def by_loop(of: Manifest, found: list[tuple[int, int, int]], count: int) -> list[list[str]]:
    answers: list[list[str]] = [[] for _ in range(count)]
    for event, chunk, bits in found:
        for bit in range(CHUNK_BITS):
            if bits >> bit & 1:
                (tile,) = (
                    t
                    for t in of.tiles
                    if 0 <= (chunk - t.first_chunk) * CHUNK_BITS + bit < len(t.entries)
                )
                entry = tile.entries[(chunk - tile.first_chunk) * CHUNK_BITS + bit]
                answers[event].append(of.ids[entry])
    return [sorted(ids) for ids in answers]


def decoded(of: Manifest, found: list[tuple[int, int, int]], count: int) -> pa.Array:
    decoder = Decoder(of)
    columns = [np.array([row[i] for row in found], np.int64) for i in range(3)]
    pairs = decoder.pairs(columns[0], columns[1], columns[2].astype(np.uint32))
    return decoder.lists(*pairs, count)


@pytest.mark.parametrize(("count", "tile_size"), [(1, 512), (32, 32), (100, 33), (700, 200)])
def test_lists_are_those_of_a_plain_loop_and_sorted(count: int, tile_size: int) -> None:
    of = manifest(count, tile_size)
    rng = Random(count)
    found = []
    for event in range(50):
        for tile in of.tiles:
            for start in range(0, len(tile.entries), CHUNK_BITS):
                bits = rng.getrandbits(min(CHUNK_BITS, len(tile.entries) - start))
                if bits and rng.random() < 0.6:
                    found.append((event, tile.first_chunk + start // CHUNK_BITS, bits))
    answers = decoded(of, found, 53)
    assert answers.type == MATCHES
    assert answers.to_pylist() == by_loop(of, found, 53)
    assert answers.to_pylist()[50:] == [[]] * 3


def test_every_bit_is_the_id_at_its_place() -> None:
    of = manifest(100, 40)
    for tile in of.tiles:
        for place, entry in enumerate(tile.entries):
            chunk, bit = tile.first_chunk + place // CHUNK_BITS, place % CHUNK_BITS
            assert decoded(of, [(0, chunk, 1 << bit)], 1).to_pylist() == [[of.ids[entry]]]


@pytest.mark.parametrize("count", [0, 4])
def test_nothing_found_gives_empty_lists(count: int) -> None:
    answers = decoded(manifest(3), [], count)
    assert answers.type == MATCHES
    assert answers.to_pylist() == [[]] * count


def test_bit_without_a_subscription_is_our_fault() -> None:
    with pytest.raises(AssertionError, match="a match bit without a subscription"):
        decoded(manifest(3), [(0, 0, 0b1000)], 1)
