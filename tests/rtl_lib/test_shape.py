"""Tests of what tiles agree on."""

import pytest

from penstock.rtl_lib.shape import ChainShape, Place


def test_codes_lie_side_by_side_with_field_0_lowest():
    assert ChainShape((1, 4, 2), 1, 1, 1, 1).pack((1, 5, 3)) == 0b11_0101_1


@pytest.mark.parametrize("codes", [(2, 0), (-1, 0)])
def test_a_code_that_does_not_fit_is_refused(codes):
    with pytest.raises(ValueError, match="does not fit into 1 bits"):
        ChainShape((1, 4), 1, 1, 1, 1).pack(codes)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (((), 1, 1, 1, 1), "at least one bit each"),
        (((3, 0), 1, 1, 1, 1), "at least one bit each"),
        (((3,), 0, 1, 1, 1), "chunk_bits must be at least 1, not 0"),
        (((3,), 1, 0, 1, 1), "chunk_count must be at least 1, not 0"),
        (((3,), 1, 1, 0, 1), "address_bits must be at least 1, not 0"),
        (((3,), 1, 1, 1, 0), "stages must be at least 1, not 0"),
    ],
)
def test_numbers_no_circuit_can_have_are_refused(numbers, message):
    with pytest.raises(ValueError, match=message):
        ChainShape(*numbers)


def test_an_event_word_holds_codes_or_a_configuration_word():
    assert ChainShape((3, 4), 8, 2, 5, 1).event_layout.size == 8 + 5 + 1
    assert ChainShape((30, 4), 8, 2, 5, 1).event_layout.size == 34 + 1


def test_a_place_has_chunks_and_addresses():
    place = Place(ChainShape((3,), 4, 16, 6, 1), 9, first_chunk=4, base=32, address_count=5)
    assert (place.chunks, place.addresses, place.offset_bits) == (range(4, 7), range(32, 37), 3)


@pytest.mark.parametrize(
    ("first_chunk", "base", "message"),
    [
        (2, 32, "the first of 3 chunks must be a multiple of 4, not 2"),
        (16, 32, "chunks 16 to 18 do not exist among 16"),
        (4, 4, "the first of 5 addresses must be a multiple of 8, not 4"),
        (4, 64, "addresses 64 to 68 do not fit into 6 bits"),
    ],
)
def test_a_place_outside_the_chain_is_refused(first_chunk, base, message):
    shape = ChainShape((3,), 4, 16, 6, 1)
    with pytest.raises(ValueError, match=message):
        Place(shape, 9, first_chunk=first_chunk, base=base, address_count=5)
