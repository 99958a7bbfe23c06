"""Sparse events: a map from attribute to value each, as entries and as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.gen.arrow import convert, to_text
from penstock.gen.errors import DataError, nearest
from penstock.gen.schema import Schema, arrow_type
from penstock.gen.types import Type
from penstock.host.columns import Column, Entries, Integers, Numbers
from penstock.host.keys import has_short_keys
from penstock.host.once import once

if TYPE_CHECKING:
    from penstock.host.software.names import NameTable

MANY_KEYS = 1 << 14
"""From so many on, the keys of maps are looked up and compared in compiled loops."""


def from_map(
    maps: pa.Array, schema: Schema, first: int
) -> tuple[Mapping[int, Column], Entries | None]:
    """The columns of events; and all their entries, if their values are short keys of one type.

    Errors count the events from ``first`` on.
    """
    carriers = np.flatnonzero(np.asarray(maps.is_valid()))
    carried = maps.drop_null() if maps.null_count else maps
    offsets = np.asarray(carried.offsets)
    events = np.repeat(carriers, np.diff(offsets))
    inside = slice(int(offsets[0]), int(offsets[-1]))
    attributes = _attributes(carried.keys[inside], events, schema, first)
    _check_single(attributes, events, schema, first)
    values = carried.items[inside]
    columns = MapColumns(schema, attributes, events, values)
    of = next((a.type for a in schema if arrow_type(a.type) == values.type), None)
    if of is None or not has_short_keys(of) or not _are_all(schema, of)[attributes].all():
        return dict(columns), None
    return columns, Entries.of(attributes, events, values, of)


class MapColumns(Mapping[int, Column]):
    """The entries of maps brought together by attribute, when somebody asks for that."""

    def __init__(
        self, schema: Schema, attributes: Numbers, events: Integers, values: pa.Array
    ) -> None:
        self._schema = schema
        self._entries = (attributes, events, values)

    @once
    def _columns(self) -> dict[int, Column]:
        attributes, events, values = self._entries
        schema = self._schema
        # Numbers of 16 bits are sorted by their digits, ten times as fast as by comparing.
        narrow = np.uint16 if len(schema) <= np.iinfo(np.uint16).max else np.int64
        order = np.argsort(attributes.astype(narrow), kind="stable")
        events, values = events[order], values.take(pa.array(order))
        bounds = np.append(0, np.cumsum(np.bincount(attributes, minlength=len(schema))))
        columns: dict[int, Column] = {}
        for attribute, (start, end) in zip(schema, pairwise(bounds.tolist()), strict=True):
            if start < end:
                what = f"attribute {attribute.name!r}"
                mine = convert(values.slice(start, end - start), attribute.type, what)
                columns[attribute.index] = Column(mine, events[start:end])
        return columns

    def __getitem__(self, index: int) -> Column:
        return self._columns[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def _attributes(keys: pa.Array, events: Integers, schema: Schema, first: int) -> Numbers:
    """The attribute index of each key; the distinct keys are looked up once each."""
    what = "the events' map: its key"
    is_encoded = pa.types.is_dictionary(keys.type)
    if not is_encoded and len(keys) >= MANY_KEYS:
        keys = to_text(keys, what)
        found_at_once = None if keys.null_count else _name_table(schema).find(keys)
        if found_at_once is not None:
            return found_at_once
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
    table = np.array([0 if a is None else a.index for a in found], dtype=np.int32)
    attributes: Numbers = table[codes]
    return attributes


@lru_cache(maxsize=16)
def _name_table(schema: Schema) -> NameTable:
    from penstock.host.software.names import NameTable  # numba takes a while to import

    return NameTable([attribute.name for attribute in schema])


@lru_cache(maxsize=64)
def _are_all(schema: Schema, of: Type) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which attributes are of a type."""
    return np.array([attribute.type == of for attribute in schema])


def _check_single(attributes: Numbers, events: Integers, schema: Schema, first: int) -> None:
    """Refuse an event, whose entries stand side by side, that has an attribute twice."""
    if len(events) >= MANY_KEYS:
        from penstock.host.software.names import first_double

        place = first_double(attributes, events, len(schema))
    else:
        pairs = events * len(schema) + attributes
        order = np.argsort(pairs, kind="stable")
        doubles = order[1:][np.diff(pairs[order]) == 0]
        place = int(doubles.min(initial=len(events)))
    if place < len(events):
        name = schema.attributes[attributes[place]].name
        raise DataError(f"event {first + int(events[place])} has attribute {name!r} twice")
