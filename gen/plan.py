"""The global plan: every predicate of a query set once, gates over them, and where all of it goes.

A plan is an immutable graph. Passes (`penstock.gen.passes`) make it from a query set step by
step; it is then lowered to a circuit and described to the host by a manifest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from penstock.gen.normal import Normal, Pair, Test
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import Key, Type

ENCODERS = ("host", "device")
"""Who can be asked to make codes."""
CHUNK_BITS = 32
"""Match bits that leave the circuit together."""


@dataclass(frozen=True, slots=True)
class Gate:
    """All, or with ``is_or`` any, of earlier nodes hold; without inputs always, or never."""

    inputs: tuple[int, ...]
    is_or: bool = False


Node: TypeAlias = Test | Pair | Gate


@dataclass(frozen=True, slots=True)
class Entry:
    """A subscription: the node that tells whether the device lets an event through.

    Where the device cannot decide, ``residual`` is the whole condition, for the host to test on
    what comes through, and ``reason`` says why.
    """

    id: str
    root: int
    residual: Normal | None = None
    reason: str = ""


class Source(StrEnum):
    """Where the code of a field is made; all but the first are circuits."""

    HOST = "host"
    RANK = "rank"
    DIRECT = "direct"
    COMPARE = "compare"


@dataclass(frozen=True)
class CodeField:
    """An attribute's value as a small number: which stretch between two cuts it lies in.

    ``codes[i]`` is the code of values with ``i`` cuts at or below them. Stretches that no
    predicate tells apart share a code. Code 0 is absence, and all that looks like absence.
    """

    attribute: Attribute
    cuts: tuple[Key, ...]
    codes: tuple[int, ...]
    source: Source = Source.HOST

    @property
    def name(self) -> str:
        return self.attribute.name

    @cached_property
    def highest(self) -> int:
        """The greatest code."""
        return max(self.codes)

    @property
    def width(self) -> int:
        return max(1, self.highest.bit_length())


@dataclass(frozen=True, slots=True)
class PairField:
    """How two attributes relate in a common type, as a code of `RELATIONS`."""

    left: Attribute
    right: Attribute
    common: Type
    source: Source = Source.HOST

    @property
    def name(self) -> str:
        return f"{self.left.name} : {self.right.name}"

    @property
    def highest(self) -> int:
        return len(RELATIONS) - 1

    @property
    def width(self) -> int:
        return self.highest.bit_length()


RELATIONS = ("one absent", "both absent", "<", "=", ">")
"""What the code of a pair of attributes stands for."""
RELATIONS_OF = {
    "<": ("<",),
    "<=": ("<", "="),
    "=": ("=",),
    ">=": ("=", ">"),
    ">": (">",),
    "<>": ("<", ">"),
    "<=>": ("both absent", "="),
    "NOT <=>": ("one absent", "<", ">"),
}

Field: TypeAlias = CodeField | PairField


@dataclass(frozen=True, slots=True)
class PlanTile:
    """Entries that share a tile, in the order of their match bits."""

    entries: tuple[int, ...]
    first_chunk: int


@dataclass(frozen=True)
class Plan:
    """What runs where. ``nodes`` are in an order in which each comes after its inputs."""

    schema: Schema
    nodes: tuple[Node, ...]
    entries: tuple[Entry, ...]
    fields: tuple[Field, ...] = ()
    tiles: tuple[PlanTile, ...] = ()
    chunk_count: int = 0

    @property
    def predicates(self) -> tuple[Test | Pair, ...]:
        return tuple(node for node in self.nodes if not isinstance(node, Gate))
