"""The values of attributes that events carry, attribute by attribute or as entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.schema import Schema
from penstock.gen.types import Type
from penstock.host.keys import short_attributes, short_keys_of

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one attribute in a batch, in the Arrow type of its type."""

    values: pa.Array
    events: Integers | None
    """Ascending, one event per value; ``None`` where each event of the batch has one, in order."""


class Entries(NamedTuple):
    """What events carry of attributes whose keys are short, in any order, without NULL."""

    attributes: Numbers
    events: Integers
    keys: npt.NDArray[Any]
    """Integers of any width."""

    @classmethod
    def of(cls, attributes: Numbers, events: Integers, values: pa.Array, of: Type) -> Entries:
        """Of values of one type, which may be NULL."""
        keys = short_keys_of(values, of)
        if not values.null_count:
            return cls(attributes, events, keys)
        is_there = np.asarray(values.is_valid())
        return cls(attributes[is_there], events[is_there], keys[is_there])


def entries_of(columns: Mapping[int, Column], schema: Schema, rows: int) -> Entries:
    """The entries of columns, one column after the other."""
    is_short, _ = short_attributes(schema)
    every = np.arange(rows)
    none = np.zeros(0, np.int64)
    found = [Entries(none.astype(np.int32), none, none)]
    for index, column in columns.items():
        if is_short[index]:
            events = every if column.events is None else column.events
            attributes = np.full(len(events), index, np.int32)
            of = schema.attributes[index].type
            found.append(Entries.of(attributes, events, column.values, of))
    return Entries(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
