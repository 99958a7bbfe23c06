"""Arrow columns as attribute values: exactly, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.errors import DataError
from penstock.gen.language import literals
from penstock.gen.schema import arrow_type
from penstock.gen.types import BOOLEAN, DATE, DOUBLE, FLOAT, STRING, TIMESTAMP, Type, Value


def convert(column: pa.Array, of: Type, what: str) -> pa.Array:
    """The column in the Arrow type of ``of``; DataError, naming ``what``, if a value would change.

    Integers become any numeric type in which each fits exactly, floats and decimals that are
    whole become integers, text is read as the type's literals; nothing else changes its kind.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    target = arrow_type(of)
    if column.type == target:
        return column
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), target)
    if not may_become(column.type, of):
        raise DataError(f"{what} has values of Arrow type {column.type}, but is {of}")
    if _is_text(column.type):
        column = pc.cast(column, pa.string())
        if of in (DATE, TIMESTAMP):
            return _from_text(column, of, what)
    try:
        converted = _cast(column, of)
    except pa.ArrowInvalid:
        raise _first_misfit(column, of, what) from None
    if of == FLOAT and pa.types.is_float64(column.type):
        differs = pc.not_equal(pc.cast(converted, pa.float64()), column)
        changed = pc.and_(differs, pc.invert(pc.is_nan(column)))
        if pc.any(changed).as_py():
            raise _misfit(column.filter(changed), of, what)
    return converted


def to_values(column: pa.Array) -> list[Value | None]:
    """The column's values as the language holds them: dates and timestamps as integers."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    values: list[Value | None] = column.to_pylist()
    return values


def from_values(values: Sequence[Value], of: Type) -> pa.Array:
    """Values as the language holds them as a column: the inverse of `to_values`."""
    if of.is_temporal:
        integers = pa.array(values, pa.int32() if of == DATE else pa.int64())
        return integers.cast(arrow_type(of))
    return pa.array(values, arrow_type(of))


def to_text(column: pa.Array, what: str) -> pa.Array:
    """A column of names or numbers as text."""
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"{what} holds text or numbers, not {column.type}") from None


def may_become(arrow: pa.DataType, of: Type) -> bool:
    """Whether values of an Arrow type are taken as those of a type, as far as they fit."""
    types = pa.types
    if _is_text(arrow):
        return True
    if of in (STRING, BOOLEAN):
        return bool(arrow == arrow_type(of))
    if of.is_temporal:
        return bool(types.is_date(arrow) if of == DATE else types.is_timestamp(arrow))
    return bool(
        types.is_integer(arrow)
        or (types.is_floating(arrow) and not of.is_decimal)
        or (types.is_decimal(arrow) and not of.is_floating)
    )


def _is_text(arrow: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or arrow == pa.string_view()
    )


def _cast(column: pa.Array, of: Type) -> pa.Array:
    """The column in the Arrow type of ``of``; ArrowInvalid if a value does not fit."""
    if of.is_decimal or pa.types.is_decimal(column.type):
        # In 128 bits and below, Arrow 26 wants room for any integer where one is cast, and lets
        # a rescaled value overflow unseen. In 256 bits there is room for both.
        scale = of.scale if of.is_decimal else column.type.scale
        column = pc.cast(column, pa.decimal256(76, scale))
    elif of.is_integral and pa.types.is_string(column.type):
        # Arrow reads hexadecimal, the language does not.
        column = pc.replace_with_mask(column, pc.starts_with(column, "0x", ignore_case=True), "x")
    return pc.cast(column, arrow_type(of))


def _from_text(column: pa.Array, of: Type, what: str) -> pa.Array:
    """Dates and timestamps from text, each distinct text read once."""
    encoded = pc.dictionary_encode(column)
    read: Callable[[str], int] = literals.date if of == DATE else literals.timestamp
    try:
        values = [None if text is None else read(text) for text in encoded.dictionary.to_pylist()]
    except ValueError as error:
        raise DataError(f"{what}: {error}") from None
    integers = pa.array(values, pa.int32() if of == DATE else pa.int64())
    return pc.cast(integers, arrow_type(of)).take(encoded.indices)


def _first_misfit(column: pa.Array, of: Type, what: str) -> DataError:
    """Find the value that does not fit by halving, so that the message can show it."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _cast(column.slice(low, middle - low), of)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return _misfit(column.slice(low, 1), of, what)


def _misfit(values: pa.Array, of: Type, what: str) -> DataError:
    """The error about the first of the values."""
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.string())  # Python has no dates beyond the year 9999
    value = values[0].as_py()
    shown = f"{value:f}" if isinstance(value, Decimal) else repr(value)
    near = " exactly" if of in (FLOAT, DOUBLE) or of.is_decimal else ""
    return DataError(f"{what}: {shown} does not fit {of}{near}")
