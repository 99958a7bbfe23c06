"""Events as they come, wide or sparse, into the one form that devices take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.arrow import convert, to_text, to_values
from penstock.gen.errors import DataError, nearest
from penstock.gen.schema import Attribute, Schema, arrow_type
from penstock.gen.types import Value

Integers = npt.NDArray[np.int64]


def to_table(events: Any, schema: Schema) -> pa.Table:
    """Anything that holds events as an Arrow table: Arrow, dicts, pandas, polars and the like."""
    if isinstance(events, pa.Table):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    if hasattr(events, "__arrow_c_stream__"):
        try:
            return pa.table(events)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataError(f"the events are no table of Arrow values: {error}") from None
    if isinstance(events, list | tuple) and all(isinstance(event, Mapping) for event in events):
        return _from_dicts(events, schema)
    raise DataError(
        f"events come as an Arrow table or record batch, a data frame or a list of dicts, "
        f"not as {type(events).__name__}"
    )


def _from_dicts(events: Sequence[Mapping[str, Any]], schema: Schema) -> pa.Table:
    """A column per key, typed where the key is an attribute."""
    columns: dict[str, pa.Array] = {"": pa.nulls(len(events))}  # keeps the count of events
    for key in dict.fromkeys(key for event in events for key in event):
        attribute = schema.find(key) if isinstance(key, str) else None
        if attribute is None:
            columns[str(key)] = pa.nulls(len(events))
        else:
            columns[key] = _from_values([event.get(key) for event in events], attribute)
    return pa.table(columns)


def _from_values(values: list[Any], attribute: Attribute) -> pa.Array:
    """Python values in the Arrow type of the attribute, under the rules of `convert`."""
    of, what = attribute.type, f"attribute {attribute.name!r}"
    # By itself Arrow finds no type for decimals beside integers, nor for large integers.
    is_exact = of.is_decimal and any(isinstance(value, Decimal | int) for value in values)
    try:
        return convert(pa.array(values, arrow_type(of) if is_exact else None), of, what)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise DataError(f"{what} is {of}: {error}") from None


def to_wide(table: pa.Table, schema: Schema, *, first: int = 0) -> pa.RecordBatch:
    """One column per attribute that is there, typed as the schema says; the rest is left out.

    Sparse events are a table whose one column is a map from attribute to value. In wide
    events columns that are no attribute are ignored, as long as one is. Errors count the
    events from ``first`` on.
    """
    if table.num_columns == 1 and pa.types.is_map(table.schema.field(0).type):
        columns = _from_map(table.column(0).combine_chunks(), schema, first)
    else:
        columns = _from_columns(table, schema)
    names = [schema.attributes[index].name for index in columns]
    if not names:  # a batch without columns would forget how many events it has
        unused = schema.attributes[0]
        return pa.record_batch({unused.name: pa.nulls(table.num_rows, arrow_type(unused.type))})
    return pa.record_batch(list(columns.values()), names=names)


def _from_columns(table: pa.Table, schema: Schema) -> dict[int, pa.Array]:
    columns: dict[int, pa.Array] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        attribute = schema.find(name)
        if attribute is None:
            continue
        if attribute.index in columns:
            raise DataError(f"the events have two columns for attribute {attribute.name!r}")
        what = f"column {name!r}"
        columns[attribute.index] = convert(column.combine_chunks(), attribute.type, what)
    names = [name for name in table.column_names if name]
    if names and not columns:
        hint = nearest(names[0], (attribute.name for attribute in schema))
        raise DataError(
            f"no column of the events ({', '.join(names[:8])}) is an attribute of "
            f"stream {schema.stream!r}\nhint: {hint}"
        )
    return dict(sorted(columns.items()))


def _from_map(maps: pa.Array, schema: Schema, first: int) -> dict[int, pa.Array]:
    """Scatter the entries of all maps to their attributes' columns."""
    carriers = np.flatnonzero(np.asarray(maps.is_valid()))
    carried = maps.drop_null()
    offsets = np.asarray(carried.offsets)
    events = np.repeat(carriers, np.diff(offsets))
    entries = slice(int(offsets[0]), int(offsets[-1]))
    items = carried.items[entries]
    indices = _indices(carried.keys[entries], events, schema, first)
    order = np.argsort(indices, kind="stable")
    bounds = np.searchsorted(indices[order], np.arange(len(schema) + 1))
    columns: dict[int, pa.Array] = {}
    for index in np.unique(indices).tolist():
        attribute = schema.attributes[index]
        mine = order[bounds[index] : bounds[index + 1]]
        doubled = np.flatnonzero(np.diff(events[mine]) == 0)
        if len(doubled):
            at = first + int(events[mine][doubled[0]])
            raise DataError(f"event {at} has attribute {attribute.name!r} twice")
        what = f"attribute {attribute.name!r}"
        values = convert(items.take(pa.array(mine)), attribute.type, what)
        places = np.full(len(maps), -1)
        places[events[mine]] = np.arange(len(mine))
        columns[index] = values.take(pa.array(places, mask=places < 0))
    return columns


def _indices(keys: pa.Array, events: Integers, schema: Schema, first: int) -> Integers:
    """The attribute index of each key; the distinct keys are looked up once each."""
    encoded = to_text(keys, "the events' map: its key").dictionary_encode()
    codes: Integers = np.asarray(encoded.indices)
    found: list[int] = []
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        attribute = schema.find(name)
        if attribute is None:
            at = first + int(events[codes == code][0])
            hint = nearest(name, (a.name for a in schema))
            raise DataError(f"event {at} has an unknown attribute {name!r}\nhint: {hint}")
        found.append(attribute.index)
    indices: Integers = np.array(found, dtype=np.int64)[codes]
    return indices


def rows_of(events: pa.RecordBatch, schema: Schema) -> list[dict[int, Value]]:
    """Each event as a dict from attribute index to value, absent attributes left out."""
    rows: list[dict[int, Value]] = [{} for _ in range(events.num_rows)]
    for name, column in zip(events.schema.names, events.columns, strict=True):
        index = schema[name].index
        for row, value in zip(rows, to_values(column), strict=True):
            if value is not None:
                row[index] = value
    return rows
