"""Typed expressions: what a subscription's text says, bound to a schema.

Nodes are immutable values. They mean what Spark SQL means by the text they came from, in
three-valued logic; `penstock.sim.oracle` is that meaning as code. A comparison first casts
both sides to ``common``, the type Spark would choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from penstock.gen.errors import Place
from penstock.gen.schema import Attribute
from penstock.gen.types import Type, Value

MAX_WEIGHT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Constant:
    """A typed value known before any event comes; ``None`` is NULL."""

    type: Type
    value: Value | None


Operand: TypeAlias = Attribute | Constant


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left op right``, where op is ``= <> < <= > >= <=>``."""

    op: str
    left: Operand
    right: Operand
    common: Type
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Between:
    """``low <= operand AND operand <= high``, each half with its own common type."""

    operand: Attribute
    low: Constant
    high: Constant
    low_common: Type
    high_common: Type
    weight: int = 0


@dataclass(frozen=True, slots=True)
class InList:
    """``operand IN (options)``; a NULL among the options makes a miss unknown."""

    operand: Operand
    options: tuple[Constant, ...]
    common: Type
    weight: int = 0


@dataclass(frozen=True, slots=True)
class IsNull:
    """``operand IS NULL``: never unknown."""

    operand: Operand
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Like:
    """``operand LIKE pattern``: ``%`` is any text, ``_`` one character, after ``escape`` itself."""

    operand: Operand
    pattern: str
    escape: str = "\\"
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Always:
    """A condition that no event changes: TRUE, FALSE or, as ``None``, NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class And:
    """All children hold."""

    children: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one child holds."""

    children: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The child is false; unknown stays unknown."""

    child: Expression


Predicate: TypeAlias = Comparison | Between | InList | IsNull | Like
Expression: TypeAlias = Predicate | Always | And | Or | Not


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing query: its id, its base score, when it matches, whose it is and until when."""

    id: str
    condition: Expression
    weight: int = 0
    place: Place | None = field(default=None, compare=False)
    """Where its text stands, for warnings."""
    owner: str = ""
    """Whose it is; empty for nobody's."""
    expires: datetime | None = None
    """From when on it matches nothing, in UTC."""
    row_filter: Expression | None = None
    """What a policy put before the owner's own condition: ``condition`` is the AND of the two."""

    @property
    def own(self) -> Expression:
        """The condition as its owner wrote it."""
        if self.row_filter is None:
            return self.condition
        assert isinstance(self.condition, And), "a row filter is one side of an AND"
        return self.condition.children[1]


def leaves_of(expression: Expression) -> Iterator[Predicate]:
    """The predicates of an expression, from left to right."""
    match expression:
        case And(children) | Or(children):
            for child in children:
                yield from leaves_of(child)
        case Not(child):
            yield from leaves_of(child)
        case Comparison() | Between() | InList() | IsNull() | Like():
            yield expression


def attributes_of(predicate: Predicate) -> tuple[Attribute, ...]:
    """The attributes that a predicate looks at, at most two."""
    sides: tuple[Operand, ...] = (
        (predicate.left, predicate.right)
        if isinstance(predicate, Comparison)
        else (predicate.operand,)
    )
    return tuple(side for side in sides if isinstance(side, Attribute))
