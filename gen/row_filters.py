"""Row filters as the predicates of a table, where a few of them can say the same."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.gen.expr import Expression
from penstock.gen.normal import AllOf, Normal, Test
from penstock.gen.normalise import normalise
from penstock.gen.schema import Attribute
from penstock.gen.types import Type, Value
from penstock.gen.values import ONLY_NULL, ValueSet, complement


@dataclass(frozen=True, slots=True)
class Row:
    """One predicate as a table has it."""

    attribute: Attribute
    operator: str
    operands: tuple[Value, ...] = ()


def rows_of(row_filter: Expression) -> tuple[Row, ...] | None:
    """The predicates, joined by AND, that say the same as a row filter, if there are such."""
    normal = normalise(row_filter)
    leaves: tuple[Normal, ...] = normal.children if isinstance(normal, AllOf) else (normal,)
    rows: list[Row] = []
    for leaf in leaves:
        said = _rows_of_set(leaf.attribute, leaf.values) if isinstance(leaf, Test) else None
        if said is None:
            return None
        rows.extend(said)
    return tuple(rows)


def _rows_of_set(attribute: Attribute, values: ValueSet) -> tuple[Row, ...] | None:
    """The predicates that hold for just the values of a set.

    symbol in ['A', 'B')   ->   symbol >= 'A', symbol < 'B'
    """
    of = attribute.type
    if values == ONLY_NULL:
        return (Row(attribute, "IS NULL"),)
    if values.null or not values.cuts:
        return None
    if values.cuts == (of.lowest,):
        return (Row(attribute, "IS NOT NULL"),)
    points = _points(values, of)
    if points:
        return (Row(attribute, "IN", points),)
    others = _points(complement(values, of), of)
    if others:
        return (Row(attribute, "NOT IN", others),)
    if len(values.cuts) > 2:
        return None
    first, *beyond = values.cuts
    low = () if first == of.lowest else (Row(attribute, ">=", (of.value(first),)),)
    high = tuple(Row(attribute, "<", (of.value(cut),)) for cut in beyond)
    return (*low, *high)


def _points(values: ValueSet, of: Type) -> tuple[Value, ...] | None:
    """The values of a set that has no stretch of more than one."""
    stretches = values.stretches()
    if all(first == of.highest or beyond == of.after(first) for first, beyond in stretches):
        return tuple(of.value(first) for first, _ in stretches)
    return None
