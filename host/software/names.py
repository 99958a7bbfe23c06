"""Names of attributes looked up by their bytes, for millions of entries of sparse events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.host.software.compiled import Scalar, inlined, loop
from penstock.host.software.ids import Bytes, Ids
from penstock.host.software.packed import Numbers

ROOM = 4
"""Places of the table for each name, so that few share one."""


class NameTable:
    """The numbers of some names, in the order given."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = Ids(pa.array(names, pa.string()))
        self._places = np.full(1 << (ROOM * len(names)).bit_length(), -1, np.int32)
        _fill(self._names.offsets, self._names.data, self._places)

    def find(self, names: pa.Array) -> npt.NDArray[np.int32] | None:
        """The number of each; None if one is no name of the table to the letter."""
        sought = Ids(names)
        found = np.empty(len(names), np.int32)
        mine = self._names.offsets, self._names.data
        is_known = _find(*mine, self._places, sought.offsets, sought.data, found)
        return found if is_known else None


@inlined
def _hash(data: Bytes, first: Scalar, stop: Scalar) -> Scalar:
    """FNV-1a."""
    mixed = np.uint64(0xCBF29CE484222325)
    for at in range(first, stop):
        mixed = (mixed ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(0x7FFFFFFF))


@loop
def _fill(offsets: Numbers, data: Bytes, places: Numbers) -> None:
    mask = len(places) - 1
    for number in range(len(offsets) - 1):
        place = _hash(data, offsets[number], offsets[number + 1]) & mask
        while places[place] >= 0:
            place = (place + 1) & mask
        places[place] = number


@loop
def _find(
    offsets: Numbers, data: Bytes, places: Numbers, sought: Numbers, text: Bytes, found: Numbers
) -> Scalar:
    """Look up each name; whether all were found."""
    mask = len(places) - 1
    for n in range(len(found)):
        first, length = sought[n], sought[n + 1] - sought[n]
        place = _hash(text, first, first + length) & mask
        number = -1
        while number < 0:
            candidate = places[place]
            if candidate < 0:
                return False
            begin = offsets[candidate]
            if offsets[candidate + 1] - begin == length:
                at = 0
                while at < length and data[begin + at] == text[first + at]:
                    at += 1
                if at == length:
                    number = candidate
            place = (place + 1) & mask
        found[n] = number
    return True
