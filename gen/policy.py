"""Who may subscribe to what: streams, attributes, and the rows that each owner sees.

A policy is read without knowing any schema. Bound to that of a stream it says whether a
subscription is allowed, and puts the owner's row filter before its condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from penstock.gen.errors import Place, Problem, QueryError, listed, nearest
from penstock.gen.expr import And, Expression, Subscription, attributes_of, leaves_of
from penstock.gen.language.bind import bind
from penstock.gen.language.source import Source
from penstock.gen.schema import Attribute, Schema


@dataclass(frozen=True, slots=True)
class Rule:
    """One CREATE POLICY statement."""

    owners: tuple[str | None, ...]
    """Whom it is for; ``None`` is DEFAULT: those that no rule names."""
    stream: str
    attributes: tuple[tuple[str, Place], ...] | None
    """The names that may be used, and where they stand; ``None`` for all."""
    row_filter: Any | None
    """The syntax tree of the condition after WHERE."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What an owner may do on one stream."""

    attributes: frozenset[int]
    """By their index in the schema."""
    row_filter: Expression | None


@dataclass(frozen=True)
class Policy:
    """The rules of a policy file, over any streams; ``source`` has its text."""

    source: Source
    rules: tuple[Rule, ...]

    def bind(self, schema: Schema) -> StreamPolicy:
        """What the rules say of the schema's stream; QueryError if they do not fit it."""
        problems: list[Problem] = []
        grants: dict[str | None, Grant] = {}
        for rule in self.rules:
            if rule.stream.lower() == schema.stream.lower():
                try:
                    grants |= dict.fromkeys(rule.owners, _grant(rule, schema, self.source))
                except QueryError as error:
                    problems.extend(error.problems)
        if problems:
            raise QueryError(problems)
        streams: dict[str, tuple[str, ...]] = {}
        for rule in self.rules:
            for owner in rule.owners:
                if owner is not None:
                    streams[owner] = (*streams.get(owner, ()), rule.stream)
        return StreamPolicy(schema, grants, streams)

    def __repr__(self) -> str:
        return f"Policy({self.source.name}: {len(self.rules)} rules)"


@dataclass(frozen=True)
class StreamPolicy:
    """A policy bound to the schema of one stream."""

    schema: Schema
    grants: Mapping[str | None, Grant]
    """By owner; ``None`` is for those that no rule names."""
    streams: Mapping[str, tuple[str, ...]]
    """The streams on which rules name an owner: of the others it gets nothing by DEFAULT."""

    def grant(self, owner: str) -> Grant | None:
        """What the owner may do, or ``None`` if it may not subscribe at all."""
        if not owner:
            return None
        return self.grants.get(owner if owner in self.streams else None)

    def about_owner(self, owner: str) -> Problem | None:
        """Why the owner may not subscribe to the stream, unless it may."""
        if self.grant(owner) is not None:
            return None
        if not owner:
            hint = "write OWNER name before WHERE; in a table, fill the column owner"
            return Problem("under a policy every subscription needs an owner", hint=hint)
        if owner in self.streams:
            hint = f"the policy lets it subscribe to: {listed(self.streams[owner])}"
        else:
            hint = f"no policy names it, nor is there a default; {nearest(owner, self.streams)}"
        stream = self.schema.stream
        return Problem(f"owner {owner!r} may not subscribe to stream {stream!r}", hint=hint)

    def about_attribute(self, owner: str, attribute: Attribute) -> Problem | None:
        """Why the owner, which may subscribe, may not use the attribute, unless it may."""
        grant = self.grant(owner)
        assert grant is not None, f"{owner!r} may not subscribe"
        if attribute.index in grant.attributes:
            return None
        names = [a.name for a in self.schema if a.index in grant.attributes]
        return Problem(
            f"owner {owner!r} may not use attribute {attribute.name!r} "
            f"of stream {self.schema.stream!r}",
            hint=f"it may use: {listed(names)}",
        )

    def filtered(self, subscription: Subscription) -> Subscription:
        """The subscription with its owner's row filter; QueryError if it is not allowed."""
        owner, own = subscription.owner, subscription.own
        grant = self.grant(owner)
        used = dict.fromkeys(a for leaf in leaves_of(own) for a in attributes_of(leaf))
        refused = (
            [self.about_owner(owner)]
            if grant is None
            else [self.about_attribute(owner, attribute) for attribute in used]
        )
        problems = [
            replace(problem, place=subscription.place, subscription=subscription.id)
            for problem in refused
            if problem
        ]
        if grant is None or problems:
            raise QueryError(problems)
        row_filter = grant.row_filter
        condition = own if row_filter is None else And((row_filter, own))
        return replace(subscription, condition=condition, row_filter=row_filter)


def _grant(rule: Rule, schema: Schema, source: Source) -> Grant:
    problems = []
    attributes = set(range(len(schema)) if rule.attributes is None else ())
    for name, place in rule.attributes or ():
        attribute = schema.find(name)
        if attribute is None:
            message = f"unknown attribute {name!r} in stream {schema.stream!r}"
            problems.append(Problem(message, place, nearest(name, (a.name for a in schema))))
        else:
            attributes.add(attribute.index)
    row_filter = None
    try:
        if rule.row_filter is not None:
            row_filter = _row_filter(rule.row_filter, schema, source)
    except QueryError as error:
        problems.extend(error.problems)
    if problems:
        raise QueryError(problems)
    return Grant(frozenset(attributes), row_filter)


def _row_filter(tree: Any, schema: Schema, source: Source) -> Expression:
    bound = bind(tree, schema, source)
    weighted = next((c for c in tree.find_all(exp.Anonymous) if c.name.lower() == "weight"), None)
    if weighted is not None:
        message = "a row filter adds nothing to a score"
        raise source.problem_at(weighted, message, hint="leave out weight(), keep its predicate")
    return bound
