# amaranth: UnusedElaboratable=no
"""Tests of chains that rank: what comes out of all tiles, and words that reach the ranker."""

import random

import pytest
from models import bits_of, chunks_of, config_item, event_item, random_codes, random_logic
from rankings import best_items, best_of, random_worths, rest_of, sent
from streams import STALLS, simulate
from tiles import chunk_numbers

from penstock.rtl_lib.chain import Chain
from penstock.rtl_lib.ranker import Ranker
from penstock.rtl_lib.scores import ScoreFormat
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.tile import Tile

CHUNK_BITS, FACTORS, BASE = 4, 3, 40


def tiles_of(rng, sizes, *, address_bits=6):
    widths = (3, 5)
    logics = [random_logic(rng, widths, size) for size in sizes]
    firsts, count = chunk_numbers(sizes, CHUNK_BITS)
    stages = max(logic.stages for logic in logics)
    shape = ChainShape(widths, CHUNK_BITS, count, address_bits, stages)
    pairs = zip(logics, firsts, strict=True)
    return shape, [Tile(shape, logic, first_chunk=first) for logic, first in pairs]


def ranker_of(shape, worths, *, k=2, base=BASE, **other):
    sizes = {"chunk_count": shape.chunk_count, "address_bits": shape.address_bits}
    return Ranker(
        chunk_bits=CHUNK_BITS, k=k, worths=worths, base=base,
        score_format=ScoreFormat.of(worths.values(), FACTORS, 8), **{**sizes, **other},
    )  # fmt: skip


def worths_of(rng, tiles):
    """Something for most subscriptions; the others are not ranked."""
    positions = [
        tile.place.first_chunk * CHUNK_BITS + n
        for tile in tiles
        for n in range(tile.place.hit_count)
        if n % 4
    ]
    return random_worths(rng, positions, factor_count=FACTORS, most_terms=2, highest=200)


class Driven:
    """A chain that is sent items, and what comes of it."""

    def __init__(self, chain, stalls):
        self.chain, self.stalls, self.rng = chain, stalls, random.Random(5)
        self.rest, self.best = [], []

    async def send(self, ctx, items):
        """Send items one after the other, then wait until all is done, and some cycles more."""
        port, waiting, idle = self.chain.i, list(items), 0
        while waiting or idle < 40:
            ctx.set(port.valid, bool(waiting) and self.rng.random() >= self.stalls[0])
            if waiting:
                ctx.set(port.payload, waiting[0])
            for out in (self.chain.o, self.chain.best):
                ctx.set(out.ready, self.rng.random() >= self.stalls[1])
            is_taken = ctx.get(port.valid) and ctx.get(port.ready)
            for out, found in ((self.chain.o, self.rest), (self.chain.best, self.best)):
                if ctx.get(out.valid) and ctx.get(out.ready):
                    found.append(ctx.get(out.payload))
                    idle = 0
            await ctx.tick()
            waiting = waiting[1:] if is_taken else waiting
            idle = 0 if waiting or ctx.get(self.chain.busy) else idle + 1


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize("sizes", [[3], [9, 3, 17]])
def test_words_set_what_is_ranked_and_how_for_all_events_after_them(sizes, stalls):
    rng = random.Random(len(sizes))
    shape, tiles = tiles_of(rng, sizes)
    worths = worths_of(rng, tiles)
    chain = Chain(tiles, ranker_of(shape, worths))
    dut = Driven(chain, stalls)
    number = 0

    async def bench(ctx):
        nonlocal number
        for ranks, factors in [(0, [1, 1, 1]), (1, [1, 1, 1]), (1, [0, 15, 2]), (0, [3, 3, 3])]:
            words = [(BASE, ranks), *((BASE + 1 + n, f) for n, f in enumerate(factors))]
            await dut.send(ctx, [config_item(*word) for word in words])
            events = [random_codes(rng, shape.widths) for _ in range(25)]
            dut.rest.clear()
            dut.best.clear()
            await dut.send(ctx, [event_item(shape, codes) for codes in events])
            found = {
                number + n: [
                    chunk
                    for tile in tiles
                    for chunk in chunks_of(
                        bits_of(tile.logic.compute(codes, [True] * tile.place.hit_count)),
                        CHUNK_BITS,
                        tile.place.first_chunk,
                    )
                ]
                for n, codes in enumerate(events)
            }
            number += len(events)
            ranked = worths if ranks else {}
            best = {
                n: best_of(chunks, CHUNK_BITS, ranked, factors, 2) for n, chunks in found.items()
            }
            rest = [
                (n, *chunk)
                for n, chunks in found.items()
                for chunk in rest_of(chunks, CHUNK_BITS, ranked)
            ]
            assert sent(dut.best) == best_items(best)
            assert [(int(i.sequence), int(i.chunk), int(i.bits)) for i in dut.rest] == rest
            assert any(best.values()) == bool(ranks) and (rest or ranks)

    simulate(chain, bench, limit_cycles=30_000)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"chunk_count": 16}, "other chunks than the tiles"),
        ({"address_bits": 7}, "other configuration words than the tiles"),
        ({"base": 2}, "the ranker and tile 0 have addresses in common"),
    ],
)
def test_ranker_that_does_not_fit_the_tiles_is_refused(other, message):
    rng = random.Random(1)
    shape, tiles = tiles_of(rng, [9, 3])
    with pytest.raises(ValueError, match=message):
        Chain(tiles, ranker_of(shape, worths_of(rng, tiles), **other))
