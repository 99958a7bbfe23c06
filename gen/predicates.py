"""Subscriptions as a table of predicates: millions of them, with no text to parse.

One row per predicate; the predicates of one id are joined by AND. Columns ``owner`` and
``expires``, if there, have one value per id.

    id       attribute  operator  operands      weight
    cheap    price      <         [10]          3
    cheap    symbol     IN        [A, B]        0
    idle     price      IS NULL   []            0
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.arrow import to_values
from penstock.gen.expr import (
    And,
    Between,
    Comparison,
    Constant,
    Expression,
    InList,
    IsNull,
    Not,
    Subscription,
)
from penstock.gen.instants import instant
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import Type

OPERATORS = ("<", "<=", "=", "<>", ">=", ">", "IN", "NOT IN", "BETWEEN", "IS NULL", "IS NOT NULL")
COLUMNS = ("id", "attribute", "operator", "operands")

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A policy's condition, and how many predicates say the same; ``None`` if none can."""

    condition: Expression
    rows: int | None


@dataclass(frozen=True, slots=True)
class PredicateTable:
    """Checked predicates, grouped by id; `subscription` makes one into an expression.

    Subscription ``i`` has the predicates ``starts[i]`` up to ``starts[i + 1]``; predicate ``p``
    has ``operand_counts[p]`` operands, from ``operand_starts[p]`` on, among those of its
    attribute's type. Under a policy those of ``filters[filter_of[i]]``, if any, come first.
    """

    schema: Schema
    ids: pa.Array
    starts: Integers
    attributes: Integers
    operators: Integers
    operand_starts: Integers
    operand_counts: Integers
    operands: dict[Type, pa.Array]
    weights: Integers | None
    owners: pa.DictionaryArray | None
    """The owner of each subscription, empty for nobody."""
    expires: pa.Array | None
    """When each subscription expires, NULL for never."""
    filters: tuple[RowFilter | None, ...] = ()
    filter_of: Integers | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def subscription(self, index: int) -> Subscription:
        """The subscription at an index."""
        row_filter, first = None, int(self.starts[index])
        chosen = None if self.filter_of is None else self.filters[int(self.filter_of[index])]
        if chosen is not None:
            row_filter, first = chosen.condition, first + (chosen.rows or 0)
        rows = range(first, int(self.starts[index + 1]))
        predicates = tuple(self._predicate(row) for row in rows)
        own = predicates[0] if len(predicates) == 1 else And(predicates)
        return Subscription(
            id=self.ids[index].as_py(),
            condition=own if row_filter is None else And((row_filter, own)),
            owner="" if self.owners is None else self.owners[index].as_py(),
            expires=self._expires(index),
            row_filter=row_filter,
        )

    @property
    def own(self) -> PredicateTable:
        """The table as it was before a policy put row filters into it."""
        if self.filter_of is None:
            return self
        added = np.array([(f.rows or 0) if f else 0 for f in self.filters], dtype=np.int64)
        counts = added[self.filter_of]
        within = np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], np.diff(self.starts))
        kept = within >= np.repeat(counts, np.diff(self.starts))
        return replace(
            self,
            starts=self.starts - np.append(0, np.cumsum(counts)),
            attributes=self.attributes[kept],
            operators=self.operators[kept],
            operand_starts=self.operand_starts[kept],
            operand_counts=self.operand_counts[kept],
            weights=None if self.weights is None else self.weights[kept],
            filters=(),
            filter_of=None,
        )

    def is_whole(self, indices: Integers) -> npt.NDArray[np.bool_]:
        """Whether the predicates say all of the subscriptions: no row filter goes beyond them."""
        if self.filter_of is None:
            return np.ones(len(indices), dtype=bool)
        said = np.array([f is None or f.rows is not None for f in self.filters], dtype=bool)
        whole: npt.NDArray[np.bool_] = said[self.filter_of[indices]]
        return whole

    def owned_by(self, owner: str, indices: Integers) -> pa.Array:
        """The ids of those at the indices that are the owner's."""
        if self.owners is None:
            mine = indices[: 0 if owner else None]
        else:
            code = pc.index(self.owners.dictionary, owner).as_py()
            mine = indices[np.asarray(self.owners.indices)[indices] == code]
        return self.ids.take(pa.array(mine))

    def expiries(self, indices: Integers) -> Iterator[tuple[datetime, str]]:
        """When those at the indices expire that ever do, and their ids."""
        if self.expires is None or self.expires.null_count == len(self):
            return
        finite = indices[np.asarray(self.expires.is_valid())[indices]]
        micros = self.expires.take(pa.array(finite)).cast(pa.int64())
        ids = self.ids.take(pa.array(finite))
        for time, id in zip(micros.to_pylist(), ids.to_pylist(), strict=True):
            yield instant(time), id

    def _expires(self, index: int) -> datetime | None:
        if self.expires is None:
            return None
        time = self.expires[index]
        return instant(time.value) if time.is_valid else None

    def _predicate(self, row: int) -> Expression:
        attribute = self.schema.attributes[int(self.attributes[row])]
        weight = 0 if self.weights is None else int(self.weights[row])
        first, count = int(self.operand_starts[row]), int(self.operand_counts[row])
        values = to_values(self.operands[attribute.type].slice(first, count)) if count else ()
        constants = tuple(Constant(attribute.type, value) for value in values)
        return _expression(attribute, OPERATORS[int(self.operators[row])], constants, weight)


def _expression(
    attribute: Attribute, operator: str, constants: tuple[Constant, ...], weight: int
) -> Expression:
    of = attribute.type
    match operator:
        case "IS NULL":
            return IsNull(attribute, weight)
        case "IS NOT NULL":
            return Not(IsNull(attribute, weight))
        case "BETWEEN":
            return Between(attribute, constants[0], constants[1], of, of, weight)
        case "IN":
            return InList(attribute, constants, of, weight)
        case "NOT IN":
            return Not(InList(attribute, constants, of, weight))
    return Comparison(operator, attribute, constants[0], of, weight)
