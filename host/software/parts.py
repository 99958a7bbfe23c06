"""A segment with those of its subscriptions that are still there: a moment of a device's life."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.host.software.bits import ONE
from penstock.host.software.blocks import Words
from penstock.host.software.compiled import loop
from penstock.host.software.ids import Ids
from penstock.host.software.packed import Flags, Numbers
from penstock.host.software.segment import Segment
from penstock.host.software.tiles import Alive


@dataclass(frozen=True, eq=False)
class Part:
    """A segment at a moment. Nothing in it changes: without some subscriptions it is another."""

    segment: Segment
    alive: Alive
    count: int

    @classmethod
    def whole(cls, segment: Segment) -> Part:
        return cls(segment, segment.alive(np.ones(len(segment), bool)), len(segment))

    @property
    def is_whole(self) -> bool:
        """Whether all of the segment is still there."""
        return self.count == len(self.segment)

    def flags(self) -> Flags:
        """By number, whether a subscription is still there."""
        bits = np.unpackbits(self.alive.by_number.view(np.uint8), bitorder="little")
        return bits[: len(self.segment)].astype(bool)

    def find(self, ids: Ids) -> Numbers:
        """The number of each of some ids, -1 where it is not here, or not any more."""
        numbers = self.segment.ids.find(ids)
        _forget_gone(self.alive.by_number, numbers)
        return numbers

    def without(self, numbers: Numbers) -> Part:
        """The same less some subscriptions that are there."""
        if not len(numbers):
            return self
        alive = Alive(self.alive.in_blocks.copy(), self.alive.by_number.copy())
        _clear(numbers, self.segment.places, alive.in_blocks.reshape(-1), alive.by_number)
        return Part(self.segment, alive, self.count - len(numbers))

    def only(self, numbers: Iterable[int]) -> Part:
        """The same less all but some subscriptions that are there."""
        flags = np.zeros(len(self.segment), bool)
        flags[np.fromiter(numbers, np.int64)] = True
        return Part(self.segment, self.segment.alive(flags), int(flags.sum()))

    def split(self, numbers: Iterable[int]) -> tuple[Part, Part | None]:
        """The same less some subscriptions, and less all others if any of them is there."""
        flags = self.flags()
        chosen = np.array([number for number in numbers if flags[number]], np.int32)
        if not len(chosen):
            return self, None
        return self.without(chosen), self.only(chosen)


def places_among_all(parts: Sequence[Part]) -> Numbers:
    """The place of each subscription among all that are there, in order of ids.

    They are numbered one part after the other; of one that is gone it is a place that it had.
    """
    before = [np.concatenate([[0], np.cumsum(part.flags(), dtype=np.int32)]) for part in parts]
    places = []
    for part, own in zip(parts, before, strict=True):
        found = own[:-1].astype(np.int32)
        for other, counts in zip(parts, before, strict=True):
            if other is not part:
                found += counts[part.segment.places_in(other.segment)].astype(np.int32)
        places.append(found)
    return np.concatenate(places)


@loop
def _forget_gone(by_number: Words, numbers: Numbers) -> None:
    """Write -1 over the numbers of subscriptions that are not there any more."""
    for at in range(len(numbers)):
        number = np.int64(numbers[at])
        if number >= 0 and not by_number[number >> 6] >> np.uint64(number & 63) & ONE:
            numbers[at] = -1


@loop
def _clear(numbers: Numbers, places: Numbers, in_blocks: Words, by_number: Words) -> None:
    for at in range(len(numbers)):
        number = np.int64(numbers[at])
        by_number[number >> 6] &= ~(ONE << np.uint64(number & 63))
        place = np.int64(places[number])
        if place >= 0:
            in_blocks[place >> 6] &= ~(ONE << np.uint64(place & 63))
