"""A stream's schema: named, typed attributes, every one of which may be absent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.gen.errors import DataError, nearest
from penstock.gen.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    TYPE_NAMES,
    Type,
    decimal,
    parse_type,
)

_ARROW = {
    BOOLEAN: pa.bool_(),
    TINYINT: pa.int8(),
    SMALLINT: pa.int16(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
}
_FROM_ARROW = {
    **{arrow: own for own, arrow in _ARROW.items()},
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.uint64(): decimal(20),
    pa.float16(): FLOAT,
    pa.large_string(): STRING,
    pa.string_view(): STRING,
    pa.date64(): DATE,
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One named, typed attribute and its position in the schema."""

    index: int
    name: str
    type: Type

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Schema:
    """The attributes of a stream. Names are found whatever their case, as in Spark."""

    stream: str
    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise ValueError(f"stream {self.stream!r} needs at least one attribute")
        if len(self._by_name) < len(self.attributes):
            seen: set[str] = set()
            for attribute in self.attributes:
                if attribute.name.lower() in seen:
                    raise ValueError(
                        f"stream {self.stream!r} names attribute {attribute.name!r} twice "
                        "(names differing only in case are the same)"
                    )
                seen.add(attribute.name.lower())

    def __hash__(self) -> int:
        return hash((self.stream, len(self.attributes)))  # at once, however many there are

    @classmethod
    def of(
        cls,
        types: Mapping[str, Type | str] | Iterable[tuple[str, Type | str]],
        *,
        stream: str = "events",
    ) -> Schema:
        """A schema from names and types: ``Schema.of({"price": "DECIMAL(10,2)"})``."""
        pairs = types.items() if isinstance(types, Mapping) else types
        return cls(
            stream,
            tuple(
                Attribute(index, name, parse_type(spec) if isinstance(spec, str) else spec)
                for index, (name, spec) in enumerate(pairs)
            ),
        )

    @classmethod
    def from_arrow(cls, schema: pa.Schema, *, stream: str = "events") -> Schema:
        """The schema whose events are wide Arrow tables with these fields."""
        return cls.of([(field.name, _from_arrow(field)) for field in schema], stream=stream)

    @classmethod
    def from_spark(cls, struct: Any, *, stream: str = "events") -> Schema:
        """The schema of a DataFrame: pass ``df.schema``."""
        pairs = []
        for field in struct.fields:
            spelled = field.dataType.simpleString()
            try:
                pairs.append((field.name, _spark_type(spelled)))
            except ValueError:
                raise DataError(_no_such_type(field.name, f"Spark type {spelled}")) from None
        return cls.of(pairs, stream=stream)

    def to_arrow(self) -> pa.Schema:
        """The Arrow schema of wide events."""
        return pa.schema([(a.name, arrow_type(a.type)) for a in self.attributes])

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {attribute.name.lower(): attribute for attribute in self.attributes}

    def find(self, name: str) -> Attribute | None:
        """The attribute of this name, or ``None``."""
        return self._by_name.get(name.lower())

    def __getitem__(self, name: str) -> Attribute:
        attribute = self.find(name)
        if attribute is None:
            known = nearest(name, (a.name for a in self.attributes))
            raise KeyError(f"unknown attribute {name!r} in stream {self.stream!r}; {known}")
        return attribute

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __str__(self) -> str:
        columns = ", ".join(f"{quoted(a.name)} {a.type}" for a in self.attributes)
        return f"CREATE STREAM {quoted(self.stream)} ({columns})"


def quoted(name: str) -> str:
    """A name as SQL text, in backquotes: safe whatever the name is."""
    return "`" + name.replace("`", "``") + "`"


def arrow_type(of: Type) -> pa.DataType:
    """The Arrow type in which values of a type are held."""
    return pa.decimal128(of.precision, of.scale) if of.is_decimal else _ARROW[of]


def _from_arrow(field: pa.Field) -> Type:
    arrow = field.type
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    if arrow in _FROM_ARROW:
        return _FROM_ARROW[arrow]
    if pa.types.is_timestamp(arrow):
        return TIMESTAMP
    if pa.types.is_decimal(arrow) and 0 <= arrow.scale <= arrow.precision <= 38:
        return decimal(arrow.precision, arrow.scale)
    raise DataError(_no_such_type(field.name, f"Arrow type {arrow}"))


def _spark_type(spelled: str) -> Type:
    return TIMESTAMP if spelled == "timestamp_ntz" else parse_type(spelled)


def _no_such_type(name: str, spelled: str) -> str:
    return f"attribute {name!r} has {spelled}, which no attribute can have; types: {TYPE_NAMES}"
