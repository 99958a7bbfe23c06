"""Sets of values of one attribute, as cuts in the order of its type.

Every predicate on one attribute holds for a set of values: ``price < 10`` for one stretch,
``price <> 10`` for two, ``side IN ('B', 'S')`` for two points. A set is written as the keys
at which membership flips, in order; below the first cut nothing belongs to it. Over INT:

    x >= 5                  (5,)
    x BETWEEN 5 AND 7       (5, 8)
    x <> 5                  (-2147483648, 5, 6)

One set has one spelling, so equal meaning is equal data.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.gen.types import Key, Type


@dataclass(frozen=True, slots=True)
class ValueSet:
    """Which values of one attribute satisfy a predicate, and whether NULL does."""

    cuts: tuple[Key, ...]
    null: bool = False

    def has(self, key: Key | None) -> bool:
        """Whether the value with this key, or NULL for ``None``, belongs to the set."""
        if key is None:
            return self.null
        return bisect_right(self.cuts, key) % 2 == 1

    @property
    def is_empty(self) -> bool:
        return not self.cuts and not self.null

    def is_full(self, of: Type) -> bool:
        """Whether every value and NULL belong to the set."""
        return self.null and self.cuts == (of.lowest,)

    def stretches(self) -> tuple[tuple[Key, Key | None], ...]:
        """The runs of keys in the set: from the first, up to but not including the second."""
        ends = (*self.cuts[1:], None) if len(self.cuts) % 2 else self.cuts[1:]
        return tuple(zip(self.cuts[::2], ends[::2], strict=True))


NOTHING = ValueSet(())
ONLY_NULL = ValueSet((), null=True)


def present(of: Type) -> ValueSet:
    """Every value but NULL."""
    return ValueSet((of.lowest,))


def stretch(of: Type, first: Key | None, beyond: Key | None) -> ValueSet:
    """The keys from ``first`` up to but not including ``beyond``; ``None`` leaves an end open."""
    start = of.lowest if first is None else max(first, of.lowest)
    if of.highest is not None:
        if start > of.highest:
            return NOTHING
        if beyond is not None and beyond > of.highest:
            beyond = None
    if beyond is None:
        return ValueSet((start,))
    return ValueSet((start, beyond)) if start < beyond else NOTHING


def union(sets: Iterable[ValueSet]) -> ValueSet:
    """What belongs to any of the sets."""
    return _combine(list(sets), lambda inside, _: inside > 0)


def intersection(sets: Iterable[ValueSet]) -> ValueSet:
    """What belongs to all of the sets."""
    return _combine(list(sets), lambda inside, count: inside == count)


def complement(values: ValueSet, of: Type) -> ValueSet:
    """What does not belong to the set; NULL changes sides too."""
    starts_inside = bool(values.cuts) and values.cuts[0] == of.lowest
    cuts = values.cuts[1:] if starts_inside else (of.lowest, *values.cuts)
    return ValueSet(cuts, null=not values.null)


def without_null(values: ValueSet) -> ValueSet:
    """The same set less NULL."""
    return ValueSet(values.cuts) if values.null else values


def _combine(sets: list[ValueSet], belongs: Callable[[int, int], bool]) -> ValueSet:
    """Sweep over all cuts, counting how many sets hold the keys from each cut on."""
    steps: dict[Key, int] = {}
    for values in sets:
        for index, cut in enumerate(values.cuts):
            steps[cut] = steps.get(cut, 0) + (-1 if index % 2 else 1)
    cuts: list[Key] = []
    inside = 0
    for cut in sorted(steps):
        inside += steps[cut]
        if belongs(inside, len(sets)) != (len(cuts) % 2 == 1):
            cuts.append(cut)
    return ValueSet(tuple(cuts), null=belongs(sum(s.null for s in sets), len(sets)))
