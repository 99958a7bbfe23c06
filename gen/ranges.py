"""Predicates as ranges of codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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
        self._ranks: dict[int, dict[Key, int]] = {
            number: {cut: rank for rank, cut in enumerate(field.cuts, start=1)}
            for number, field in enumerate(fields)
            if isinstance(field, CodeField)
        }

    def of(self, predicate: Test | Pair) -> tuple[Range, ...]:
        """The fewest ranges of which one holds exactly when the predicate does."""
        number = self._numbers[_key(predicate)]
        if isinstance(predicate, Pair):
            held = {RELATIONS.index(relation) for relation in RELATIONS_OF[predicate.op]}
        else:
            held = self._codes_in(predicate, number)
        return tuple(Range(number, low, high) for low, high in _runs(held))

    def _codes_in(self, test: Test, number: int) -> set[int]:
        """The codes for which a test holds, by a walk over its own cuts only."""
        field, ranks = self._fields[number], self._ranks[number]
        assert isinstance(field, CodeField)
        held = {0} if test.values.null else set()
        for first, beyond in test.values.stretches():
            stop = len(field.codes) if beyond is None else ranks[beyond]
            held.update(field.codes[ranks[first] : stop])
        return held


def _key(subject: Test | Pair | Field) -> tuple[object, ...]:
    if isinstance(subject, Pair | PairField):
        return subject.left.index, subject.right.index, subject.common
    return (subject.attribute.index,)


def _runs(codes: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as stretches without gaps, the end not included."""
    runs: list[tuple[int, int]] = []
    for code in sorted(codes):
        if runs and runs[-1][1] == code:
            runs[-1] = (runs[-1][0], code + 1)
        else:
            runs.append((code, code + 1))
    return runs
