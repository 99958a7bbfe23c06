"""Which type two sides of a comparison meet in, and how values get there: Spark's rules.

Every cast here is monotone: it may round, but it never changes the order of two values.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

from penstock.gen.types import (
    BIGINT,
    DATE,
    DOUBLE,
    EXACT,
    INT,
    INTEGER_BITS,
    MAX_PRECISION,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    Type,
    Value,
    decimal,
)

MICROSECONDS_PER_DAY = 86_400_000_000
_INTEGER_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}


def common_type(left: Type, right: Type) -> Type | None:
    """The type in which the two compare, or ``None`` where there is none."""
    if left == right:
        return left
    if left.is_numeric and right.is_numeric:
        if left.is_floating or right.is_floating:
            return DOUBLE
        if left.is_integral and right.is_integral:
            return max(left, right, key=lambda of: INTEGER_BITS[of.name])
        return wider_decimal(as_decimal(left), as_decimal(right))
    if left.is_temporal and right.is_temporal:
        return TIMESTAMP
    return None


def common_type_of_all(types: Iterable[Type]) -> Type | None:
    """The type in which all of them compare, met one by one in order."""
    met: Type | None = None
    for of in types:
        met = of if met is None else common_type(met, of)
        if met is None:
            return None
    return met


def as_decimal(of: Type) -> Type:
    """The decimal type that holds every value of an integral type."""
    return of if of.is_decimal else decimal(_INTEGER_DIGITS[of])


def literal_decimal(value: int) -> Type:
    """The decimal type of one integer literal, no wider than its digits."""
    return decimal(max(1, len(str(abs(value)))))


def wider_decimal(left: Type, right: Type) -> Type:
    """The decimal type that holds both; past 38 digits the fraction gives way."""
    whole = max(left.precision - left.scale, right.precision - right.scale)
    scale = max(left.scale, right.scale)
    if whole + scale > MAX_PRECISION:
        scale = max(0, MAX_PRECISION - whole)
    return decimal(min(whole + scale, MAX_PRECISION), scale)


def cast(value: Value, source: Type, target: Type) -> Value:
    """The value as the target type holds it; only casts that `common_type` can ask for."""
    if source == target or (source.is_integral and target.is_integral):
        return value
    if target.is_decimal:
        exact = value if isinstance(value, Decimal) else Decimal(int(value))
        return round_decimal(exact, target.scale)
    if target.is_floating:
        return float(value)
    assert (source, target) == (DATE, TIMESTAMP), f"no cast from {source} to {target}"
    return int(value) * MICROSECONDS_PER_DAY


def round_decimal(value: Decimal, scale: int) -> Decimal:
    """Round to a number of decimal places, halves away from zero."""
    return value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=EXACT)
