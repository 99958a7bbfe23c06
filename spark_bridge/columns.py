"""The columns of a DataFrame that rules need: found, and of types that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.gen.arrow import may_become
from penstock.gen.errors import DataError, nearest
from penstock.gen.schema import Attribute, Schema, arrow_type, quoted


def present(schema: Schema, frame: Any) -> list[Attribute]:
    """The attributes of which the DataFrame has a column."""
    names = {column.lower() for column in frame.columns}
    return [attribute for attribute in schema if attribute.name.lower() in names]


def needed(tested: Sequence[Attribute], frame: Any) -> list[tuple[str, str]]:
    """The column of each attribute that rules look at, with its name."""
    found = []
    for attribute in tested:
        columns = [c for c in frame.columns if c.lower() == attribute.name.lower()]
        if len(columns) != 1:
            raise DataError(_not_one(attribute, columns, frame))
        _check_type(frame, columns[0], attribute)
        found.append((columns[0], attribute.name))
    return found


def check_map(frame: Any, column: str) -> None:
    """DataError unless a column is there and holds maps with text as keys."""
    if column not in frame.columns:
        raise DataError(
            f"the DataFrame has no column {column!r} with events\n"
            f"hint: {nearest(column, frame.columns)}"
        )
    spelled = frame.schema[column].dataType.simpleString()
    if not spelled.startswith("map<string,"):
        raise DataError(f"column {column!r} is {spelled}; sparse events are map<string,...>")


def check_new(frame: Any, *names: str) -> None:
    """DataError if the DataFrame has one of the columns already that are to be added."""
    taken = {column.lower() for column in frame.columns}
    for name in names:
        if name.lower() in taken:
            raise DataError(
                f"the DataFrame has a column {name!r} already\n"
                "hint: give the column of matches another name with into=..."
            )


def _not_one(attribute: Attribute, columns: list[str], frame: Any) -> str:
    if columns:
        return f"the DataFrame has the column of attribute {attribute.name!r} twice: {columns}"
    return (
        f"the rules look at {attribute.name!r}, and the DataFrame has no such column\n"
        f"hint: {nearest(attribute.name, frame.columns)}; "
        "for sparse events name the column of maps with events=..."
    )


def _check_type(frame: Any, column: str, attribute: Attribute) -> None:
    spelled = frame.schema[column].dataType.simpleString()
    try:
        own = Schema.from_spark(frame.select(quoted(column)).schema).attributes[0].type
    except DataError:  # no attribute can have such a type
        own = None
    if own is None or not may_become(arrow_type(own), attribute.type):
        raise DataError(
            f"column {column!r} is {spelled}, which cannot be compared as "
            f"{attribute.type}, the type of attribute {attribute.name!r}\n"
            "hint: cast the column, or declare the attribute with its type"
        )
