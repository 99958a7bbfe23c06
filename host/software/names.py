"""Names of attributes looked up by their bytes, and doubles found, for many sparse events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.host.software.bits import read_word
from penstock.host.software.compiled import Scalar, inlined, loop
from penstock.host.software.ids import Bytes, Ids
from penstock.host.software.packed import Integers, Numbers

ROOM = 4
"""Places of the table for each name, so that few share one."""
ALL = np.uint64(2**64 - 1)
Ends = npt.NDArray[np.uint64]
"""Of each name the first bytes and the last, up to eight of both."""


class NameTable:
    """The numbers of some names, in the order given."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = Ids(pa.array(names, pa.string()))
        size = 1 << (ROOM * len(names)).bit_length()
        self._ends, self._places = np.zeros((size, 2), np.uint64), np.full(size, -1, np.int32)
        _fill(self._names.offsets, self._names.data, self._ends, self._places)

    def find(self, names: pa.Array) -> npt.NDArray[np.int32] | None:
        """The number of each; None if one is no name of the table to the letter."""
        sought = Ids(names)
        found = np.empty(len(names), np.int32)
        mine = self._names.offsets, self._names.data, self._ends, self._places
        return found if _find(*mine, sought.offsets, sought.data, found) else None


def first_double(attributes: Numbers, events: Integers, count: int) -> int:
    """The first entry of an event that has its attribute already; or how many entries there are."""
    return int(_first_double(attributes, events, np.full(count, -1, np.int64)))


@loop
def _first_double(attributes: Numbers, events: Integers, last: Integers) -> Scalar:
    for n in range(len(events)):
        if last[attributes[n]] == events[n]:
            return n
        last[attributes[n]] = events[n]
    return len(events)


@inlined
def _word(data: Bytes, first: Scalar, stop: Scalar) -> Scalar:
    """The bytes from a first one up to another, but eight at most, as a word."""
    if first + 8 <= len(data):
        unused = np.uint64(8 * max(0, 8 - (stop - first)))
        return read_word(data, first) & (ALL >> unused) if unused < 64 else np.uint64(0)
    word = np.uint64(0)
    for at in range(min(stop, first + 8) - 1, first - 1, -1):
        word = word << np.uint64(8) | np.uint64(data[at])
    return word


@inlined
def _place(head: Scalar, tail: Scalar, length: Scalar, mask: Scalar) -> Scalar:
    """Where to look for a name of that length with these ends: names often begin alike."""
    mixed = (head ^ np.uint64(length)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32)) ^ tail) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64(mixed >> np.uint64(32)) & mask


@loop
def _fill(offsets: Numbers, data: Bytes, ends: Ends, places: Numbers) -> None:
    mask = len(places) - 1
    for number in range(len(offsets) - 1):
        first, stop = np.int64(offsets[number]), np.int64(offsets[number + 1])
        head = tail = _word(data, first, stop)
        if stop - first > 8:
            tail = _word(data, stop - 8, stop)
        place = _place(head, tail, stop - first, mask)
        while places[place] >= 0:
            place = (place + 1) & mask
        ends[place, 0], ends[place, 1], places[place] = head, tail, number


@loop
def _find(
    offsets: Numbers, data: Bytes, ends: Ends, places: Numbers,
    sought: Numbers, text: Bytes, found: Numbers,
) -> Scalar:  # fmt: skip
    """Look up each name; whether all were found."""
    mask = len(places) - 1
    for n in range(len(found)):
        first, stop = np.int64(sought[n]), np.int64(sought[n + 1])
        head = tail = _word(text, first, stop)
        if stop - first > 8:
            tail = _word(text, stop - 8, stop)
        place = _place(head, tail, stop - first, mask)
        while True:
            number = places[place]
            if number < 0:
                return False
            if (
                ends[place, 0] == head
                and ends[place, 1] == tail
                and _is_same(offsets, data, number, text, first, stop)
            ):
                break
            place = (place + 1) & mask
        found[n] = number
    return True


@inlined
def _is_same(
    offsets: Numbers, data: Bytes, number: Scalar, text: Bytes, first: Scalar, stop: Scalar
) -> Scalar:
    """Whether a name is a text that begins and ends with the same eight bytes."""
    begin, at = offsets[number], np.int64(8)
    if offsets[number + 1] - begin != stop - first:
        return False
    while at < stop - first - 8 and data[begin + at] == text[first + at]:
        at += 1
    return at >= stop - first - 8
