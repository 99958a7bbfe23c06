"""The cuts of all attributes whose keys are short, found at once and not attribute by attribute.

What is added to a device are few subscriptions on many attributes: a call for each attribute would
take longer than all that is done in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from penstock.host.software.compiled import Scalar, compiled, loop
from penstock.host.software.cuts import LOWEST, Codes, Keys
from penstock.host.software.packed import Integers


@dataclass(frozen=True, eq=False)
class FlatCuts:
    """The cuts of one attribute after the other: in order, without doubles."""

    keys: Keys
    starts: Integers
    """By attribute, where its cuts begin, and at last where they end."""

    @classmethod
    def of(cls, attributes: Integers, keys: Keys, count: int) -> FlatCuts:
        """Given cuts in any order, with the attribute of each, of so many attributes."""
        starts = np.zeros(count + 1, np.int64)
        placed = np.empty(len(keys), np.int64)
        used = int(_sorted_by(attributes, keys, starts, placed))
        return cls(placed[:used].copy(), starts)

    @classmethod
    def joined(cls, parts: Iterable[tuple[Integers, Keys]], count: int) -> FlatCuts:
        """The same of cuts that come in parts, of which each is done with before the next comes."""
        found = [cls.of(attributes, keys, count) for attributes, keys in parts]
        if len(found) == 1:
            return found[0]
        none = np.zeros(0, np.int64)
        every = np.arange(count)
        attributes = [none, *(np.repeat(every, np.diff(one.starts)) for one in found)]
        keys = [none, *(one.keys for one in found)]
        return cls.of(np.concatenate(attributes), np.concatenate(keys), count)

    def keys_of(self, attribute: int) -> Keys:
        return self.keys[self.starts[attribute] : self.starts[attribute + 1]]

    def codes(self, attributes: Integers, keys: Keys) -> tuple[Codes, Codes]:
        """The codes that begin at each of some keys, and just after it."""
        begin, end = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint32)
        _find(self.keys, self.starts, attributes, keys, begin, end)
        return begin, end


@compiled
def _sorted_by(attributes: Integers, keys: Keys, starts: Integers, placed: Keys) -> Scalar:
    """Put the keys of each attribute together, in order and each once; how many are left."""
    for attribute in attributes:
        starts[attribute + 1] += 1
    ends = np.cumsum(starts)
    places = ends.copy()
    for at in range(len(keys)):
        placed[places[attributes[at]]] = keys[at]
        places[attributes[at]] += 1
    used = 0
    for attribute in range(len(starts) - 1):
        found = np.sort(placed[ends[attribute] : ends[attribute + 1]])
        starts[attribute] = used
        for at in range(len(found)):
            if at == 0 or found[at] != found[at - 1]:
                placed[used] = found[at]
                used += 1
    starts[-1] = used
    return used


@loop
def _find(
    cuts: Keys, starts: Integers, attributes: Integers, keys: Keys, begin: Codes, end: Codes
) -> None:
    for at in range(len(keys)):
        first, stop = starts[attributes[at]], starts[attributes[at] + 1]
        low, high = first, stop
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] < keys[at]:
                low = middle + 1
            else:
                high = middle
        begin[at] = low - first + LOWEST + 1
        end[at] = begin[at] + (low < stop and cuts[low] == keys[at])
