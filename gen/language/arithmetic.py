"""Arithmetic and casts on constants, with Spark's result types, roundings and refusals."""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal

from penstock.gen.casting import (
    MICROSECONDS_PER_DAY,
    as_decimal,
    cast,
    common_type,
    literal_decimal,
    round_decimal,
)
from penstock.gen.expr import Constant
from penstock.gen.language import literals
from penstock.gen.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    EXACT,
    FLOAT,
    INT,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    Value,
    decimal,
)

MINIMUM_SCALE = 6
_DAYS = (TINYINT, SMALLINT, INT)
_NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,4})?|inf|infinity|nan)", re.ASCII | re.IGNORECASE
)
_FLOATING: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": math.fmod,
}


class NoCast(ValueError):
    """Two types between which nothing can be cast, whatever the value."""


def compute(op: str, left: Constant, right: Constant, literal: tuple[bool, bool]) -> Constant:
    """``left op right``; ``literal`` says which sides are plain literals.

    Raises ValueError, with what is wrong, where Spark would fail.
    """
    if left.type == DATE and right.type in _DAYS and op in "+-":
        return _shift_date(op, left, right)
    if op == "+" and right.type == DATE and left.type in _DAYS:
        return _shift_date(op, right, left)
    if not (left.type.is_numeric and right.type.is_numeric):
        raise ValueError(f"there is no {left.type} {op} {right.type}")
    if left.value is None or right.value is None:
        return Constant(_result_type(op, left, right, literal), None)
    if op in ("/", "%", "DIV") and not right.value:
        raise ValueError("division by zero")
    of = _result_type(op, left, right, literal)
    if of.is_floating:
        first, second = (float(side.value or 0.0) for side in (left, right))
        return Constant(of, to_float(_floating(op, first, second), of))
    if of.is_decimal:
        return Constant(of, _decimal(op, Decimal(left.value), Decimal(right.value), of))
    return Constant(of, in_range(_integral(op, int(left.value), int(right.value)), of))


def _shift_date(op: str, left: Constant, right: Constant) -> Constant:
    if left.value is None or right.value is None:
        return Constant(DATE, None)
    days = int(right.value)
    return Constant(DATE, in_range(int(left.value) + (days if op == "+" else -days), DATE))


def _result_type(op: str, left: Constant, right: Constant, literal: tuple[bool, bool]) -> Type:
    if op == "DIV":
        if not (left.type.is_integral and right.type.is_integral):
            raise ValueError(f"DIV takes whole numbers, not {left.type} and {right.type}")
        return BIGINT
    if left.type == right.type == FLOAT and op != "/":
        return FLOAT
    if left.type.is_floating or right.type.is_floating:
        return DOUBLE
    if left.type.is_integral and right.type.is_integral:
        if op == "/":
            return DOUBLE
        met = common_type(left.type, right.type)
        assert met is not None
        return met
    return _decimal_result(op, _widened(left, literal[0]), _widened(right, literal[1]))


def _widened(constant: Constant, is_literal: bool) -> Type:
    if constant.type.is_integral and is_literal and constant.value is not None:
        return literal_decimal(int(constant.value))
    return as_decimal(constant.type)


def _decimal_result(op: str, left: Type, right: Type) -> Type:
    left_whole, right_whole = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    if op in "+-":
        return _adjusted(max(left_whole, right_whole) + scale + 1, scale)
    if op == "*":
        return _adjusted(left.precision + right.precision + 1, left.scale + right.scale)
    if op == "%":
        return _adjusted(min(left_whole, right_whole) + scale, scale)
    scale = max(MINIMUM_SCALE, left.scale + right.precision + 1)
    return _adjusted(left_whole + right.scale + scale, scale)


def _adjusted(precision: int, scale: int) -> Type:
    """Past 38 digits the fraction is shortened, but not below six places."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    kept = max(MAX_PRECISION - (precision - scale), min(scale, MINIMUM_SCALE))
    return decimal(MAX_PRECISION, kept)


def _integral(op: str, left: int, right: int) -> int:
    if op in ("DIV", "%"):
        quotient = abs(left) // abs(right)
        quotient = quotient if (left < 0) == (right < 0) else -quotient
        return quotient if op == "DIV" else left - quotient * right
    return {"+": left + right, "-": left - right, "*": left * right}[op]


def _floating(op: str, left: float, right: float) -> float:
    if op == "%" and (math.isinf(left) or math.isnan(left) or math.isnan(right)):
        return math.nan
    return _FLOATING[op](left, right)


def _decimal(op: str, left: Decimal, right: Decimal, of: Type) -> Decimal:
    if op == "/":
        exact = EXACT.divide(left, right)
    elif op == "%":
        exact = EXACT.remainder(left, right)
    else:
        steps = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}
        exact = steps[op](left, right)
    return fit_decimal(exact, of)


def fit_decimal(value: Decimal, of: Type) -> Decimal:
    """Round to the type's scale; ValueError if it has too many digits."""
    rounded = round_decimal(value, of.scale)
    if EXACT.abs(rounded) >= Decimal(10) ** (of.precision - of.scale):
        raise ValueError(f"{value} does not fit {of}")
    return rounded


def in_range(value: int, of: Type) -> int:
    """The value, if the type holds it."""
    low, high = of.lowest, of.highest
    assert isinstance(low, int)
    assert high is not None
    if not low <= value <= high:
        raise ValueError(f"{value} is beyond the range of {of}, {low} to {high}")
    return value


def to_float(value: float, of: Type) -> float:
    """The value as FLOAT or DOUBLE holds it."""
    if of == DOUBLE or math.isnan(value) or math.isinf(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def negate(constant: Constant) -> Constant:
    """``-constant``; ValueError where there is no such value."""
    of, value = constant.type, constant.value
    if not of.is_numeric:
        raise ValueError(f"a minus sign cannot stand before {of}")
    if value is None:
        return constant
    assert not isinstance(value, str)
    negative = EXACT.minus(value) if isinstance(value, Decimal) else -value
    return Constant(of, in_range(int(negative), of) if of.is_integral else negative)


def convert(constant: Constant, target: Type) -> Constant:
    """``CAST(constant AS target)``; ValueError where Spark would fail or there is no such cast."""
    source, value = constant.type, constant.value
    if value is None or source == target:
        return Constant(target, value)
    if source == STRING:
        return Constant(target, _from_string(str(value), target))
    if source.is_numeric and target.is_numeric:
        return Constant(target, _between_numbers(value, source, target))
    if (source, target) == (DATE, TIMESTAMP):
        return Constant(target, in_range(int(cast(value, source, target)), target))
    if (source, target) == (TIMESTAMP, DATE):
        return Constant(target, int(value) // MICROSECONDS_PER_DAY)
    raise NoCast(f"there is no cast from {source} to {target}")


def _between_numbers(value: Value, source: Type, target: Type) -> Value:
    assert not isinstance(value, str)
    if target.is_floating:
        return to_float(float(value), target)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} does not fit {target}")
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if target.is_decimal:
        return fit_decimal(exact, target)
    return in_range(int(exact.to_integral_value(ROUND_DOWN)), target)


def _from_string(text: str, target: Type) -> Value:
    trimmed = text.strip()
    if target == DATE:
        return literals.date(text)
    if target == TIMESTAMP:
        return literals.timestamp(text)
    if target == BOOLEAN:
        spelled = {"true": True, "t": True, "yes": True, "y": True, "1": True}
        spelled |= {"false": False, "f": False, "no": False, "n": False, "0": False}
        if trimmed.lower() in spelled:
            return spelled[trimmed.lower()]
        raise ValueError(f"{text!r} is not a BOOLEAN; write 'true' or 'false'")
    if not _NUMBER.fullmatch(trimmed):
        raise ValueError(f"{text!r} cannot be read as {target}")
    if target.is_floating:
        return to_float(float(trimmed), target)
    if target.is_decimal and trimmed[-1] in ".0123456789":
        return fit_decimal(Decimal(trimmed), target)
    if not trimmed.lstrip("+-").isdecimal():
        raise ValueError(f"{text!r} cannot be read as {target}")
    return in_range(int(trimmed), target)
