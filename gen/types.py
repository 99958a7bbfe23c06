"""The data types of the language, their order and their lossless integer keys.

Values are held as: BOOLEAN ``bool``; TINYINT to BIGINT ``int``; DECIMAL ``Decimal``;
FLOAT and DOUBLE ``float``; STRING ``str``; DATE ``int`` (days since 1970-01-01);
TIMESTAMP ``int`` (microseconds since 1970-01-01 00:00 UTC). NULL is ``None``.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeAlias

Value: TypeAlias = bool | int | float | Decimal | str


class Key(Protocol):
    """A value's place in its type's order: an integer, for strings the string itself."""

    def __lt__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...


MAX_PRECISION = 38
EXACT = Context(prec=100)
"""Decimal arithmetic wide enough that nothing here is ever rounded by accident."""

INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
FLOAT_BITS = {"FLOAT": 32, "DOUBLE": 64}
GRID_STRING_BYTES = 8


@dataclass(frozen=True, repr=False)
class Type:
    """A data type; compare with ``==``, print with ``str``."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})" if self.is_decimal else self.name

    __repr__ = __str__

    @property
    def is_decimal(self) -> bool:
        return self.name == "DECIMAL"

    @property
    def is_integral(self) -> bool:
        return self.name in INTEGER_BITS

    @property
    def is_floating(self) -> bool:
        return self.name in FLOAT_BITS

    @property
    def is_numeric(self) -> bool:
        return self.is_integral or self.is_floating or self.is_decimal

    @property
    def is_temporal(self) -> bool:
        return self.name in ("DATE", "TIMESTAMP")

    @cached_property
    def _integer_keys(self) -> tuple[int, int]:
        """Lowest and highest key of a type whose keys are integers."""
        if self.is_decimal:
            return 1 - 10**self.precision, 10**self.precision - 1
        if self.name == "BOOLEAN":
            return 0, 1
        if self.is_floating:
            return self._float_key(float("-inf")), self._float_key(float("nan"))
        bits = INTEGER_BITS.get(self.name) or {"DATE": 32, "TIMESTAMP": 64}[self.name]
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    @property
    def lowest(self) -> Key:
        """The key of the least value."""
        return "" if self.name == "STRING" else self._integer_keys[0]

    @property
    def highest(self) -> int | None:
        """The key of the greatest value; strings have none."""
        return None if self.name == "STRING" else self._integer_keys[1]

    @property
    def key_bits(self) -> int | None:
        """How many bits the integer keys of the type span; strings have none."""
        if self.name == "STRING":
            return None
        low, high = self._integer_keys
        return (high - low).bit_length()

    def key(self, value: Value) -> Key:
        """The value's place in the order. Equal values, and only they, share a key."""
        if isinstance(value, str):
            return value
        if isinstance(value, Decimal):
            return int(value.scaleb(self.scale, EXACT))
        if isinstance(value, float):
            return self._float_key(value)
        return int(value)

    def value(self, key: Key) -> Value:
        """The value at a key: the inverse of `key`."""
        if isinstance(key, str):
            return key
        assert isinstance(key, int)
        if self.is_decimal:
            return Decimal(key).scaleb(-self.scale, EXACT)
        if self.is_floating:
            return self._float_value(key)
        return bool(key) if self.name == "BOOLEAN" else key

    def after(self, key: Key) -> Key:
        """The next key up: nothing lies between a key and the one after it."""
        if isinstance(key, str):
            return key + "\0"
        assert isinstance(key, int)
        return key + 1

    def grid(self, key: Key) -> int:
        """A key as an integer, in the same order: what a tree can halve.

        Strings that agree in their first bytes share a place; all other keys keep theirs.
        """
        if isinstance(key, int):
            return key
        assert isinstance(key, str)
        head = key.encode("utf-8", "surrogatepass")[:GRID_STRING_BYTES]
        return int.from_bytes(head.ljust(GRID_STRING_BYTES, b"\0"), "big")

    @property
    def grid_bounds(self) -> tuple[int, int]:
        """The least and the greatest place that `grid` can give."""
        if self.name == "STRING":
            return 0, 256**GRID_STRING_BYTES - 1
        return self._integer_keys

    def _float_key(self, value: float) -> int:
        """IEEE bits folded so that integers order as Spark does: NaN on top, one zero."""
        if value != value:
            return self._float_key(float("inf")) + 1
        pattern, integer = ("<f", "<i") if self.name == "FLOAT" else ("<d", "<q")
        (bits,) = struct.unpack(integer, struct.pack(pattern, value + 0.0))
        magnitude_bits = FLOAT_BITS[self.name] - 1
        return int(bits if bits >= 0 else -(bits + (1 << magnitude_bits)))

    def _float_value(self, key: int) -> float:
        if key > self._float_key(float("inf")):
            return float("nan")
        pattern, integer = ("<f", "<i") if self.name == "FLOAT" else ("<d", "<q")
        sign = -1.0 if key < 0 else 1.0
        (magnitude,) = struct.unpack(pattern, struct.pack(integer, abs(key)))
        return sign * float(magnitude)


BOOLEAN = Type("BOOLEAN")
TINYINT = Type("TINYINT")
SMALLINT = Type("SMALLINT")
INT = Type("INT")
BIGINT = Type("BIGINT")
FLOAT = Type("FLOAT")
DOUBLE = Type("DOUBLE")
STRING = Type("STRING")
DATE = Type("DATE")
TIMESTAMP = Type("TIMESTAMP")

_NAMED = {
    "BOOLEAN": BOOLEAN,
    "BOOL": BOOLEAN,
    "TINYINT": TINYINT,
    "BYTE": TINYINT,
    "SMALLINT": SMALLINT,
    "SHORT": SMALLINT,
    "INT": INT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "LONG": BIGINT,
    "FLOAT": FLOAT,
    "REAL": FLOAT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMP,
    "DECIMAL": Type("DECIMAL", 10, 0),
    "DEC": Type("DECIMAL", 10, 0),
    "NUMERIC": Type("DECIMAL", 10, 0),
}
TYPE_NAMES = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, DECIMAL(p,s), FLOAT, DOUBLE, STRING, DATE, TIMESTAMP"
)
_DECIMAL = re.compile(r"(?:DECIMAL|DEC|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", re.ASCII)


def decimal(precision: int, scale: int = 0) -> Type:
    """The type DECIMAL(precision, scale)."""
    if not 1 <= precision <= MAX_PRECISION or not 0 <= scale <= precision:
        raise ValueError(
            f"DECIMAL needs 1 <= precision <= {MAX_PRECISION} and 0 <= scale <= precision, "
            f"not DECIMAL({precision},{scale})"
        )
    return Type("DECIMAL", precision, scale)


@lru_cache(maxsize=1024)
def parse_type(text: str) -> Type:
    """The type that SQL text such as ``decimal(10, 2)`` names."""
    spelled = text.strip().upper()
    if spelled in _NAMED:
        return _NAMED[spelled]
    found = _DECIMAL.fullmatch(spelled)
    if found:
        return decimal(int(found[1]), int(found[2] or 0))
    raise ValueError(f"unknown type {text!r}; the types are {TYPE_NAMES}")
