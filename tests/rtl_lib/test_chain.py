# amaranth: UnusedElaboratable=no
"""Tests of whole chains."""

import random

import pytest
from models import (
    bits_of,
    chunks_of,
    config_item,
    event_item,
    needle_logic,
    random_codes,
    random_logic,
)
from streams import STALLS, simulate
from tiles import check_chain, chunk_numbers, filled

from penstock.rtl_lib.chain import Chain
from penstock.rtl_lib.logic import Gate, InRange, Logic
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.table_tile import TableTile
from penstock.rtl_lib.tile import Tile


def chain_of(widths, logics, *, chunk_bits, stages=None):
    firsts, count = chunk_numbers([len(logic.outputs) for logic in logics], chunk_bits)
    stages = stages or max(logic.stages for logic in logics)
    shape = ChainShape(tuple(widths), chunk_bits, count, 6, stages)
    pairs = zip(logics, firsts, strict=True)
    return Chain([Tile(shape, logic, first_chunk=first) for logic, first in pairs])


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize(
    ("sizes", "chunk_bits"),
    [([1], 1), ([3], 4), ([4, 1], 2), ([5, 1, 9], 2), ([9, 3, 17, 8], 4), ([5, 5, 1, 8, 2], 3)],
)
def test_chains_find_what_their_logic_computes(sizes, chunk_bits, stalls):
    rng = random.Random(len(sizes))
    widths = (3, 7, 1, 5)
    logics = [random_logic(rng, widths, size) for size in sizes]
    chain = chain_of(widths, logics, chunk_bits=chunk_bits)
    enabled = [[True] * size for size in sizes]
    items, events = [], []
    for _ in range(90):
        if rng.random() < 0.2:
            number = rng.randrange(len(sizes))
            tile, flags = chain.tiles[number], enabled[number]
            chunk, bits = rng.randrange(len(tile.place.chunks)), rng.getrandbits(chunk_bits)
            items.append(config_item(tile.valid_address(chunk), bits))
            for index in range(chunk * chunk_bits, min(len(flags), (chunk + 1) * chunk_bits)):
                flags[index] = bool(bits >> index - chunk * chunk_bits & 1)
            continue
        codes = random_codes(rng, widths)
        items.append(event_item(chain.shape, codes))
        chunks = []
        for tile, flags in zip(chain.tiles, enabled, strict=True):
            hits = bits_of(tile.logic.compute(codes, flags))
            chunks += chunks_of(hits, chunk_bits, tile.place.first_chunk)
        events.append(chunks)
    check_chain(chain, items, events, stalls=stalls)


def numbered_chain(tile_count, *, stages=2):
    """Code 0 matches nothing; code ``n`` the last subscription of tile ``n - 1``; 7 matches all."""
    logics = []
    for number in range(tile_count):
        nodes = (InRange(0, number + 1, number + 2), InRange(0, 7), Gate((0, 2), is_or=True))
        never = Gate((0, 1))
        logics.append(Logic((*nodes, never), (6, 6, 4)))
    return chain_of((3,), logics, chunk_bits=2, stages=stages)


def numbered_chunks(chain, code):
    return [
        (tile.place.first_chunk + 1, 1)
        for number, tile in enumerate(chain.tiles)
        if code in (number + 1, 7)
    ]


@pytest.mark.parametrize("tiles", [1, 2, 5])
@pytest.mark.parametrize("stages", [1, 4])
def test_the_latency_is_as_documented(tiles, stages):
    for code in {1, tiles}:
        chain = numbered_chain(tiles, stages=stages)
        traffic = check_chain(
            chain, [event_item(chain.shape, [code])], [numbered_chunks(chain, code)]
        )
        assert traffic["o"].cycles[0] - traffic["i"].cycles[0] == 6 + stages + tiles


@pytest.mark.parametrize("codes", [[0], [1], [5], [5, 0, 1, 4, 2, 3, 0]])
def test_one_event_passes_per_cycle_with_at_most_one_chunk_each(codes):
    chain = numbered_chain(5)
    sent = [codes[number % len(codes)] for number in range(150)]
    events = [numbered_chunks(chain, code) for code in sent]
    traffic = check_chain(chain, [event_item(chain.shape, [code]) for code in sent], events)
    assert traffic["i"].cycles == list(range(1, 151))


def test_further_chunks_cost_a_cycle_each():
    chain = numbered_chain(5)
    sent = [7, 0, 0, 7, 3] * 20
    events = [numbered_chunks(chain, code) for code in sent]
    traffic = check_chain(chain, [event_item(chain.shape, [code]) for code in sent], events)
    first, *_, last = traffic["o"].cycles
    assert last - first + 1 == 20 * (5 + 1 + 1 + 5 + 1)


@pytest.mark.parametrize("stalls", STALLS)
def test_tiles_of_gates_and_of_memories_mix(stalls):
    rng = random.Random(12)
    widths = (2, 1, 3)
    logics = [random_logic(rng, widths, 5), random_logic(rng, widths, 3)]
    (first, table_first, last), count = chunk_numbers([5, 9, 3], 4)
    shape = ChainShape(widths, 4, count, 9, max(2, *(logic.stages for logic in logics)))
    table = TableTile(shape, [0, 2], capacity=9, first_chunk=table_first, base=256)
    tiles = [Tile(shape, logics[0], first_chunk=first), table]
    tiles.append(Tile(shape, logics[1], first_chunk=last))
    contents, items = filled(table, rng, chance=0.5)
    events = []
    for _ in range(100):
        if rng.random() < 0.3:
            items.append(contents.write_row(2, rng.randrange(8), 1, rng.getrandbits(4)))
            continue
        codes = random_codes(rng, widths)
        items.append(event_item(shape, codes))
        outer = [
            chunks_of(bits_of(tile.logic.compute(codes, [True] * 5)), 4, tile.place.first_chunk)
            for tile in (tiles[0], tiles[2])
        ]
        events.append(outer[0] + contents.chunks(codes) + outer[1])
    check_chain(Chain(tiles), items, events, stalls=stalls)


def test_counters_are_those_of_the_collector():
    chain = numbered_chain(2)
    counts = {}

    async def bench(ctx):
        for code in (0, 1, 7, 2):
            ctx.set(chain.i.payload, event_item(chain.shape, [code]))
            ctx.set(chain.i.valid, 1)
            await ctx.tick().until(chain.i.ready)
        ctx.set(chain.i.valid, 0)
        await ctx.tick().until(chain.o.valid)
        for _ in range(9):  # the cycle in which it became valid was one more
            await ctx.tick()
        ctx.set(chain.o.ready, 1)
        for _ in range(30):
            await ctx.tick()
        counts.update({name: ctx.get(getattr(chain, name)) for name in ("events", "chunks")})
        counts["stalls"] = ctx.get(chain.stalls)

    simulate(chain, bench, limit_cycles=200)
    assert counts == {"events": 4, "chunks": 4, "stalls": 10}


def test_a_chain_without_tiles_is_refused():
    with pytest.raises(ValueError, match="at least one tile"):
        Chain([])


def test_tiles_that_do_not_fit_together_are_refused():
    logic = needle_logic(3, 3)
    shape, other = ChainShape((3,), 2, 8, 6, 2), ChainShape((3,), 2, 8, 6, 3)
    first = Tile(shape, logic, first_chunk=0)
    with pytest.raises(ValueError, match="tile 1 has another shape than tile 0"):
        Chain([first, Tile(other, logic, first_chunk=2)])
    with pytest.raises(ValueError, match="tile 1 starts at chunk 0, too early"):
        Chain([first, Tile(shape, logic, first_chunk=0)])
    with pytest.raises(ValueError, match="tiles 0 and 1 have addresses in common"):
        Chain([first, TableTile(shape, [0], capacity=2, first_chunk=2, base=0)])
