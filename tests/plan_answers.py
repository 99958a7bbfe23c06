"""What a plan and its lowering come to for an event, computed without a simulator."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from strategies import Case, bound

from penstock import QuerySet
from penstock.gen.casting import cast
from penstock.gen.expr import Subscription
from penstock.gen.lower.logic import tile_logic
from penstock.gen.normal import holds, make_event
from penstock.gen.plan import RELATIONS, CodeField, Field, Plan
from penstock.gen.ranges import Ranges
from penstock.gen.schema import Schema
from penstock.gen.types import Value
from penstock.host.encode import Words

Row = Mapping[int, Value]


def queries_of(case: Case) -> QuerySet:
    """The texts of a case that the language takes, by their number and themselves."""
    queries = QuerySet(case.schema)
    for number, text in enumerate(case.texts):
        condition = bound(text, case.schema)
        if condition is not None:
            queries.insert(Subscription(f"{number:02} {text}", condition))
    return queries


def code_of(field: Field, row: Row) -> int:
    """The code of one field, as the plan defines it."""
    if isinstance(field, CodeField):
        value = row.get(field.attribute.index)
        if value is None:
            return 0
        return field.codes[bisect_right(field.cuts, field.attribute.type.key(value))]
    left, right = row.get(field.left.index), row.get(field.right.index)
    if left is None or right is None:
        return RELATIONS.index("both absent" if left is None and right is None else "one absent")
    first = field.common.key(cast(left, field.left.type, field.common))
    second = field.common.key(cast(right, field.right.type, field.common))
    return RELATIONS.index("<" if first < second else ">" if first > second else "=")


def unpacked(words: Words, fields: Sequence[Field]) -> list[list[int]]:
    """The codes of each event in the words of an encoder."""
    assert words.dtype == np.uint32 and words.flags.c_contiguous
    rows = []
    for row in words.tolist():
        number = sum(word << 32 * place for place, word in enumerate(row))
        codes = []
        for field in fields:
            codes.append(number % 2**field.width)
            number >>= field.width
        assert number == 0, "an encoder set bits beyond the codes"
        rows.append(codes)
    return rows


class PlanAnswers:
    """The ids that the tiles of a plan let through, from the codes of an event."""

    def __init__(self, plan: Plan) -> None:
        ranges = Ranges(plan.fields)
        self.plan = plan
        self.tiles = [(tile.entries, tile_logic(plan, tile, ranges)) for tile in plan.tiles]

    def through(self, codes: Sequence[int], *, enabled: bool = True) -> set[str]:
        return {
            self.plan.entries[entry].id
            for entries, logic in self.tiles
            for entry, bit in zip(
                entries, logic.compute(codes, [enabled] * len(entries)), strict=True
            )
            if bit
        }

    def exact(self, codes: Sequence[int], row: Row, schema: Schema) -> set[str]:
        """What is left when the host has finished what the device cannot decide."""
        event = make_event(row, schema.attributes)
        rest = {entry.id: entry.residual for entry in self.plan.entries}
        alone = {entry.id for entry in self.plan.entries if entry.root is None}
        return {
            id
            for id in self.through(codes) | alone
            if (residual := rest[id]) is None or holds(residual, event)
        }

    def residual_ids(self) -> Iterator[str]:
        return (entry.id for entry in self.plan.entries if entry.residual is not None)
