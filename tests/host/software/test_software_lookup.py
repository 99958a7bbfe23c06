"""Keys as codes, and names as numbers: against the plain definition, up to the extremes."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.host.software.lookup import lookup_of, write_column, write_entries
from penstock.host.software.names import NameTable

LOWEST, HIGHEST = -(2**63), 2**63 - 1
KEYS = st.integers(-3, 3) | st.integers(LOWEST, HIGHEST) | st.sampled_from([LOWEST, HIGHEST])
NAMES = st.text(st.sampled_from("ab\0é"), max_size=19)


def keys(some):
    return np.array([*some], np.int64)


@given(st.lists(st.sets(KEYS)), st.lists(KEYS))
@example([{LOWEST, HIGHEST}, set(), {LOWEST}, {HIGHEST}], [])
def test_a_code_counts_the_cuts_at_or_below(cuts, others):
    lookup = lookup_of([keys(sorted(found)) for found in cuts])
    for field, found in enumerate(cuts):
        asked = [*found, *(k - 1 for k in found if k > LOWEST), *others, LOWEST, HIGHEST]
        wanted = [1 + sum(cut <= key for cut in found) for key in asked]
        codes = np.zeros(len(asked), np.uint32)
        write_column(keys(asked), field, *lookup, codes)
        assert codes.tolist() == wanted
        rows = np.arange(len(asked))
        many = np.zeros(len(asked), np.int32), np.zeros(len(asked), np.uint32)
        write_entries(
            np.ones(len(asked), np.int32), rows, keys(asked), np.array([-1, field], np.int32),
            rows.copy(), *lookup, *many,
        )  # fmt: skip
        assert many[1].tolist() == wanted
        assert {*many[0].tolist()} == {field}


def test_cuts_that_lie_unevenly_are_found():
    cuts = keys(sorted({*range(0, 500, 5), *range(10**15, 10**15 + 900, 3), LOWEST, HIGHEST}))
    asked = np.concatenate([cuts, cuts[1:] - 1, cuts[:-1] + 1])
    codes = np.zeros(len(asked), np.uint32)
    write_column(asked, 0, *lookup_of([cuts]), codes)
    assert codes.tolist() == (np.searchsorted(cuts, asked, side="right") + 1).tolist()


def test_entries_of_no_field_take_no_place():
    lookup = lookup_of([keys([5])])
    fields, codes, places = np.full(2, 9, np.int32), np.full(2, 9, np.uint32), np.array([0, 1])
    write_entries(
        np.array([0, 1, 0], np.int32), keys([0, 0, 1]), keys([7, 7, 7]),
        np.array([-1, 0], np.int32), places, *lookup, fields, codes,
    )  # fmt: skip
    assert (fields.tolist(), codes.tolist()) == ([0, 9], [2, 9])


@given(st.lists(NAMES, unique=True, min_size=1), st.lists(NAMES))
@example(["12345678", "123456789", "1234567890123456", "", "1234567", "12345678\0"], [])
def test_names_are_found_to_the_letter(names, others):
    table = NameTable(names)
    assert table.find(pa.array(names * 2)).tolist() == [*range(len(names))] * 2
    for sought in ([other] for other in others):
        found = table.find(pa.array(["", *sought]).slice(1))
        wanted = [names.index(sought[0])] if sought[0] in names else None
        assert (None if found is None else found.tolist()) == wanted


@pytest.mark.parametrize("count", [1, 3, 400, 5000])
def test_many_names_that_begin_alike_are_found(count):
    names = [f"attribute_{n}" for n in range(count)]
    assert NameTable(names).find(pa.array(names[::-1])).tolist() == [*range(count)][::-1]
