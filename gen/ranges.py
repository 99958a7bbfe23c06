"""Predicates as ranges of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.gen.normal import Pair, Test
from penstock.gen.plan import RELATIONS, RELATIONS_OF, CodeField, Field, PairField
from penstock.gen.types import Key


class Range(NamedTuple):
    """``low <= code of the field < high``."""

    field: int
    low: int
    high: int


class Ranges:
    """Looks up the ranges of codes of predicates over some fields."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._fields = fields
        self._numbers = {_key(field): number for number, field in enumerate(fields)}
        self._codes: dict[int, npt.NDArray[np.int64]] = {}
        self._ranks: dict[int, dict[Key, int]] = {}
        for number, field in enumerate(fields):
            if isinstance(field, CodeField):
                self._codes[number] = np.array(field.codes)
                self._ranks[number] = {cut: rank for rank, cut in enumerate(field.cuts, start=1)}

    def of(self, predicate: Test | Pair) -> tuple[Range, ...]:
        """The fewest ranges of which one holds exactly when the predicate does."""
        number = self._numbers[_key(predicate)]
        held = np.zeros(self._fields[number].highest + 3, dtype=np.int8)
        codes = held[1:-1]  # with a miss on either side
        if isinstance(predicate, Pair):
            codes[[RELATIONS.index(relation) for relation in RELATIONS_OF[predicate.op]]] = 1
        else:
            codes[0] = predicate.values.null
            ranks, known = self._ranks[number], self._codes[number]
            for first, beyond in predicate.values.stretches():
                stop = len(known) if beyond is None else ranks[beyond]
                codes[known[ranks[first] : stop]] = 1
        ends = np.flatnonzero(np.diff(held)).tolist()
        return tuple(
            Range(number, low, high) for low, high in zip(ends[::2], ends[1::2], strict=True)
        )


def _key(subject: Test | Pair | Field) -> tuple[object, ...]:
    if isinstance(subject, Pair | PairField):
        return subject.left.index, subject.right.index, subject.common
    return (subject.attribute.index,)
