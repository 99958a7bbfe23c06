"""A set of subscriptions as flat arrays: no object per subscription or predicate.

A *literal* says that the code of a field lies in a range, or in one of several. A subscription is
a conjunction of literals, and what does not fit that form is a *program* besides: its literals in
order, each with the literal to go on with when it holds and when it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.gen.plan import PairField
from penstock.gen.schema import Attribute
from penstock.host.software.cuts import Codes, Cuts

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

ACCEPT, REJECT = -1, -2
"""Where a program ends."""


@dataclass(frozen=True, eq=False)
class CutField:
    """The code of an attribute's value."""

    attribute: Attribute
    cuts: Cuts

    @property
    def codes(self) -> int:
        return self.cuts.codes


RELATION_CODES = {"both absent": 0, "one absent": 1, "<": 2, "=": 3, ">": 4}
"""How two attributes relate; what is true of an event without either comes first."""


@dataclass(frozen=True)
class RelationField:
    """How two attributes relate, as one of `RELATION_CODES`."""

    pair: PairField

    @property
    def attribute(self) -> Attribute:
        """The one that earns a predicate's weight."""
        return min(self.pair.left, self.pair.right, key=lambda side: side.index)

    @property
    def codes(self) -> int:
        return len(RELATION_CODES)


Field: TypeAlias = CutField | RelationField


@dataclass(frozen=True, eq=False)
class Literals:
    """Literals side by side: ``low <= code of field < high``, as columns `FIELD`, `LOW`, `HIGH`.

    Where `IS_SET` is not 0, the code lies in one of the ranges ``low`` to ``high`` of the pool.
    """

    columns: Codes
    weight: Integers

    FIELD, LOW, HIGH, IS_SET = range(4)

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def field(self) -> Codes:
        return self.columns[:, self.FIELD]

    @property
    def low(self) -> Codes:
        return self.columns[:, self.LOW]

    @property
    def high(self) -> Codes:
        return self.columns[:, self.HIGH]

    @property
    def is_set(self) -> Flags:
        found: Flags = self.columns[:, self.IS_SET] != 0
        return found

    def take(self, order: npt.NDArray[Any]) -> Literals:
        return Literals(self.columns[order], self.weight[order])

    def moved(self, ranges: int) -> Literals:
        """The same literals, where the pool begins with so many more ranges."""
        columns = self.columns.copy()
        columns[self.is_set, self.LOW : self.HIGH + 1] += np.uint32(ranges)
        return Literals(columns, self.weight)

    @classmethod
    def of(cls, field: Codes, low: Codes, high: Codes, is_set: Flags, weight: Integers) -> Literals:
        return cls(np.stack([field, low, high, is_set.astype(np.uint32)], axis=1), weight)

    @classmethod
    def joined(cls, parts: Sequence[Literals]) -> Literals:
        """One after the other; nothing is copied where only one has any."""
        some = [part for part in parts if len(part)] or parts[:1]
        if len(some) == 1:
            return some[0]
        return cls(
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.weight for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Programs:
    """What is not a conjunction, of the subscriptions that have it.

    Program ``p`` belongs to subscription ``owner[p]`` and has the literals ``starts[p]`` up to
    ``starts[p + 1]``; of each, ``if_true`` and ``if_false`` tell which literal is next, counted
    from the program's first. The same in postfix notation: a step of kind `LITERAL` stands for a
    literal, one of `ALL` or `ANY` joins as many values as it says.
    """

    owner: Integers
    starts: Integers
    literals: Literals
    if_true: Numbers
    if_false: Numbers
    step_starts: Integers
    step_kind: npt.NDArray[np.uint8]
    step_value: Numbers

    LITERAL, ALL, ANY = 0, 1, 2

    def __len__(self) -> int:
        return len(self.owner)

    def with_literals(self, literals: Literals) -> Programs:
        return replace(self, literals=literals)

    def owned(self, owner: Integers) -> Programs:
        return replace(self, owner=owner)

    def taken(self, chosen: Integers) -> Programs:
        """Only some programs, in this order."""
        literals, starts = _spread(self.starts, chosen)
        steps, step_starts = _spread(self.step_starts, chosen)
        return Programs(
            self.owner[chosen],
            starts,
            self.literals.take(literals),
            self.if_true[literals],
            self.if_false[literals],
            step_starts,
            self.step_kind[steps],
            self.step_value[steps],
        )

    @classmethod
    def joined(cls, parts: Sequence[Programs]) -> Programs:
        return cls(
            np.concatenate([part.owner for part in parts]),
            _one_after_the_other([part.starts for part in parts]),
            Literals.joined([part.literals for part in parts]),
            np.concatenate([part.if_true for part in parts]),
            np.concatenate([part.if_false for part in parts]),
            _one_after_the_other([part.step_starts for part in parts]),
            np.concatenate([part.step_kind for part in parts]),
            np.concatenate([part.step_value for part in parts]),
        )


def ranges(starts: Integers, stops: Integers) -> Integers:
    """``starts[0], ..., stops[0] - 1``, then those of the next."""
    counts = stops - starts
    firsts = np.cumsum(counts) - counts
    found: Integers = np.arange(int(counts.sum())) + np.repeat(starts - firsts, counts)
    return found


def _spread(starts: Integers, chosen: Integers) -> tuple[Integers, Integers]:
    """The places of some stretches, one stretch after the other, and where each then starts."""
    counts = starts[chosen + 1] - starts[chosen]
    made = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return ranges(starts[chosen], starts[chosen + 1]), made


def _one_after_the_other(starts: Sequence[Integers]) -> Integers:
    """Starts of stretches, each with where its last one stops, as those of all."""
    moved = np.cumsum([0, *(part[-1] for part in starts)])
    parts = [part[:-1] + first for part, first in zip(starts, moved[:-1], strict=True)]
    return np.concatenate([*parts, moved[-1:]]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Packed:
    """Subscriptions by number: the literals ``starts[n]`` up to ``starts[n + 1]``, and programs."""

    fields: tuple[Field, ...]
    starts: Integers
    literals: Literals
    pool: Codes
    """Ranges, low and high in turn."""
    programs: Programs
    base: Integers
    """The base score of each subscription."""

    def __len__(self) -> int:
        return len(self.base)
