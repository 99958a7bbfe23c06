"""Subscriptions as a table of predicates: millions of them, with no text to parse.

One row per predicate; the predicates of one id are joined by AND.

    id       attribute  operator  operands      weight
    cheap    price      <         [10]          3
    cheap    symbol     IN        [A, B]        0
    idle     price      IS NULL   []            0
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.arrow import convert, to_text, to_values
from penstock.gen.errors import DataError, nearest
from penstock.gen.expr import (
    MAX_WEIGHT,
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
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import BIGINT, Type

OPERATORS = ("<", "<=", "=", "<>", ">=", ">", "IN", "NOT IN", "BETWEEN", "IS NULL", "IS NOT NULL")
COLUMNS = ("id", "attribute", "operator", "operands")
_SPELLINGS = {
    **{name: number for number, name in enumerate(OPERATORS)},
    "!=": OPERATORS.index("<>"),
    "==": OPERATORS.index("="),
}
OPERAND_COUNTS: dict[str, tuple[float, float]] = {
    "BETWEEN": (2, 2),
    "IN": (1, math.inf),
    "NOT IN": (1, math.inf),
    "IS NULL": (0, 0),
    "IS NOT NULL": (0, 0),
}
"""Fewest and most, of the operators that do not take one."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PredicateTable:
    """Checked predicates, grouped by id; `subscription` makes one into an expression.

    Subscription ``i`` has the predicates ``starts[i]`` up to ``starts[i + 1]``; predicate ``p``
    has ``operand_counts[p]`` operands, from ``operand_starts[p]`` on, among those of its
    attribute's type.
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

    def __len__(self) -> int:
        return len(self.ids)

    def subscription(self, index: int) -> Subscription:
        """The subscription at an index."""
        rows = range(int(self.starts[index]), int(self.starts[index + 1]))
        predicates = tuple(self._predicate(row) for row in rows)
        condition = predicates[0] if len(predicates) == 1 else And(predicates)
        return Subscription(self.ids[index].as_py(), condition)

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


def read_predicates(table: pa.Table, schema: Schema, source: str = "table") -> PredicateTable:
    """Check a table of predicates and group it by id; DataError says what is wrong and where."""
    missing = [name for name in COLUMNS if name not in table.column_names]
    doubled = [n for n in (*COLUMNS, "weight") if table.column_names.count(n) > 1]
    if missing or doubled:
        raise DataError(
            f"{source}: a table of predicates needs the columns {', '.join(COLUMNS)}; "
            f"{'missing' if missing else 'there twice'}: {', '.join(missing or doubled)}"
        )
    rows = _Rows(source, _ids(table["id"].combine_chunks(), source))
    names = {attribute.name: attribute.index for attribute in schema}
    attributes = _codes(table, "attribute", names, rows)
    operators = _codes(table, "operator", _SPELLINGS, rows)
    lists = _operands(table["operands"].combine_chunks(), operators, rows)
    weights = _weights(table, source)
    operands, operand_starts = _by_type(schema, attributes, lists, rows)
    order, starts = _grouped(rows.ids)
    return PredicateTable(
        schema=schema,
        ids=rows.ids.take(pa.array(order[starts[:-1]])),
        starts=starts,
        attributes=attributes[order],
        operators=operators[order],
        operand_starts=operand_starts[order],
        operand_counts=_lengths(lists)[order],
        operands=operands,
        weights=None if weights is None else weights[order],
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows as the source has them, for errors to name."""

    source: str
    ids: pa.Array

    def place(self, row: int) -> str:
        return f"{self.source} row {row + 1}, subscription {self.ids[row].as_py()!r}"

    def error(self, row: int, message: str) -> DataError:
        return DataError(f"{self.place(row)}: {message}")


def _ids(ids: pa.Array, source: str) -> pa.Array:
    ids = to_text(ids, f"{source}: column id")
    if ids.null_count:
        row = int(pc.index(ids.is_null(), True).as_py())
        raise DataError(f"{source} row {row + 1}: the id is missing")
    return ids


def _grouped(ids: pa.Array) -> tuple[Integers, Integers]:
    """The rows in the order that has each id's rows together, and where in it each id starts."""
    codes: Integers = np.asarray(ids.dictionary_encode().indices)
    order: Integers = np.arange(len(codes))
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    return order, np.append(first, len(codes)).astype(np.int64)


def _codes(table: pa.Table, column: str, known: dict[str, int], rows: _Rows) -> Integers:
    """A column of names as numbers; the distinct names are looked up once each."""
    encoded, what = table[column].combine_chunks(), f"{rows.source}: column {column}"
    if not pa.types.is_dictionary(encoded.type):
        encoded = to_text(encoded, what).dictionary_encode()
    folded = {name.lower(): number for name, number in known.items()}
    names = to_text(encoded.dictionary, what).to_pylist()
    # The last number, -1, is that of a missing name: its index is -1 too.
    numbers = [-1 if name is None else folded.get(name.lower(), -1) for name in (*names, None)]
    indices: Integers = np.asarray(encoded.indices.cast(pa.int64()).fill_null(-1))
    codes: Integers = np.array(numbers, dtype=np.int64)[indices]
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        name = [*names, None][indices[row]]
        if name is None:
            raise rows.error(row, f"the {column} is missing")
        raise rows.error(row, f"unknown {column} {name!r}\nhint: {nearest(name, known)}")
    return codes


def _operands(lists: pa.Array, operators: Integers, rows: _Rows) -> pa.Array:
    """The lists of operands, once each has as many as its operator takes."""
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        raise DataError(f"{rows.source}: column operands must hold lists, not {lists.type}")
    lengths = _lengths(lists)
    for number, name in enumerate(OPERATORS):
        least, most = OPERAND_COUNTS.get(name, (1, 1))
        wrong = (operators == number) & ((lengths < least) | (lengths > most))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            wanted = f"{least}" if least == most else f"at least {least}"
            noun = "operand" if wanted.endswith("1") else "operands"
            raise rows.error(row, f"{name} takes {wanted} {noun}, not {lengths[row]}")
    operands = lists.flatten()
    if operands.null_count:
        at = int(pc.index(operands.is_null(), True).as_py())
        row = int(np.searchsorted(np.cumsum(lengths), at, side="right"))
        raise rows.error(row, "an operand is NULL; use the operator IS NULL")
    return lists


def _lengths(lists: pa.Array) -> Integers:
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)


def _by_type(
    schema: Schema, attributes: Integers, lists: pa.Array, rows: _Rows
) -> tuple[dict[Type, pa.Array], Integers]:
    """All operands of each type, converted at once, and where among them each row's begin."""
    flat, lengths = lists.flatten(), _lengths(lists)
    starts = np.zeros_like(lengths)
    operands: dict[Type, pa.Array] = {}
    for of in dict.fromkeys(attribute.type for attribute in schema):
        mine = np.array([attribute.type == of for attribute in schema])[attributes]
        starts[mine] = np.cumsum(lengths[mine]) - lengths[mine]
        stored = flat.filter(pa.array(np.repeat(mine, lengths)))
        if not len(stored):
            continue
        try:
            operands[of] = convert(stored, of, "operands")
        except DataError:
            first = _first_misfit(stored, of, starts[mine])
            row = int(np.flatnonzero(mine)[first])
            what = f"{rows.place(row)}: attribute {schema.attributes[attributes[row]].name!r}"
            convert(stored.slice(starts[row], lengths[row]), of, what)  # raises, naming the row
            raise
    return operands, starts


def _first_misfit(stored: pa.Array, of: Type, starts: Integers) -> int:
    """Which list of operands, of those beginning at ``starts``, first has one that does not fit."""
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            convert(stored.slice(starts[low], starts[middle] - starts[low]), of, "operands")
        except DataError:
            high = middle
        else:
            low = middle
    return low


def _weights(table: pa.Table, source: str) -> Integers | None:
    if "weight" not in table.column_names:
        return None
    column = convert(table["weight"].combine_chunks(), BIGINT, f"{source}: column weight")
    weights: Integers = np.asarray(column.fill_null(0))
    if len(weights) and not 0 <= int(weights.min()) <= int(weights.max()) <= MAX_WEIGHT:
        raise DataError(f"{source}: weights are whole numbers from 0 to {MAX_WEIGHT}")
    return weights
