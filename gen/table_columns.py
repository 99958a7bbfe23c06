"""Tables of predicates as they are kept: a row per subscription, its values in their own types.

    id       predicates                                   operands STRING   operands INT
    cheap    [{attribute: 1, operator: 0, operands: 1,    [A, B]            [10]
               weight: 3}, {attribute: 0, operator: 6,
               operands: 2, weight: 0}]

``attribute`` is an index in the schema, ``operator`` one in `OPERATORS`. The operands of a
subscription stand in the columns of their types, in the order of its predicates. Columns ``owner``
and ``expires`` follow, where the table has them. Row filters of a policy are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.errors import DataError
from penstock.gen.expr import MAX_WEIGHT
from penstock.gen.predicates import OPERATORS, Integers, PredicateTable
from penstock.gen.read_predicates import OPERAND_COUNTS
from penstock.gen.schema import Schema, arrow_type
from penstock.gen.types import Type

PREDICATE = pa.struct(
    [
        ("attribute", pa.int32()),
        ("operator", pa.int32()),
        ("operands", pa.int32()),
        ("weight", pa.int32()),
    ]
)


def to_columns(table: PredicateTable, kept: Integers) -> pa.Table:
    """The subscriptions of a table that are at some indices."""
    table = table.own
    weights = np.zeros_like(table.attributes) if table.weights is None else table.weights
    fields = (table.attributes, table.operators, table.operand_counts, weights)
    structs = pa.StructArray.from_arrays(
        [pa.array(numbers, pa.int32()) for numbers in fields], fields=list(PREDICATE)
    )
    starts = pa.array(table.starts, pa.int32())
    columns = {"id": table.ids, "predicates": pa.ListArray.from_arrays(starts, structs)}
    for of, values in sorted(table.operands.items(), key=lambda item: str(item[0])):
        columns[_name(of)] = _operands(table, of, values)
    if table.owners is not None:
        columns["owner"] = table.owners.cast(pa.string())
    if table.expires is not None:
        columns["expires"] = table.expires
    whole = pa.table(columns)
    return whole if len(kept) == len(table) else whole.take(pa.array(kept))


def _operands(table: PredicateTable, of: Type, values: pa.Array) -> pa.Array:
    """The operands of one type, a list for each subscription."""
    mine = _of_type(of, table.schema, table.attributes)
    counts = table.operand_counts[mine]
    starts = np.repeat(table.operand_starts[mine] - (np.cumsum(counts) - counts), counts)
    ordered = values.take(pa.array(starts + np.arange(len(starts))))
    per_subscription = _per_subscription(mine, table.starts, table.operand_counts)
    offsets = np.append(0, np.cumsum(per_subscription))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), ordered)


def from_columns(columns: pa.Table, schema: Schema, source: str) -> PredicateTable:
    """The table of predicates; DataError if it does not fit the schema or is not whole."""
    ids, predicates, operands = _lists(columns, schema, source)
    fields = predicates.flatten().flatten()
    attributes, operators, counts, weights = (np.asarray(f).astype(np.int64) for f in fields)
    starts = np.append(0, np.cumsum(_lengths(predicates)))
    _check_predicates(schema, source, attributes, operators, counts, weights)
    if len(ids) and not np.diff(starts).all():
        raise DataError(f"{source}: a subscription has no predicates")
    operand_starts = np.zeros_like(counts)
    for of in dict.fromkeys(attribute.type for attribute in schema):
        mine = _of_type(of, schema, attributes)
        there = _lengths(operands[of]) if of in operands else 0
        if (_per_subscription(mine, starts, counts) != there).any():
            raise DataError(f"{source}: a subscription has too few or too many operands")
        operand_starts[mine] = np.cumsum(counts[mine]) - counts[mine]
    return PredicateTable(
        schema=schema,
        ids=ids,
        starts=starts,
        attributes=attributes,
        operators=operators,
        operand_starts=operand_starts,
        operand_counts=counts,
        operands={of: column.flatten() for of, column in operands.items()},
        weights=weights if weights.any() else None,
        owners=_column(columns, "owner", lambda column: column.dictionary_encode()),
        expires=_column(columns, "expires", lambda column: column),
    )


def _column(columns: pa.Table, name: str, made: Callable[[pa.Array], pa.Array]) -> pa.Array | None:
    return made(columns[name].combine_chunks()) if name in columns.column_names else None


def _lists(
    columns: pa.Table, schema: Schema, source: str
) -> tuple[pa.Array, pa.Array, dict[Type, pa.Array]]:
    """The ids, the predicates and the operands by type, none of them NULL."""
    types = sorted({attribute.type for attribute in schema}, key=str)
    there = [of for of in types if _name(of) in columns.column_names]
    wanted = [("id", pa.string()), ("predicates", pa.list_(PREDICATE))]
    wanted += [(_name(of), pa.list_(arrow_type(of))) for of in there]
    known = {"owner": pa.string(), "expires": pa.timestamp("us", "UTC")}
    extra = [name for name in known if name in columns.column_names]
    wanted_last = [(name, known[name]) for name in extra]
    if [(field.name, field.type) for field in columns.schema] != wanted + wanted_last:
        raise DataError(f"{source}: these are not predicates on stream {schema.stream!r}")
    main = columns.drop_columns(extra)
    ids, predicates, *operands = (column.combine_chunks() for column in main.columns)
    parts = [ids, predicates, *predicates.flatten().flatten(), *operands]
    parts += [column.flatten() for column in operands]
    parts += [columns[name] for name in extra if name == "owner"]
    if any(part.null_count for part in parts):
        raise DataError(f"{source}: a value is missing")
    if pc.count_distinct(ids).as_py() != len(ids):
        raise DataError(f"{source}: an id is there twice")
    return ids, predicates, dict(zip(there, operands, strict=True))


def _check_predicates(
    schema: Schema,
    source: str,
    attributes: Integers,
    operators: Integers,
    counts: Integers,
    weights: Integers,
) -> None:
    for what, numbers, limit in (
        ("attribute", attributes, len(schema)),
        ("operator", operators, len(OPERATORS)),
        ("weight", weights, MAX_WEIGHT + 1),
    ):
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
            raise DataError(f"{source}: a number of {what} is not from 0 to {limit - 1}")
    bounds = np.array([OPERAND_COUNTS.get(name, (1, 1)) for name in OPERATORS])[operators]
    if ((counts < bounds[:, 0]) | (counts > bounds[:, 1])).any():
        raise DataError(f"{source}: a predicate has too few or too many operands")


def _name(of: Type) -> str:
    return f"operands {of}"


def _of_type(of: Type, schema: Schema, attributes: Integers) -> npt.NDArray[np.bool_]:
    """Which predicates are on an attribute of a type."""
    is_of = np.array([attribute.type == of for attribute in schema])
    chosen: npt.NDArray[np.bool_] = is_of[attributes]
    return chosen


def _per_subscription(mine: npt.NDArray[np.bool_], starts: Integers, counts: Integers) -> Integers:
    """How many operands each subscription's predicates among those chosen have."""
    sums = np.append(0, np.cumsum(np.where(mine, counts, 0)))
    return np.diff(sums[starts])


def _lengths(lists: pa.Array) -> Integers:
    return np.asarray(pc.list_value_length(lists)).astype(np.int64)
