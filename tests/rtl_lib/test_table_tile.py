# amaranth: UnusedElaboratable=no
"""Tests of a tile whose subscriptions are memory contents."""

import random

import pytest
from models import config_item, event_item, random_bits, random_codes
from streams import STALLS
from tiles import Contents, check_tile, filled

from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.table_tile import TableTile


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize(
    ("fields", "capacity", "chunk_bits", "stages"),
    [([0], 1, 1, 2), ([1], 4, 4, 3), ([0, 1, 2], 9, 4, 2), ([2, 0, 3, 1], 7, 3, 5)],
)
def test_writes_change_exactly_what_the_events_after_them_find(
    fields, capacity, chunk_bits, stages, stalls
):
    rng = random.Random(capacity)
    widths = (1, 2, 3, 2)
    shape = ChainShape(widths, chunk_bits, 12, 10, stages)
    tile = TableTile(shape, fields, capacity=capacity, first_chunk=8, base=512)
    chance = 0.4 ** (1 / len(fields))  # that of a subscription to match is then 0.4
    contents, items = filled(tile, rng, chance=chance)
    before, own = [], []
    for _ in range(200):
        kind = rng.random()
        chunk = rng.randrange(len(tile.place.chunks))
        bits = random_bits(rng, chunk_bits, chance)
        if kind < 0.1:
            items.append(contents.write_valid(chunk, bits))
        elif kind < 0.4:
            field = rng.choice(fields)
            code = rng.randrange(2 ** widths[field])
            items.append(contents.write_row(field, code, chunk, bits))
        elif kind < 0.45:  # a word for another tile, with low bits like one for this
            items.append(config_item(rng.choice(tile.place.addresses) & 511, bits))
        else:
            codes = random_codes(rng, widths)
            items.append(event_item(shape, codes))
            own.append(contents.chunks(codes))
            before.append([(rng.randrange(8), 1)] if rng.random() < 0.3 else [])
    assert any(own) and not all(own)
    check_tile(tile, items, before, own, stalls=stalls)


def test_nothing_matches_before_valid_bits_and_rows_are_written():
    shape = ChainShape((1, 2), 2, 2, 6, 2)
    tile = TableTile(shape, [0, 1], capacity=3, first_chunk=0, base=0)
    contents = Contents(tile)
    event = event_item(shape, (1, 2))
    items = [event, contents.write_row(0, 1, 0, 3), contents.write_row(1, 2, 0, 3), event]
    items += [contents.write_valid(1, 3), event, contents.write_valid(0, 1), event]
    check_tile(tile, items, [[]] * 4, [[], [], [], [(0, 1)]])


@pytest.mark.parametrize("stages", [2, 4])
def test_the_latency_is_that_of_a_tile(stages):
    shape = ChainShape((2, 3), 2, 4, 7, stages)
    tile = TableTile(shape, [0, 1], capacity=5, first_chunk=0, base=0)
    contents = Contents(tile)
    words = [contents.write_valid(2, 1), contents.write_row(0, 3, 2, 1)]
    words += [contents.write_row(1, 7, 2, 1), event_item(shape, (3, 7))]
    traffic = check_tile(tile, words, [[]], [[(2, 1)]])
    assert traffic["o"].cycles[-1] == traffic["i"].cycles[-1] + 1
    assert traffic["results"].cycles[0] == traffic["i"].cycles[-1] + 7 + stages


def test_one_event_passes_per_cycle_with_at_most_one_chunk_each():
    shape = ChainShape((3, 3), 2, 4, 8, 3)
    tile = TableTile(shape, [1], capacity=6, first_chunk=0, base=0)
    contents = Contents(tile)
    items = [contents.write_valid(chunk, 3) for chunk in range(3)]
    items += [contents.write_row(1, code, code % 3, 1) for code in range(1, 7)]
    sent = [(number % 5, number % 8) for number in range(100)]
    items += [event_item(shape, codes) for codes in sent]
    traffic = check_tile(tile, items, [[]] * 100, [contents.chunks(codes) for codes in sent])
    assert traffic["i"].cycles == list(range(1, len(items) + 1))
    first = traffic["results"].cycles[0]
    assert traffic["results"].cycles == list(range(first, first + 100))


def test_addresses_are_different_and_the_tiles_own():
    shape = ChainShape((1, 2, 3), 2, 8, 8, 2)
    tile = TableTile(shape, [0, 2], capacity=5, first_chunk=4, base=128)
    addresses = [tile.valid_address(chunk) for chunk in range(3)]
    addresses += [
        tile.row_address(field, code, chunk)
        for field in (0, 2)
        for code in range(2 ** shape.widths[field])
        for chunk in range(3)
    ]
    assert len(set(addresses)) == 3 + 3 * (2 + 8)
    # Two bits tell three tables apart, three the codes, and two the chunks.
    assert tile.address_count == 2**7
    assert set(addresses) <= set(range(128, 256))


@pytest.mark.parametrize(
    ("fields", "changes", "message"),
    [
        ([], {}, "at least one"),
        ([1, 1], {}, r"fields must be different ones, at least one, not \(1, 1\)"),
        ([0, 5], {}, r"an event has 5 fields, not all of \(0, 5\)"),
        ([0, 1, 2, 3], {}, "4 fields need 3 stages, not 2"),
        ([0], {"capacity": 0}, "at least one match bit, not 0"),
        ([0], {"first_chunk": 3}, "must be a multiple of 2, not 3"),
        ([0], {"base": 4}, "the first of 16 addresses must be a multiple of 16, not 4"),
        ([0], {"base": 256}, "addresses 256 to 271 do not fit into 8 bits"),
    ],
)
def test_tiles_that_cannot_be_built_are_refused(fields, changes, message):
    shape = ChainShape((2, 2, 2, 2, 2), 2, 8, 8, 2)
    with pytest.raises(ValueError, match=message):
        TableTile(shape, fields, **{"capacity": 3, "first_chunk": 0, "base": 0, **changes})


def test_addresses_of_what_does_not_exist_are_refused():
    tile = TableTile(ChainShape((2, 2), 2, 8, 8, 2), [1], capacity=3, first_chunk=0, base=0)
    with pytest.raises(ValueError, match="the tile has 2 chunks, so no chunk 2"):
        tile.valid_address(2)
    with pytest.raises(ValueError, match="field 1 has no code 4"):
        tile.row_address(1, 4, 0)
    with pytest.raises(ValueError, match="field 0 has no memory here"):
        tile.row_address(0, 1, 0)
