"""CREATE STREAM trades (symbol STRING, price DECIMAL(10,2))."""

from __future__ import annotations

from penstock.gen.language.statement import Statement
from penstock.gen.schema import Schema
from penstock.gen.types import TYPE_NAMES, Type, parse_type

STREAM_FORM = "CREATE STREAM name (attribute TYPE, ...)"
SAME_NAME = "names that differ only in case are the same"


def read_attributes(statement: Statement, stream: str) -> Schema:
    """The schema of a stream, from the bracket after its name on."""
    statement.expect("(", STREAM_FORM)
    attributes: dict[str, Type] = {}
    seen: set[str] = set()
    while True:
        at = statement.position
        attribute = statement.name("an attribute's name", STREAM_FORM)
        if attribute.lower() in seen:
            raise statement.problem(at, f"attribute {attribute!r} is declared twice", SAME_NAME)
        seen.add(attribute.lower())
        attributes[attribute] = _type(statement)
        if statement.accept(")"):
            break
        if not statement.accept(","):
            raise statement.unexpected("',' or ')'", STREAM_FORM)
    statement.finish(STREAM_FORM)
    return Schema.of(attributes, stream=stream)


def _type(statement: Statement) -> Type:
    start = statement.position
    spelled = statement.name("a type", f"one of {TYPE_NAMES}")
    if statement.shown() == "(":
        while statement.position < len(statement.tokens) and not spelled.endswith(")"):
            spelled += statement.shown()
            statement.position += 1
    try:
        of = parse_type(spelled)
    except ValueError as error:
        raise statement.problem(start, str(error), last=statement.position - 1) from None
    if statement.shown().upper() == "NOT":
        raise statement.problem(
            statement.position,
            "every attribute may be absent, so there is no NOT NULL",
            hint="test for it in the subscriptions: attribute IS NOT NULL",
            last=statement.position + 1,
        )
    return of
