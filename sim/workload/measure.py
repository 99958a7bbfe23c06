"""The match rate that a workload has, measured on a sample of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.sim.workload.draw import Integers

SAMPLE_EVENTS = 1 << 10
SAMPLE_CELLS = 1 << 25
INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Predicates:
    """Predicates as ``low <= value <= high`` or as lists, either of them negated or not."""

    expression: Integers
    attribute: Integers
    low: Integers
    high: Integers
    members: Integers
    """One padded row of list values per predicate; no columns where there are no lists."""
    is_list: npt.NDArray[np.bool_]
    negated: npt.NDArray[np.bool_]

    def hold(self, rows: Integers, values: Integers) -> npt.NDArray[np.bool_]:
        """Whether each of these predicates holds for each value."""
        held = (self.low[rows, None] <= values) & (values <= self.high[rows, None])
        lists = rows[self.is_list[rows]]
        listed = np.zeros((len(lists), len(values)), dtype=np.bool_)
        for column in self.members.T:
            listed |= column[lists, None] == values
        held[self.is_list[rows]] = listed
        return held ^ self.negated[rows, None]


def measure_match_rate(expressions: pa.Table, events: pa.Table) -> float:
    """The average fraction of expressions that an event matches.

    Taken over evenly spaced expressions and events: `SAMPLE_EVENTS` events at most, and
    `SAMPLE_CELLS` pairs of the two.
    """
    sample = events.take(_spaced(len(events), SAMPLE_EVENTS))
    expressions = _sample_expressions(expressions, SAMPLE_CELLS // max(1, len(sample)))
    names = pc.unique(expressions["attribute"].cast(pa.string()))
    predicates = _predicates(expressions, names)
    counts = np.bincount(predicates.expression)
    maps = pa.concat_arrays(sample["attributes"].chunks)
    attribute = _codes(maps.keys, names)
    value = np.asarray(maps.items).astype(np.int64)
    event = np.repeat(np.arange(len(maps)), np.diff(np.asarray(maps.offsets)))
    satisfied = np.zeros((len(counts), len(maps)), dtype=np.uint16)
    for code in range(len(names)):
        rows = np.flatnonzero(predicates.attribute == code)
        having = np.flatnonzero(attribute == code)
        # Safe to add in place: an expression names an attribute once, as an event does.
        held = predicates.hold(rows, value[having])
        satisfied[np.ix_(predicates.expression[rows], event[having])] += held
    return float(np.mean(satisfied == counts[:, None]))


def _spaced(total: int, most: int) -> pa.Array:
    return pa.array(np.unique(np.linspace(0, total - 1, min(total, most)).astype(np.int64)))


def _sample_expressions(expressions: pa.Table, most: int) -> pa.Table:
    """Evenly spaced expressions, with all their predicates."""
    number = _expression_numbers(expressions)
    total = int(number[-1]) + 1
    if total <= most:
        return expressions.combine_chunks()
    kept = np.zeros(total, dtype=np.bool_)
    kept[np.asarray(_spaced(total, most))] = True
    return expressions.filter(pa.array(kept[number])).combine_chunks()


def _expression_numbers(expressions: pa.Table) -> Integers:
    """0 for the rows of the first expression, 1 for those of the next, and so on."""
    ids = expressions["id"]
    differs = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1))
    return np.concatenate([[0], np.cumsum(differs.to_numpy())])


def _codes(names: pa.Array, known: pa.Array) -> Integers:
    found = pc.index_in(names, value_set=known)
    return np.asarray(pc.fill_null(found, -1)).astype(np.int64)


def _predicates(expressions: pa.Table, names: pa.Array) -> Predicates:
    """The table's predicates, in arrays."""
    operator = np.asarray(expressions["operator"].cast(pa.string()).to_numpy())
    lists = pa.concat_arrays(expressions["operands"].chunks)
    offsets = np.asarray(lists.offsets).astype(np.int64)
    operands = np.asarray(lists.values).astype(np.int64)
    first, last = operands[offsets[:-1]], operands[offsets[1:] - 1]
    below, above = operator == "<", operator == ">"
    is_list = np.isin(operator, ["IN", "NOT IN"])
    lengths = np.where(is_list, np.diff(offsets), 0)
    members = np.repeat(first[:, None], lengths.max(initial=0), axis=1)
    for place, column in enumerate(members.T):
        longer = lengths > place
        column[longer] = operands[offsets[:-1][longer] + place]
    return Predicates(
        expression=_expression_numbers(expressions),
        attribute=_codes(expressions["attribute"].cast(pa.string()).combine_chunks(), names),
        low=np.where(below | (operator == "<="), INT32.min, first + above),
        high=np.where(above | (operator == ">="), INT32.max, last - below),
        members=members,
        is_list=is_list,
        negated=np.isin(operator, ["<>", "NOT IN"]),
    )
