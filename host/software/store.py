"""The parts of a software device as subscriptions come and go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Condition, Thread

import numpy as np
import pyarrow as pa

from penstock.gen.queryset import Progress, QuerySet
from penstock.host.software.ids import Ids, in_order
from penstock.host.software.merge import merged
from penstock.host.software.packed import Integers, Numbers
from penstock.host.software.parts import Part
from penstock.host.software.segment import segment_of

MOST_PARTS = 8
"""Up to so many, parts are left as they are: to merge takes longer than to look into one more."""
TINY = 256
"""Subscriptions of a part that is no sooner made than merged with another such."""
GROWTH = 3
"""A part is merged with all behind it if they are together at least a third of its size."""
MOST_WAITING, MOST_SINGLES = 4096, 64
"""Subscriptions that wait until somebody asks for the parts, rather than become one at once; and
those that came one by one, as their conditions take longer."""
LASTING = 4 * MOST_WAITING
"""A merged part of so many is there for long enough to be laid out with care."""


class Store:
    """A main part, and behind it smaller ones: what was added since, in the order in which it came.

    A thread merges parts while they go on being used, and then puts the new one in their place. As
    parts grow in steps, each subscription is packed but a few times. The thread ends when there is
    nothing to merge, and another one begins when there is.
    """

    def __init__(self, queries: QuerySet, progress: Progress | None = None) -> None:
        self._waiting = QuerySet(queries.schema)
        self._waiting_singles = 0
        self._parts: tuple[Part, ...] = (Part.whole(segment_of(queries, progress)),)
        self._changed = Condition()
        self._merging: Thread | None = None
        self._is_open = True

    def parts(self) -> tuple[Part, ...]:
        """The parts at this moment."""
        with self._changed:
            self._settle()
            return self._parts

    def add(self, queries: QuerySet) -> None:
        """Take in subscriptions, or none; ValueError if an id is here already."""
        ids = in_order(pa.array(queries.ids, pa.string()))[0]
        is_large = len(queries) > MOST_WAITING or len(queries.singles) > MOST_SINGLES
        part = Part.whole(segment_of(queries)) if is_large else None
        with self._changed:
            self._check_new(ids)
            if part:
                self._put((*self._parts, part))
                return
            self._waiting.extend(queries)
            self._waiting_singles += len(queries.singles)
            if self._waiting_singles > MOST_SINGLES or len(self._waiting) > MOST_WAITING:
                self._settle()

    def remove(self, ids: Sequence[str]) -> None:
        """Take out subscriptions, or none; KeyError if one is not here."""
        with self._changed:
            waiting = {id for id in ids if id in self._waiting}
            others, _ = in_order(pa.array(sorted({*ids} - waiting), pa.string()))
            found = list(_found_in(self._parts, others))
            known = np.logical_or.reduce([numbers >= 0 for numbers in found])
            if not known.all():
                unknown = others.array[int(np.argmin(known))].as_py()
                raise KeyError(f"no subscription {unknown!r} on the device")
            for id in waiting:
                self._waiting.remove(id)
            changed = zip(self._parts, found, strict=False)  # none of the others has any
            fewer = (part.without(numbers[numbers >= 0]) for part, numbers in changed)
            self._put((*fewer, *self._parts[len(found) :]))

    def where(self, id: str) -> str:
        """Whether a subscription is in the main part, or still behind it."""
        ids = Ids(pa.array([id], pa.string()))
        with self._changed:
            here = [part.find(ids)[0] >= 0 for part in self._parts]
            if not any(here) and id not in self._waiting:
                raise KeyError(f"no subscription {id!r} on the device")
            return "index" if here[0] else "recent"

    def stats(self) -> Mapping[str, int]:
        with self._changed:
            first, *others = self._parts
            recent = sum(part.count for part in others) + len(self._waiting)
            size = sum(part.segment.nbytes for part in self._parts)
            return {"index": first.count, "recent": recent, "bytes": size}

    def wait(self) -> None:
        """Return once there is nothing left to merge."""
        while (thread := self._merging) is not None:
            thread.join()

    def close(self) -> None:
        """Merge no more."""
        with self._changed:
            self._is_open = False
        self.wait()

    def _check_new(self, ids: Ids) -> None:
        known = [part.find(ids) >= 0 for part in self._parts]
        known.append(np.array([id in self._waiting for id in ids.array.to_pylist()], bool))
        here = np.logical_or.reduce(known)
        if here.any():
            twice = ids.array[int(np.argmax(here))].as_py()
            raise ValueError(f"subscription {twice!r} is on the device already")

    def _settle(self) -> None:
        """Make a part of what has been waiting."""
        if len(self._waiting):
            part = Part.whole(segment_of(self._waiting, is_lasting=False))
            self._waiting, self._waiting_singles = self._waiting.empty(), 0
            self._put((*self._parts, part))

    def _put(self, parts: Iterable[Part]) -> None:
        """These are the parts now, but for empty ones behind the main part."""
        first, *others = parts
        self._parts = (first, *(part for part in others if part.count))
        if self._is_open and self._merging is None and _to_merge(self._parts):
            self._merging = Thread(target=self._merge, name="penstock merge", daemon=True)
            self._merging.start()

    def _merge(self) -> None:
        while True:
            with self._changed:
                chosen = _to_merge(self._parts) if self._is_open else ()
                if not chosen:
                    self._merging = None
                    return
            segment, numbers = merged(
                [part.segment for part in chosen],
                [part.flags() for part in chosen],
                is_lasting=sum(part.count for part in chosen) >= LASTING,
            )
            new = Part.whole(segment)
            with self._changed:
                self._replace(chosen, new, numbers)

    def _replace(self, chosen: Sequence[Part], new: Part, numbers: Sequence[Integers]) -> None:
        """Put a merged part in the place of its parts, less what was removed meanwhile."""
        now = {part.segment: part.flags() for part in self._parts}
        removed = [
            moved[before.flags() & ~now.get(before.segment, np.zeros(len(moved), bool))]
            for before, moved in zip(chosen, numbers, strict=True)
        ]
        kept = new.without(np.concatenate(removed).astype(np.int32))
        old = {part.segment for part in chosen}
        places = [n for n, part in enumerate(self._parts) if part.segment in old]
        first = places[0] if places else len(self._parts)  # parts that are empty by now are gone
        others = [part for part in self._parts if part.segment not in old]
        self._put((*others[:first], kept, *others[first:]))


def _found_in(parts: Sequence[Part], ids: Ids) -> Iterator[Numbers]:
    """The numbers of some ids in each part, up to the one with the last of them."""
    known = np.zeros(len(ids), bool)
    for part in parts:
        numbers = part.find(ids)
        yield numbers
        known |= numbers >= 0
        if known.all():
            return


def _to_merge(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The last parts that are worth merging, or one that is half empty; nothing if none is."""
    tiny = sum(part.count < TINY for part in parts[1:])
    if len(parts) > MOST_PARTS or tiny > 1:
        total, count = parts[-1].count, 1
        while count < len(parts) and parts[-count - 1].count < GROWTH * total:
            count += 1
            total += parts[-count].count
        if count > 1:
            return tuple(parts[-count:])
    return next(((part,) for part in parts if 2 * part.count < len(part.segment)), ())
