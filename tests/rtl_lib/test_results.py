"""Tests of how chunks are counted and numbered."""

import pytest

from penstock.rtl_lib.results import aligned, chunks_for, index_width, match_layout, result_layout


@pytest.mark.parametrize(("count", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (256, 8)])
def test_an_index_has_the_bits_it_needs_and_at_least_one(count, bits):
    assert index_width(count) == bits


def test_a_last_chunk_may_be_partly_filled():
    assert [chunks_for(hits, 4) for hits in (1, 4, 5, 8, 9)] == [1, 1, 2, 2, 3]


def test_alignment_is_the_next_power_of_two():
    assert [aligned(count) for count in (1, 2, 3, 4, 5, 8, 9)] == [1, 2, 4, 4, 8, 8, 16]


def test_layouts_are_as_wide_as_their_fields():
    assert result_layout(32, 100).size == 32 + 7 + 2
    assert match_layout(32, 100, 16).size == 32 + 7 + 16 + 1
