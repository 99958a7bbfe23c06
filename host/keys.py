"""Arrow columns as keys: integers in the order of their type, whole columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.arrow import to_values
from penstock.gen.types import Type

Integers = npt.NDArray[np.int64]
WORD_DIGITS = 18
"""Decimal digits that fit 64 bits."""


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
