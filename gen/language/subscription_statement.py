"""CREATE SUBSCRIPTION cheap ON trades WEIGHT 5 OWNER acme WHERE price < 10."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.gen.errors import Problem, QueryError, place_at
from penstock.gen.expr import MAX_WEIGHT, Expression, Subscription
from penstock.gen.instants import parse_instant
from penstock.gen.language import literals
from penstock.gen.language.bind import bind
from penstock.gen.language.parse import parse_condition, tokens_of
from penstock.gen.language.source import Source
from penstock.gen.language.statement import Statement
from penstock.gen.policy import StreamPolicy
from penstock.gen.schema import Schema

SUBSCRIPTION_FORM = (
    "CREATE SUBSCRIPTION id ON stream [WEIGHT n] [OWNER name] [EXPIRES 'timestamp'] WHERE condition"
)


def parse_subscription(
    id: str,
    text: str,
    schema: Schema,
    name: str,
    weight: int = 0,
    *,
    owner: str = "",
    expires: datetime | None = None,
    policy: StreamPolicy | None = None,
) -> Subscription:
    """A subscription from its condition's text; ``name`` is how errors call the text.

    What the policy forbids is refused, but its row filter is yet to be put before the condition.
    """
    source = Source(name, text)
    place = place_at(name, text, 0, len(text))
    refused = policy and policy.about_owner(owner)
    if refused:
        raise QueryError(replace(refused, place=place))
    condition = _condition(source, tokens_of(source), schema, owner, policy)
    return Subscription(id, condition, weight, place, owner, expires)


def read_subscription(
    statement: Statement, id: str, schema: Schema, policy: StreamPolicy | None
) -> Subscription:
    """The subscription of a statement that has been read up to its stream."""
    stream_at = statement.position - 1
    clauses = _clauses(statement)
    owner = clauses.get("owner", "")
    refused = policy and policy.about_owner(owner)
    if refused:
        raise QueryError(replace(refused, place=statement.place(stream_at)))
    statement.expect("WHERE", SUBSCRIPTION_FORM)
    if not statement.rest:
        message = "a condition is missing after WHERE"
        raise statement.problem(statement.position, message, hint="write WHERE TRUE")
    condition = _condition(statement.source, statement.rest, schema, owner, policy)
    return Subscription(id, condition, **clauses)


def _condition(
    source: Source, tokens: list[Token], schema: Schema, owner: str, policy: StreamPolicy | None
) -> Expression:
    tree = parse_condition(source, tokens)
    condition = bind(tree, schema, source)
    if policy is not None:
        _check_names(tree, source, owner, policy)
    return condition


def _check_names(tree: Any, source: Source, owner: str, policy: StreamPolicy) -> None:
    """Refuse the attributes that are not the owner's to use, each where it first stands."""
    problems: dict[str, Problem] = {}
    for column in tree.find_all(exp.Column, bfs=False):
        attribute = policy.schema[column.name]
        refused = policy.about_attribute(owner, attribute)
        if refused:
            place = source.place(*source.span_of(column))
            problems.setdefault(attribute.name, replace(refused, place=place))
    if problems:
        raise QueryError(list(problems.values()))


def _clauses(statement: Statement) -> dict[str, Any]:
    """What stands between stream and WHERE, in any order, by the field that it fills."""
    found: dict[str, Any] = {}
    while (word := statement.shown().upper()) in _CLAUSES:
        if word.lower() in found:
            hint = f"write {SUBSCRIPTION_FORM}"
            raise statement.problem(statement.position, f"{word} is there twice", hint)
        statement.position += 1
        found[word.lower()] = _CLAUSES[word](statement)
    return found


def _weight(statement: Statement) -> int:
    text = statement.shown()
    if not text.isdecimal() or int(text) > MAX_WEIGHT:
        raise statement.problem(
            statement.position,
            f"a weight is a whole number from 0 to {MAX_WEIGHT}",
            last=statement.position + (text == "-"),
        )
    statement.position += 1
    return int(text)


def _owner(statement: Statement) -> str:
    return statement.name("the owner's name", "OWNER name, in quotes if it is not a plain word")


def _expires(statement: Statement) -> datetime:
    text = statement.shown()
    if not literals.QUOTED.match(text):
        wanted = "a timestamp in quotes"
        raise statement.unexpected(wanted, "EXPIRES '2026-03-02 14:30:00', in UTC or with a zone")
    try:
        expires = parse_instant(literals.string(text))
    except ValueError as error:
        raise statement.problem(statement.position, str(error)) from None
    statement.position += 1
    return expires


_CLAUSES: dict[str, Callable[[Statement], Any]] = {
    "WEIGHT": _weight,
    "OWNER": _owner,
    "EXPIRES": _expires,
}
