"""Policy files: CREATE POLICY statements.

CREATE POLICY FOR acme ON trades (symbol, price) WHERE symbol LIKE 'A%';
CREATE POLICY FOR DEFAULT ON trades (symbol);
"""

from __future__ import annotations

from typing import Any

from penstock.gen.errors import Place, Problem, QueryError
from penstock.gen.language.parse import parse_condition
from penstock.gen.language.source import Source
from penstock.gen.language.statement import Statement, statements_of
from penstock.gen.policy import Policy, Rule

POLICY_FORM = (
    "CREATE POLICY FOR owner, ... ON stream [(attribute, ...)] [WHERE condition], "
    "with FOR DEFAULT for all other owners"
)


def parse_policy(text: str, name: str = "<policy>") -> Policy:
    """The policy that a text of CREATE POLICY statements says; ``name`` is how errors call it."""
    source = Source(name, text)
    problems: list[Problem] = []
    rules: list[Rule] = []
    seen: dict[tuple[str | None, str], Place] = {}
    for statement in statements_of(source):
        try:
            rules.append(_rule(statement, seen))
        except QueryError as error:
            problems.extend(error.problems)
    if problems:
        raise QueryError(problems)
    return Policy(source, tuple(rules))


def _rule(statement: Statement, seen: dict[tuple[str | None, str], Place]) -> Rule:
    statement.expect("CREATE", POLICY_FORM)
    if statement.shown().upper() in ("STREAM", "SUBSCRIPTION"):
        hint = "streams and subscriptions stand in a query file, policies in one of their own"
        raise statement.problem(
            statement.position, f"{statement.shown()!r} cannot stand here", hint
        )
    statement.expect("POLICY", POLICY_FORM)
    statement.expect("FOR", POLICY_FORM)
    owners = _owners(statement)
    statement.expect("ON", POLICY_FORM)
    stream = statement.name("a stream", POLICY_FORM)
    attributes = _attributes(statement) if statement.accept("(") else None
    row_filter = _row_filter(statement) if statement.accept("WHERE") else None
    if row_filter is None:
        statement.finish(POLICY_FORM)
    for owner, place in owners:
        first = seen.setdefault((owner, stream.lower()), place)
        if first is not place:
            whose = "DEFAULT" if owner is None else f"owner {owner!r}"
            message = f"{whose} has a policy on stream {stream!r} already"
            raise QueryError(Problem(message, place, f"the first one is at {first}"))
    return Rule(tuple(owner for owner, _ in owners), stream, attributes, row_filter)


def _owners(statement: Statement) -> list[tuple[str | None, Place]]:
    """Names with their places; DEFAULT, which is an owner only in quotes, as ``None``."""
    owners: list[tuple[str | None, Place]] = []
    while True:
        place = statement.place(statement.position)
        is_default = statement.accept("DEFAULT")
        owner = None if is_default else statement.name("an owner's name or DEFAULT", POLICY_FORM)
        owners.append((owner, place))
        if not statement.accept(","):
            return owners


def _attributes(statement: Statement) -> tuple[tuple[str, Place], ...]:
    """The names in brackets, the first of which has been read."""
    names: list[tuple[str, Place]] = []
    while True:
        place = statement.place(statement.position)
        names.append((statement.name("an attribute's name", POLICY_FORM), place))
        if statement.accept(")"):
            return tuple(names)
        if not statement.accept(","):
            raise statement.unexpected("',' or ')'", POLICY_FORM)


def _row_filter(statement: Statement) -> Any:
    if not statement.rest:
        message = "a condition is missing after WHERE"
        raise statement.problem(statement.position, message, hint="leave out WHERE for all rows")
    return parse_condition(statement.source, statement.rest)
