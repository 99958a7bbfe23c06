"""Events as they come, wide or sparse, into the one form that devices take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.arrow import convert, to_text, to_values
from penstock.gen.errors import DataError, nearest
from penstock.gen.schema import Attribute, Schema, arrow_type
from penstock.gen.types import Value
from penstock.host.keys import short_attributes, short_keys_of

if TYPE_CHECKING:
    from penstock.host.software.names import NameTable

Integers = npt.NDArray[np.int64]
MANY_KEYS = 1 << 14
"""From so many on, the keys of maps are looked up one by one, in a compiled loop."""


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


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one attribute in a batch, in the Arrow type of its type."""

    values: pa.Array
    events: Integers | None
    """Ascending, one event per value; ``None`` where each event of the batch has one, in order."""


class ShortEntries(NamedTuple):
    """What events carry of attributes whose keys are short: attribute by attribute, no NULL."""

    attributes: Integers
    events: Integers
    keys: Integers


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

    @classmethod
    def of(cls, table: pa.Table, schema: Schema, *, first: int = 0) -> Batch:
        """The events of a table, typed as the schema says; what is no attribute is left out.

        Sparse events are a table whose one column is a map from attribute to value. In wide
        events columns that are no attribute are ignored, as long as one is. Errors count the
        events from ``first`` on.
        """
        if table.num_columns == 1 and pa.types.is_map(table.schema.field(0).type):
            columns = _from_map(table.column(0).combine_chunks(), schema, first)
        else:
            columns = _from_columns(table, schema)
        return cls(schema, table.num_rows, columns)

    def wide(self) -> pa.RecordBatch:
        """One column per attribute that is there, NULL where it is absent; made once."""
        return self._wide

    @cached_property
    def _wide(self) -> pa.RecordBatch:
        if not self.columns:  # a batch without columns would forget how many events it has
            unused = self.schema.attributes[0]
            return pa.record_batch({unused.name: pa.nulls(self.rows, arrow_type(unused.type))})
        names = [self.schema.attributes[index].name for index in self.columns]
        return pa.record_batch([self._scattered(c) for c in self.columns.values()], names=names)

    @cached_property
    def short_entries(self) -> ShortEntries:
        """In a form that is encoded at once, and not attribute by attribute."""
        every = np.arange(self.rows)
        none = np.zeros(0, np.int64)
        attributes, counts, events, keys = [], [], [none], [none]
        is_short, _ = short_attributes(self.schema)
        for index, column in self.columns.items():
            if is_short[index]:
                of = self.schema.attributes[index].type
                is_there = (
                    ... if not column.values.null_count else np.asarray(column.values.is_valid())
                )
                keys.append(short_keys_of(column.values, of)[is_there])
                events.append((every if column.events is None else column.events)[is_there])
                attributes.append(index)
                counts.append(len(keys[-1]))
        return ShortEntries(
            np.repeat(np.array(attributes, np.int64), counts),
            np.concatenate(events),
            np.concatenate(keys),
        )

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


def _from_map(maps: pa.Array, schema: Schema, first: int) -> dict[int, Column]:
    """Bring the entries of all maps together by attribute, in order of events."""
    carriers = np.flatnonzero(np.asarray(maps.is_valid()))
    carried = maps.drop_null() if maps.null_count else maps
    offsets = np.asarray(carried.offsets)
    events = np.repeat(carriers, np.diff(offsets))
    entries = slice(int(offsets[0]), int(offsets[-1]))
    indices = _indices(carried.keys[entries], events, schema, first)
    order = np.argsort(indices, kind="stable")
    events = events[order]
    bounds = np.append(0, np.cumsum(np.bincount(indices, minlength=len(schema))))
    _check_single(events, bounds, schema, first)
    items = carried.items[entries].take(pa.array(order))
    columns: dict[int, Column] = {}
    for attribute, (start, end) in zip(schema, pairwise(bounds.tolist()), strict=True):
        if start < end:
            what = f"attribute {attribute.name!r}"
            values = convert(items.slice(start, end - start), attribute.type, what)
            columns[attribute.index] = Column(values, events[start:end])
    return columns


def _indices(keys: pa.Array, events: Integers, schema: Schema, first: int) -> npt.NDArray[Any]:
    """The attribute index of each key; the distinct keys are looked up once each."""
    what = "the events' map: its key"
    is_encoded = pa.types.is_dictionary(keys.type)
    narrow = np.uint16 if len(schema) <= np.iinfo(np.uint16).max else np.int64
    if not is_encoded and len(keys) >= MANY_KEYS:
        keys = to_text(keys, what)
        found_at_once = None if keys.null_count else _name_table(schema).find(keys)
        if found_at_once is not None:
            return found_at_once.astype(narrow)
    encoded = keys if is_encoded else to_text(keys, what).dictionary_encode()
    names = to_text(encoded.dictionary, what).to_pylist()
    found = [schema.find(name) for name in names]
    codes = np.asarray(encoded.indices)
    for code in (code for code, attribute in enumerate(found) if attribute is None):
        carriers = events[codes == code]
        if len(carriers):  # a dictionary may hold names that nothing uses
            hint = nearest(names[code], (a.name for a in schema))
            raise DataError(
                f"event {first + int(carriers[0])} has an unknown attribute {names[code]!r}\n"
                f"hint: {hint}"
            )
    # Numbers of 16 bits are sorted by their digits, ten times as fast as by comparing.
    table = np.array([0 if a is None else a.index for a in found], dtype=narrow)
    indices: npt.NDArray[Any] = table[codes]
    return indices


@lru_cache(maxsize=16)
def _name_table(schema: Schema) -> NameTable:
    from penstock.host.software.names import NameTable  # numba takes a while to import

    return NameTable([attribute.name for attribute in schema])


def _check_single(events: Integers, bounds: Integers, schema: Schema, first: int) -> None:
    """Refuse an event that is among those of one attribute, which lie between bounds, twice."""
    is_double = np.zeros(len(events), dtype=bool)
    is_double[1:] = events[1:] == events[:-1]
    starts = bounds[:-1]
    is_double[starts[starts < len(events)]] = False
    if is_double.any():
        place = int(np.argmax(is_double))
        attribute = schema.attributes[int(np.searchsorted(bounds, place, side="right")) - 1]
        at = first + int(events[place])
        raise DataError(f"event {at} has attribute {attribute.name!r} twice")


def rows_of(events: pa.RecordBatch, schema: Schema) -> list[dict[int, Value]]:
    """Each event as a dict from attribute index to value, absent attributes left out."""
    rows: list[dict[int, Value]] = [{} for _ in range(events.num_rows)]
    for name, column in zip(events.schema.names, events.columns, strict=True):
        index = schema[name].index
        for row, value in zip(rows, to_values(column), strict=True):
            if value is not None:
                row[index] = value
    return rows
