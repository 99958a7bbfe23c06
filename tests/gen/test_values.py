"""Sets of values against Python's own sets, and one spelling for each set."""

from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.gen.types import BOOLEAN, STRING, TINYINT, Key, Type, decimal
from penstock.gen.values import (
    NOTHING,
    ONLY_NULL,
    ValueSet,
    complement,
    intersection,
    present,
    stretch,
    union,
    without_null,
)

SMALL = [BOOLEAN, TINYINT, decimal(1, 1), decimal(2)]
TEXTS = ["", "\0", "a", "a\0", "a\0\0", "ab", "b", "\ud7ff", "\ue000", "\U0010ffff"]


def universe(of: Type) -> list[Key | None]:
    """Every key of a small type, a few strings that lie close together, and NULL."""
    if of == STRING:
        return [None, *TEXTS]
    return [None, *range(of.lowest, (of.highest or 0) + 1)]  # type: ignore[arg-type, list-item]


def members(values: ValueSet, of: Type) -> set[Key | None]:
    return {key for key in universe(of) if values.has(key)}


def spelled(keys: set[Key | None], of: Type) -> ValueSet:
    """The set of these keys, written down from its definition."""
    cuts: list[Key] = []
    for key in universe(of)[1:]:
        assert key is not None
        if (key in keys) != (len(cuts) % 2 == 1):
            cuts.append(key)
    return ValueSet(tuple(cuts), null=None in keys)


@st.composite
def key_sets(draw: st.DrawFn, of: Type) -> set[Key | None]:
    """A few runs of keys, so that sets touch, overlap and reach the ends."""
    keys = universe(of)[1:]
    ends = st.integers(0, len(keys))
    runs = draw(st.lists(st.tuples(ends, ends), max_size=4))
    found: set[Key | None] = {key for low, high in runs for key in keys[low:high]}
    return found | ({None} if draw(st.booleans()) else set())


def sets(of: Type, count: int) -> st.SearchStrategy[list[set[Key | None]]]:
    return st.lists(key_sets(of), min_size=count, max_size=count)


@given(st.data(), st.sampled_from(SMALL))
def test_a_set_has_exactly_its_members(data: st.DataObject, of: Type) -> None:
    keys = data.draw(key_sets(of))
    assert members(spelled(keys, of), of) == keys


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(SMALL), st.integers(1, 4))
def test_union_and_intersection_are_those_of_sets(
    data: st.DataObject, of: Type, count: int
) -> None:
    many = data.draw(sets(of, count))
    written = [spelled(keys, of) for keys in many]
    assert union(written) == spelled(reduce(set.union, many), of)
    assert intersection(written) == spelled(reduce(set.intersection, many), of)
    assert union(reversed(written)) == union(written)


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(SMALL))
def test_complement_is_everything_else(data: st.DataObject, of: Type) -> None:
    keys = data.draw(key_sets(of))
    other = complement(spelled(keys, of), of)
    assert other == spelled(set(universe(of)) - keys, of)
    assert complement(other, of) == spelled(keys, of)
    assert without_null(other) == spelled(set(universe(of)) - keys - {None}, of)


@pytest.mark.fuzz
@given(st.data(), st.sampled_from(SMALL))
def test_a_stretch_has_the_keys_between_its_ends(data: st.DataObject, of: Type) -> None:
    low, high = of.lowest, of.highest
    ends = st.none() | st.integers(low - 2, high + 2)  # type: ignore[operator]
    first, beyond = data.draw(ends), data.draw(ends)
    inside = {
        key
        for key in universe(of)[1:]
        if (first is None or not key < first) and (beyond is None or key < beyond)  # type: ignore[operator]
    }
    assert stretch(of, first, beyond) == spelled(inside, of)


@given(st.data(), st.sampled_from(SMALL))
def test_stretches_are_the_runs_of_a_set(data: st.DataObject, of: Type) -> None:
    keys = data.draw(key_sets(of))
    values = spelled(keys, of)
    runs = values.stretches()
    assert union(stretch(of, *run) for run in runs) == without_null(values)
    for (_, beyond), (first, _) in pairwise(runs):
        assert beyond is not None and beyond < first
    assert all(beyond is not None for _, beyond in runs[:-1])


@given(st.data(), st.sampled_from(SMALL))
def test_empty_full_and_present_are_told(data: st.DataObject, of: Type) -> None:
    keys = data.draw(key_sets(of))
    assert spelled(keys, of).is_empty == (not keys)
    assert spelled(keys, of).is_full(of) == (keys == set(universe(of)))
    assert members(present(of), of) == set(universe(of)) - {None}
    assert (members(NOTHING, of), members(ONLY_NULL, of)) == (set(), {None})


@pytest.mark.fuzz
@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)), max_size=4),
       st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)), max_size=4))  # fmt: skip
def test_sets_of_strings_obey_the_same_algebra(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    one, two = (union(stretch(STRING, *ends) for ends in runs) for runs in (first, second))
    for text in universe(STRING):
        assert union((one, two)).has(text) == (one.has(text) or two.has(text))
        assert intersection((one, two)).has(text) == (one.has(text) and two.has(text))
        assert complement(one, STRING).has(text) != one.has(text)
    assert complement(union((one, two)), STRING) == intersection(
        (complement(one, STRING), complement(two, STRING))
    )
    assert union((one, complement(one, STRING))).is_full(STRING)
    assert intersection((one, complement(one, STRING))).is_empty


def test_points_that_touch_become_one_stretch() -> None:
    points = [stretch(TINYINT, key, key + 1) for key in (5, 7, 6)]
    assert union(points) == ValueSet((5, 8))
    assert union([stretch(TINYINT, 100, None), stretch(TINYINT, None, 100)]) == present(TINYINT)
    assert stretch(TINYINT, 127, 128) == ValueSet((127,)) == stretch(TINYINT, 127, None)
    assert union([]) == NOTHING
