# amaranth: UnusedElaboratable=no
"""Tests of one tile: gates, valid bits, and the events and results that pass it."""

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
from streams import STALLS
from tiles import check_tile

from penstock.rtl_lib.logic import Gate, InRange, Logic
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.tile import Tile


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize(
    ("chunk_bits", "outputs", "wait"), [(1, 1, 0), (4, 4, 2), (4, 9, 0), (3, 5, 1)]
)
def test_valid_bits_change_exactly_between_the_events_around_them(
    chunk_bits, outputs, wait, stalls
):
    rng = random.Random(outputs)
    widths = (1, 4, 5)
    logic = random_logic(rng, widths, outputs)
    shape = ChainShape(widths, chunk_bits, 8, 5, logic.stages + wait)
    tile = Tile(shape, logic, first_chunk=4)
    enabled = [True] * outputs
    items, before, own = [], [], []
    for _ in range(200):
        kind = rng.random()
        chunk, bits = rng.randrange(len(tile.place.chunks)), rng.getrandbits(chunk_bits)
        if kind < 0.3:
            items.append(config_item(tile.valid_address(chunk), bits))
            for index in range(chunk_bits * chunk, min(outputs, chunk_bits * (chunk + 1))):
                enabled[index] = bool(bits >> index - chunk_bits * chunk & 1)
        elif kind < 0.4:  # a word for another tile
            items.append(config_item(rng.choice([0, 1, 8, 20, 31]), bits))
        else:
            codes = random_codes(rng, widths)
            items.append(event_item(shape, codes))
            own.append(chunks_of(bits_of(logic.compute(codes, enabled)), chunk_bits, 4))
            before.append([(rng.randrange(4), 1)] if rng.random() < 0.3 else [])
    check_tile(tile, items, before, own, stalls=stalls)


@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize("code", [0, 1, 5])
def test_latencies_are_those_documented(code, extra):
    logic = needle_logic(3, 5)
    shape = ChainShape((3,), 2, 4, 4, logic.stages + extra)
    own = chunks_of(1 << code >> 1, 2)
    traffic = check_tile(
        Tile(shape, logic, first_chunk=0), [event_item(shape, [code])], [[]], [own]
    )
    assert traffic["o"].cycles[0] == traffic["i"].cycles[0] + 1
    assert traffic["results"].cycles[0] == traffic["i"].cycles[0] + 7 + shape.stages


@pytest.mark.parametrize("codes", [[0], [1], [0, 1, 5, 0, 3]])
def test_one_event_passes_per_cycle_with_at_most_one_chunk_each(codes):
    logic = needle_logic(3, 5)
    shape = ChainShape((3,), 2, 4, 4, logic.stages)
    sent = [codes[number % len(codes)] for number in range(100)]
    own = [chunks_of(1 << code >> 1, 2) for code in sent]
    items = [event_item(shape, [code]) for code in sent]
    traffic = check_tile(Tile(shape, logic, first_chunk=0), items, [[]] * 100, own)
    assert traffic["i"].cycles == list(range(1, 101))
    first = traffic["results"].cycles[0]
    assert traffic["results"].cycles == list(range(first, first + 100))


@pytest.mark.parametrize(
    ("outputs", "first_chunk", "address_bits", "message"),
    [
        (5, 2, 4, "the first of 3 chunks must be a multiple of 4, not 2"),
        (0, 0, 4, "at least one match bit, not 0"),
        (5, 8, 4, "chunks 8 to 10 do not exist among 8"),
        (5, 4, 2, "addresses 4 to 6 do not fit into 2 bits"),
    ],
)
def test_chunks_that_do_not_exist_are_refused(outputs, first_chunk, address_bits, message):
    shape = ChainShape((3,), 2, 8, address_bits, 1)
    logic = needle_logic(3, outputs)
    with pytest.raises(ValueError, match=message):
        Tile(shape, logic, first_chunk=first_chunk)


def test_logic_deeper_than_the_chain_is_refused():
    logic = Logic((InRange(0, 1), Gate((0,)), Gate((2,))), (4,))
    with pytest.raises(ValueError, match="the logic needs 2 stages, not 1"):
        Tile(ChainShape((3,), 2, 8, 4, 1), logic, first_chunk=0)
