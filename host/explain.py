"""Why an event did or did not match a subscription, predicate by predicate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.gen.expr import (
    Always,
    And,
    Comparison,
    Expression,
    Not,
    Or,
    Predicate,
    Subscription,
)
from penstock.gen.normal import holds, make_event
from penstock.gen.normalise import normalise
from penstock.gen.queryset import QuerySet
from penstock.gen.render import name, show, sql
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import Value
from penstock.host.events import Batch, rows_of, to_table

MARKS = {True: "✓", False: "✗", None: "?"}
WORDS = {True: "holds", False: "does not hold", None: "unknown"}
REASONS_AT = 50
"""The column in which the reasons stand; below a condition that reaches beyond it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One condition of a subscription, what it came to, and the values it looked at."""

    text: str
    verdict: bool | None
    values: str = ""
    children: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The verdict on one event and subscription; print it to read it."""

    id: str
    event: int
    matched: bool
    condition: Step

    def __str__(self) -> str:
        headline = (
            f"{self.id}: event {self.event} {'matches' if self.matched else 'does not match'}"
        )
        return "\n".join([headline, *_lines(self.condition, 1)])


def explain(queries: QuerySet, events: Any, *, index: int, id: str) -> Explanation:
    """Why the event at ``index`` does or does not match subscription ``id``."""
    schema = queries.schema
    table = to_table(events, schema)
    if not 0 <= index < table.num_rows:
        raise IndexError(f"there is no event {index}; there are {table.num_rows}, from 0 on")
    (event,) = rows_of(Batch.of(table.slice(index, 1), schema, first=index).wide(), schema)
    step = _policed(queries[id], event, schema)
    return Explanation(id, index, step.verdict is True, step)


def _policed(subscription: Subscription, event: Mapping[int, Value], schema: Schema) -> Step:
    """The condition, with the row filter of a policy told apart from what the owner wrote."""
    row_filter = subscription.row_filter
    if row_filter is None:
        return _step(subscription.condition, event, schema)
    inner = _step(row_filter, event, schema)
    of_policy = Step(f"policy of {subscription.owner!r}", inner.verdict, children=(inner,))
    own = _step(subscription.own, event, schema)
    return Step("AND", _verdict(subscription.condition, event, schema), children=(of_policy, own))


def _step(node: Expression, event: Mapping[int, Value], schema: Schema) -> Step:
    verdict = _verdict(node, event, schema)
    match node:
        case And(children) | Or(children):
            word = "AND" if isinstance(node, And) else "OR"
            return Step(word, verdict, children=tuple(_step(c, event, schema) for c in children))
        case Not(child=And() | Or() | Not() as child):
            return Step("NOT", verdict, children=(_step(child, event, schema),))
        case Always() | Not(child=Always()):
            return Step(sql(node), verdict)
    leaf = node.child if isinstance(node, Not) else node
    assert not isinstance(leaf, Always | And | Or | Not)
    return Step(sql(node), verdict, _values(leaf, event))


def _verdict(node: Expression, event: Mapping[int, Value], schema: Schema) -> bool | None:
    made = make_event(event, schema.attributes)
    if holds(normalise(node), made):
        return True
    return False if holds(normalise(Not(node)), made) else None


def _values(leaf: Predicate, event: Mapping[int, Value]) -> str:
    sides = (leaf.left, leaf.right) if isinstance(leaf, Comparison) else (leaf.operand,)
    attributes = dict.fromkeys(side for side in sides if isinstance(side, Attribute))
    return ", ".join(
        f"{name(a)} = {show(event[a.index], a.type)}"
        if a.index in event
        else f"{name(a)} is absent"
        for a in attributes
    )


def _lines(step: Step, depth: int) -> list[str]:
    text = f"{'  ' * depth}{MARKS[step.verdict]} {step.text}"
    reason = f"{WORDS[step.verdict]}: {step.values}" if step.values else WORDS[step.verdict]
    gap = f"\n{'':<{REASONS_AT}}" if len(text) > REASONS_AT else ""
    lines = [f"{text:<{REASONS_AT}}{gap}  {reason}"]
    for child in step.children:
        lines += _lines(child, depth + 1)
    return lines
