"""Read tables of predicates: checked column by column, with errors that name the row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen import ownership
from penstock.gen.arrow import convert, to_text
from penstock.gen.errors import DataError, nearest
from penstock.gen.expr import MAX_WEIGHT
from penstock.gen.predicates import COLUMNS, OPERATORS, Integers, PredicateTable
from penstock.gen.schema import Schema
from penstock.gen.types import BIGINT, Type

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


def read_predicates(table: pa.Table, schema: Schema, source: str = "table") -> PredicateTable:
    """Check a table of predicates and group it by id; DataError says what is wrong and where."""
    missing = [name for name in COLUMNS if name not in table.column_names]
    optional = ("weight", *ownership.COLUMNS)
    doubled = [n for n in (*COLUMNS, *optional) if table.column_names.count(n) > 1]
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
    owners = _one_each("owner", ownership.owners_in(table, source), order, starts, rows)
    firsts = pa.array(order[starts[:-1]])
    return PredicateTable(
        schema=schema,
        ids=rows.ids.take(firsts),
        starts=starts,
        attributes=attributes[order],
        operators=operators[order],
        operand_starts=operand_starts[order],
        operand_counts=_lengths(lists)[order],
        operands=operands,
        weights=None if weights is None else weights[order],
        owners=None if owners is None else owners.dictionary_encode(),
        expires=_one_each("expires", ownership.expiries_in(table, source), order, starts, rows),
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


def _one_each(
    name: str, column: pa.Array | None, order: Integers, starts: Integers, rows: _Rows
) -> pa.Array | None:
    """The value of each id in a column in which its rows must agree."""
    if column is None:
        return None
    found = ownership.first_difference(column, order, starts)
    if found is not None:
        here, there = (
            repr(column[row].as_py()) if name == "owner" else column[row] for row in found
        )
        raise rows.error(
            found[0],
            f"column {name} has {here} here and {there} in row {found[1] + 1}; "
            "all rows of one id have the same",
        )
    return column.take(pa.array(order[starts[:-1]]))


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
