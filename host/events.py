"""Events as they come, wide or sparse, into the one form that devices take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.gen.arrow import convert, to_values
from penstock.gen.errors import DataError, nearest
from penstock.gen.schema import Attribute, Schema, arrow_type
from penstock.gen.types import Value
from penstock.host.columns import Column, Entries, entries_of
from penstock.host.map_events import from_map
from penstock.host.once import once


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


@dataclass(frozen=True)
class Batch:
    """Events in the form they came: a column per attribute that any of them carries.

    Wide events have columns of one value per event, sparse events columns of their entries; a
    value may be NULL, which is absent, in either.
    """

    schema: Schema
    rows: int
    columns: Mapping[int, Column]
    """By attribute index, ascending."""
    entries: Entries | None = None
    """All that the events carry, if it came in one column whose values are short keys."""

    @classmethod
    def of(cls, table: pa.Table, schema: Schema, *, first: int = 0) -> Batch:
        """The events of a table, typed as the schema says; what is no attribute is left out.

        Sparse events are a table whose one column is a map from attribute to value. In wide
        events columns that are no attribute are ignored, as long as one is. Errors count the
        events from ``first`` on.
        """
        if table.num_columns == 1 and pa.types.is_map(table.schema.field(0).type):
            maps = table.column(0).combine_chunks()
            return cls(schema, table.num_rows, *from_map(maps, schema, first))
        return cls(schema, table.num_rows, _from_columns(table, schema))

    @property
    def is_sparse(self) -> bool:
        """Whether events do not have a value in each column."""
        return self.entries is not None or any(
            column.events is not None for column in self.columns.values()
        )

    def wide(self) -> pa.RecordBatch:
        """One column per attribute that is there, NULL where it is absent; made once."""
        return self._wide

    @once
    def _wide(self) -> pa.RecordBatch:
        if not self.columns:  # a batch without columns would forget how many events it has
            unused = self.schema.attributes[0]
            return pa.record_batch({unused.name: pa.nulls(self.rows, arrow_type(unused.type))})
        names = [self.schema.attributes[index].name for index in self.columns]
        return pa.record_batch([self._scattered(c) for c in self.columns.values()], names=names)

    @once
    def short_entries(self) -> Entries:
        """What the events carry of attributes whose keys are short, to be encoded at once."""
        return self.entries or entries_of(self.columns, self.schema, self.rows)

    def _scattered(self, column: Column) -> pa.Array:
        if column.events is None:
            return column.values
        places = np.full(self.rows, -1)
        places[column.events] = np.arange(len(column.events))
        return column.values.take(pa.array(places, mask=places < 0))


def _from_columns(table: pa.Table, schema: Schema) -> dict[int, Column]:
    columns: dict[int, Column] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        attribute = schema.find(name)
        if attribute is None:
            continue
        if attribute.index in columns:
            raise DataError(f"the events have two columns for attribute {attribute.name!r}")
        values = convert(column.combine_chunks(), attribute.type, f"column {name!r}")
        columns[attribute.index] = Column(values, None)
    names = [name for name in table.column_names if name]
    if names and not columns:
        hint = nearest(names[0], (attribute.name for attribute in schema))
        raise DataError(
            f"no column of the events ({', '.join(names[:8])}) is an attribute of "
            f"stream {schema.stream!r}\nhint: {hint}"
        )
    return dict(sorted(columns.items()))


def rows_of(events: pa.RecordBatch, schema: Schema) -> list[dict[int, Value]]:
    """Each event as a dict from attribute index to value, absent attributes left out."""
    rows: list[dict[int, Value]] = [{} for _ in range(events.num_rows)]
    for name, column in zip(events.schema.names, events.columns, strict=True):
        index = schema[name].index
        for row, value in zip(rows, to_values(column), strict=True):
            if value is not None:
                row[index] = value
    return rows
