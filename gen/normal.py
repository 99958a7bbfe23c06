"""The normal form: two-valued, without NOT, one set of values per attribute and conjunction.

Three-valued logic ends here: a leaf of the normal form either holds or does not. On an
absent attribute only a set with ``null`` holds, and a pair compared with ``<=>``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from penstock.gen.casting import cast
from penstock.gen.schema import Attribute
from penstock.gen.types import Key, Type, Value
from penstock.gen.values import ValueSet


@dataclass(frozen=True, slots=True)
class Test:
    """The attribute's value, or its absence, belongs to the set."""

    attribute: Attribute
    values: ValueSet
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """``left op right`` on two attributes; op is ``= <> < <= > >= <=>`` or ``NOT <=>``."""

    left: Attribute
    op: str
    right: Attribute
    common: Type
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """The string is present and matches a LIKE pattern, or with ``negated`` does not."""

    attribute: Attribute
    pattern: str
    escape: str
    negated: bool
    weight: int = 0


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every child holds; with no children, always."""

    children: tuple[Normal, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one child holds; with no children, never."""

    children: tuple[Normal, ...]


Leaf: TypeAlias = Test | Pair | Pattern
Normal: TypeAlias = Leaf | AllOf | AnyOf

TRUE = AllOf(())
FALSE = AnyOf(())


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A disjunct: at most one test per attribute, in the order of the schema, and the rest."""

    tests: tuple[Test, ...]
    others: tuple[Pair | Pattern, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (*self.tests, *self.others)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: by attribute index the values that are present, and their keys."""

    values: Mapping[int, Value]
    keys: Mapping[int, Key]


def make_event(values: Mapping[int, Value], attributes: tuple[Attribute, ...]) -> Event:
    """An event from values by attribute index; what is absent is left out."""
    return Event(values, {i: attributes[i].type.key(value) for i, value in values.items()})


def holds(node: Normal, event: Event) -> bool:
    """Whether the event satisfies the node."""
    match node:
        case Test(attribute, values):
            return values.has(event.keys.get(attribute.index))
        case Pattern(attribute, pattern, escape, negated):
            text = event.values.get(attribute.index)
            return text is not None and like(str(text), pattern, escape) != negated
        case Pair():
            return _pair_holds(node, event)
        case AllOf(children):
            return all(holds(child, event) for child in children)
        case AnyOf(children):
            return any(holds(child, event) for child in children)


def leaves_of(node: Normal) -> tuple[Leaf, ...]:
    """The leaves of a node, from left to right."""
    if isinstance(node, AllOf | AnyOf):
        return tuple(leaf for child in node.children for leaf in leaves_of(child))
    return (node,)


def is_weighted(node: Normal) -> bool:
    """Whether any leaf adds to the score."""
    return any(leaf.weight for leaf in leaves_of(node))


def attributes_of(leaf: Leaf) -> tuple[Attribute, ...]:
    """The one or two attributes that a leaf looks at."""
    return (leaf.left, leaf.right) if isinstance(leaf, Pair) else (leaf.attribute,)


def like(text: str, pattern: str, escape: str) -> bool:
    """SQL's LIKE on one text."""
    return like_regex(pattern, escape).fullmatch(text) is not None


@lru_cache(maxsize=4096)
def like_regex(pattern: str, escape: str) -> re.Pattern[str]:
    """A LIKE pattern as a regular expression for the whole text."""
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character, re.escape(character)))
    return re.compile("".join(parts), re.DOTALL)


def _pair_holds(pair: Pair, event: Event) -> bool:
    left = event.values.get(pair.left.index)
    right = event.values.get(pair.right.index)
    if left is None or right is None:
        both_absent = left is None and right is None
        return {"<=>": both_absent, "NOT <=>": not both_absent}.get(pair.op, False)
    first = pair.common.key(cast(left, pair.left.type, pair.common))
    second = pair.common.key(cast(right, pair.right.type, pair.common))
    return compare_keys(pair.op, first, second)


def compare_keys(op: str, left: Key, right: Key) -> bool:
    """Whether ``left op right`` holds for two keys of one type."""
    match op:
        case "=" | "<=>":
            return left == right
        case "<>" | "NOT <=>":
            return left != right
        case "<":
            return left < right
        case "<=":
            return not left > right
        case ">":
            return left > right
        case ">=":
            return not left < right
    raise AssertionError(f"no such comparison: {op}")
