"""Arrow columns as keys: integers in the order of their type, whole columns at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.arrow import to_values
from penstock.gen.schema import Schema
from penstock.gen.types import Type

Integers = npt.NDArray[np.int64]
WORD_DIGITS = 18
"""Decimal digits that fit 64 bits."""


def has_short_keys(of: Type) -> bool:
    """Whether the keys of a type are integers of 64 bits."""
    return of.key_bits is not None and of.key_bits <= 64


@lru_cache(maxsize=16)
def short_attributes(schema: Schema) -> tuple[npt.NDArray[np.bool_], Integers]:
    """Which attributes have short keys, and the highest key of each of these."""
    is_short = np.array([has_short_keys(attribute.type) for attribute in schema])
    highest = [a.type.highest or 0 if has_short_keys(a.type) else 0 for a in schema]
    return is_short, np.array(highest, np.int64)


def keys_of(column: pa.Array, of: Type) -> npt.NDArray[Any]:
    """The key of each value of a column in the type's Arrow type; any key where it is NULL.

    Keys are 64-bit integers where the type allows, else Python's integers or strings.
    """
    if of.is_floating:
        return _float_keys(column, of)
    if of.is_decimal:
        return _decimal_keys(column, of)
    if of.name == "STRING":
        return np.asarray(column.fill_null("").to_pylist(), dtype=object)
    if of.name in ("DATE", "TIMESTAMP"):
        column = column.cast(pa.int32() if of.name == "DATE" else pa.int64())
    if column.null_count:
        column = column.fill_null(False if of.name == "BOOLEAN" else 0)
    return np.asarray(column).astype(np.int64)


def short_keys_of(column: pa.Array, of: Type) -> npt.NDArray[Any]:
    """The same where keys are short, as integers of any width."""
    is_plain = of.is_integral and not column.null_count
    return np.asarray(column) if is_plain else keys_of(column, of)


def _float_keys(column: pa.Array, of: Type) -> Integers:
    """IEEE bits folded as `Type.key` folds them; both zeros come to 0."""
    wide = of.name == "DOUBLE"
    values = np.asarray(column.fill_null(0.0))
    bits = values.view(np.int64 if wide else np.int32).astype(np.int64)
    lowest = np.int64(-(2**63)) if wide else np.int64(-(2**31))
    keys: Integers = np.where(bits < 0, lowest - bits, bits)
    assert of.highest is not None
    keys[np.isnan(values)] = of.highest
    return keys


def _decimal_keys(column: pa.Array, of: Type) -> npt.NDArray[Any]:
    if of.precision > WORD_DIGITS:
        values = (of.key(value) if value is not None else 0 for value in to_values(column))
        return np.fromiter(values, dtype=object, count=len(column))
    words = np.frombuffer(column.buffers()[1], dtype=np.int64).reshape(-1, 2)
    keys: Integers = words[column.offset : column.offset + len(column), 0]
    return keys
