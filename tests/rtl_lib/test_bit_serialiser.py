# amaranth: UnusedElaboratable=no
"""Tests of chunks taken apart into matches."""

import random

import pytest
from rankings import match_items
from streams import STALLS, run_streams

from penstock.rtl_lib.bit_serialiser import BitSerialiser


def numbers_of(items, chunk_bits):
    """For each item its numbers, or ``None`` in place of a number where it has none."""
    want = []
    for item in items:
        places = [n for n in range(chunk_bits) if item["bits"] >> n & 1] or [None]
        for place in places:
            number = None if place is None else item["chunk"] * chunk_bits + place
            want.append((number, item["sequence"], int(item["last"] and place == places[-1])))
    return want


def sent(items):
    return [(int(i.position) if i.some else None, int(i.sequence), int(i.last)) for i in items]


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize(("chunk_bits", "chunk_count"), [(1, 1), (1, 3), (4, 5), (32, 3)])
def test_every_bit_comes_once_in_order(chunk_bits, chunk_count, stalls):
    rng = random.Random(chunk_bits)
    items = match_items(
        [(chunk, rng.choice([0, rng.getrandbits(chunk_bits), 2**chunk_bits - 1]))]
        for chunk in rng.choices(range(chunk_count), k=40)
    )
    want = numbers_of(items, chunk_bits)
    dut = BitSerialiser(chunk_bits, chunk_count, 8)
    traffic = run_streams(dut, {"i": items}, {"o": len(want)}, stalls=stalls)
    assert sent(traffic["o"].items) == want


def test_bit_per_cycle():
    items = match_items([[(0, 0b1011), (1, 0b1000)], [(2, 0)], [(1, 0b11)]])
    traffic = run_streams(BitSerialiser(4, 3, 8), {"i": items}, {"o": 7})
    assert traffic["o"].cycles == list(range(2, 9))


def test_chunks_that_are_no_power_of_two_are_refused():
    with pytest.raises(ValueError, match="a power of two of bits, not 3"):
        BitSerialiser(3, 2, 8)
