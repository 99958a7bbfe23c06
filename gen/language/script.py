"""Query files: CREATE STREAM and CREATE SUBSCRIPTION statements.

CREATE STREAM trades (symbol STRING, price DECIMAL(10,2));
CREATE SUBSCRIPTION cheap ON trades WEIGHT 5 WHERE price < 10;
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from penstock.gen.errors import Problem, QueryError, nearest
from penstock.gen.expr import Subscription
from penstock.gen.language.source import Source
from penstock.gen.language.statement import Statement, statements_of
from penstock.gen.language.stream_statement import SAME_NAME, STREAM_FORM, read_attributes
from penstock.gen.language.subscription_statement import (
    SUBSCRIPTION_FORM,
    parse_subscription,
    read_subscription,
)
from penstock.gen.policy import Policy, StreamPolicy
from penstock.gen.schema import Schema

__all__ = ["Script", "parse_schema", "parse_script", "parse_subscription"]

ID_FORM = f"{SUBSCRIPTION_FORM}, with quotes around an id that is not a plain word"


@dataclass(slots=True)
class Script:
    """What a query file declares; ``problems`` is everything wrong with it."""

    streams: dict[str, Schema] = field(default_factory=dict)
    subscriptions: dict[str, dict[str, Subscription]] = field(default_factory=dict)
    """By stream and id, as their owners wrote them: without row filters."""
    problems: list[Problem] = field(default_factory=list)
    policies: dict[str, StreamPolicy] = field(default_factory=dict)
    """By stream, if there is a policy."""
    broken: set[str] = field(default_factory=set)
    """Streams whose declaration is wrong, in lower case: what is said about them is not known."""


def parse_schema(text: str, name: str = "<schema>") -> Schema:
    """The schema of one CREATE STREAM statement."""
    script = parse_script(text, name)
    if script.problems:
        raise QueryError(script.problems)
    if len(script.streams) != 1 or any(script.subscriptions.values()):
        raise QueryError(Problem(f"{name}: one CREATE STREAM statement is expected here"))
    return next(iter(script.streams.values()))


def parse_script(text: str, name: str, policy: Policy | None = None) -> Script:
    """All statements of a query file. Problems, also with the policy, are collected, not raised."""
    script = Script()
    try:
        for statement in statements_of(Source(name, text)):
            try:
                _run(statement, script, policy)
            except QueryError as error:
                script.problems.extend(error.problems)
    except QueryError as error:  # not even tokens
        script.problems.extend(error.problems)
    return script


def _run(statement: Statement, script: Script, policy: Policy | None) -> None:
    form = f"{STREAM_FORM} or {SUBSCRIPTION_FORM}"
    statement.expect("CREATE", form)
    if statement.accept("STREAM"):
        _stream(statement, script, policy)
    elif statement.accept("SUBSCRIPTION"):
        _subscription(statement, script)
    elif statement.shown().upper() == "POLICY":
        hint = "policies stand in a file of their own, which is named beside the query file"
        raise statement.problem(statement.position, "'POLICY' cannot stand here", hint)
    else:
        raise statement.unexpected("STREAM or SUBSCRIPTION", form)


def _stream(statement: Statement, script: Script, policy: Policy | None) -> None:
    start = statement.position
    name = statement.name("the stream's name", STREAM_FORM)
    if name.lower() in (known.lower() for known in script.streams):
        raise statement.problem(start, f"stream {name!r} is declared twice", hint=SAME_NAME)
    script.broken.add(name.lower())
    schema = read_attributes(statement, name)
    if policy is not None:
        script.policies[name] = policy.bind(schema)
    script.broken.discard(name.lower())
    script.streams[name] = schema
    script.subscriptions[name] = {}


def _subscription(statement: Statement, script: Script) -> None:
    start = statement.position
    id = statement.name("the subscription's id", ID_FORM)
    try:
        statement.expect("ON", ID_FORM)
        stream_at = statement.position
        stream = statement.name("a stream", SUBSCRIPTION_FORM)
        if stream.lower() in script.broken:
            return
        schema = _known_stream(statement, stream, script, stream_at)
        declared = script.subscriptions[schema.stream]
        if id in declared:
            hint = f"the first one is at {declared[id].place}"
            raise statement.problem(start, "this id is declared twice", hint)
        made = read_subscription(statement, id, schema, script.policies.get(schema.stream))
        declared[id] = replace(made, place=statement.place(start))
    except QueryError as error:
        raise QueryError(
            [Problem(p.message, p.place, p.hint, subscription=id) for p in error.problems]
        ) from None


def _known_stream(statement: Statement, name: str, script: Script, at: int) -> Schema:
    for stream, schema in script.streams.items():
        if stream.lower() == name.lower():
            return schema
    hint = nearest(name, script.streams) if script.streams else f"declare it: {STREAM_FORM}"
    raise statement.problem(at, f"unknown stream {name!r}", hint=hint)
