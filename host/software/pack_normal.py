"""Conditions in normal form as literals and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from penstock.gen.normal import AllOf, AnyOf, Leaf, Normal, Pair, Test
from penstock.gen.plan import RELATIONS_OF, PairField
from penstock.host.software.cuts import ABSENT, Cuts
from penstock.host.software.packed import (
    ACCEPT,
    REJECT,
    RELATION_CODES,
    CutField,
    Field,
    Literals,
    Programs,
    RelationField,
)

FieldKey: TypeAlias = tuple[object, ...]
Range: TypeAlias = tuple[int, int]


def field_key(leaf: Leaf | Field) -> FieldKey:
    """What tells the fields of leaves apart."""
    match leaf:
        case Test() | CutField():
            return (leaf.attribute.index,)
        case Pair():
            return leaf.left.index, leaf.right.index, leaf.common
        case RelationField(pair):
            return pair.left.index, pair.right.index, pair.common
    raise AssertionError(f"{leaf} is the host's to test")


def relation_field(leaf: Pair) -> RelationField:
    """The field of a comparison of two attributes."""
    return RelationField(PairField(leaf.left, leaf.right, leaf.common))


class NormalPacker:
    """Collects the literals and programs of conditions, one subscription after the other.

    The field after the last one has no value in any event: on it, `ALWAYS` and `NEVER` hold.
    """

    ALWAYS: Range = (ABSENT, ABSENT + 1)
    NEVER: Range = (ABSENT, ABSENT)

    def __init__(self, fields: Sequence[Field], pool_start: int) -> None:
        self._fields = fields
        self._numbers = {field_key(field): number for number, field in enumerate(fields)}
        self._ranks: dict[int, Mapping[object, int]] = {}
        self._pool_start = pool_start
        self.pool: list[int] = []
        self.counts: list[int] = []
        self._conjunctions: list[tuple[int, int, int, bool, int]] = []
        self._owners: list[int] = []
        self._starts = [0]
        self._tested: list[tuple[int, int, int, bool, int]] = []
        self._if_true: list[int] = []
        self._if_false: list[int] = []
        self._step_starts = [0]
        self._steps: list[tuple[int, int]] = []

    def add(self, condition: Normal) -> None:
        """Take in the condition of the next subscription."""
        parts = condition.children if isinstance(condition, AllOf) else (condition,)
        leaves = [part for part in parts if not isinstance(part, AllOf | AnyOf)]
        nested = tuple(part for part in parts if isinstance(part, AllOf | AnyOf))
        if any(isinstance(part, AnyOf) and not part.children for part in nested):
            self._conjunctions.append(self._literal(self.NEVER))
            self.counts.append(1)
            return
        self._conjunctions += [self._leaf(leaf) for leaf in leaves]
        self.counts.append(len(leaves))
        if nested:
            self._owners.append(len(self.counts) - 1)
            self._test(AllOf(nested) if len(nested) > 1 else nested[0], ACCEPT, REJECT)
            self._starts.append(len(self._tested))
            self._step_starts.append(len(self._steps))

    def literals(self) -> Literals:
        return _literals(self._conjunctions)

    def programs(self) -> Programs:
        steps = np.array(self._steps, np.int32).reshape(-1, 2)
        return Programs(
            np.array(self._owners, np.int64),
            np.array(self._starts, np.int64),
            _literals(self._tested),
            np.array(self._if_true, np.int32),
            np.array(self._if_false, np.int32),
            np.array(self._step_starts, np.int64),
            steps[:, 0].astype(np.uint8),
            np.ascontiguousarray(steps[:, 1]),
        )

    def _test(self, node: Normal, if_true: int, if_false: int) -> None:
        """Code that goes on at ``if_true`` where the node holds, else at ``if_false``."""
        if isinstance(node, AllOf | AnyOf) and node.children:
            is_any = isinstance(node, AnyOf)
            sizes = [_size(child) for child in node.children]
            for number, child in enumerate(node.children):
                is_last = number == len(sizes) - 1
                after = len(self._tested) - self._starts[-1] + sizes[number]
                self._test(
                    child,
                    if_true if is_any or is_last else after,
                    if_false if not is_any or is_last else after,
                )
            kind = Programs.ANY if is_any else Programs.ALL
            self._steps.append((kind, len(sizes)))
            return
        if isinstance(node, AllOf | AnyOf):
            literal = self._literal(self.NEVER if isinstance(node, AnyOf) else self.ALWAYS)
        else:
            literal = self._leaf(node)
        self._steps.append((Programs.LITERAL, len(self._tested) - self._starts[-1]))
        self._tested.append(literal)
        self._if_true.append(if_true)
        self._if_false.append(if_false)

    def _literal(self, range_: Range) -> tuple[int, int, int, bool, int]:
        return (len(self._fields), *range_, False, 0)

    def _leaf(self, leaf: Leaf) -> tuple[int, int, int, bool, int]:
        number = self._numbers[field_key(leaf)]
        ranges = self._ranges(leaf, number)
        if len(ranges) == 1:
            return (number, *ranges[0], False, leaf.weight)
        if not ranges:
            return self._literal(self.NEVER)
        start = self._pool_start + len(self.pool) // 2
        for range_ in ranges:
            self.pool += range_
        return number, start, start + len(ranges), True, leaf.weight

    def _ranges(self, leaf: Leaf, number: int) -> list[Range]:
        match leaf:
            case Pair():
                codes = sorted(RELATION_CODES[relation] for relation in RELATIONS_OF[leaf.op])
                return _merged([(code, code + 1) for code in codes])
            case Test():
                field = self._fields[number]
                assert isinstance(field, CutField)
                ranks = self._ranks_of(number, field.cuts)
                absent = [(ABSENT, ABSENT + 1)] if leaf.values.null else []
                return _merged(
                    absent
                    + [
                        (ranks[first], field.codes if beyond is None else ranks[beyond])
                        for first, beyond in leaf.values.stretches()
                    ]
                )
        raise AssertionError(f"{leaf} is the host's to test")

    def _ranks_of(self, number: int, cuts: Cuts) -> Mapping[object, int]:
        if number not in self._ranks:
            keys = cuts.keys.tolist()
            self._ranks[number] = {key: code for code, key in enumerate(keys, start=2)}
        return self._ranks[number]


def _size(node: Normal) -> int:
    """How many literals the code of a node has."""
    if isinstance(node, AllOf | AnyOf) and node.children:
        return sum(_size(child) for child in node.children)
    return 1


def _merged(ranges: list[Range]) -> list[Range]:
    """Ranges in order, those that touch as one."""
    made: list[Range] = []
    for low, high in ranges:
        if made and made[-1][1] == low:
            made[-1] = (made[-1][0], high)
        else:
            made.append((low, high))
    return made


def _literals(rows: list[tuple[int, int, int, bool, int]]) -> Literals:
    found = np.array(rows, np.int64).reshape(-1, 5)
    return Literals(found[:, :4].astype(np.uint32), np.ascontiguousarray(found[:, 4]))
