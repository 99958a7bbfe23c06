"""The global plan: every predicate of a query set once, gates over them, and where all of it goes.

A plan is an immutable graph. Passes (`penstock.gen.passes`) make it from a query set step by
step; it is then lowered to a circuit and described to the host by a manifest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from penstock.gen.normal import Normal, Pair, Test
from penstock.gen.schema import Attribute, Schema
from penstock.gen.scores import NOTHING, Score
from penstock.gen.types import Key, Type

ENCODERS = ("host", "device")
"""Who can be asked to make codes."""
CHUNK_BITS = 32
"""Match bits that leave the circuit together."""
FACTOR_BITS = 16
"""Of an attribute's weight in an event, where the circuit multiplies with it."""
MOST_BEST = 256
"""The largest k of a circuit: each of the k best takes registers and a comparison."""


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
    what comes through, and ``reason`` says why. Without a ``root`` the device has no part in it:
    the host tests every event.
    """

    id: str
    root: int | None
    residual: Normal | None = None
    reason: str = ""
    score: Score = NOTHING


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


@dataclass(frozen=True, slots=True)
class TableRegion:
    """A tile of memories behind the others, for subscriptions that are written at run time.

    Each of its attributes has a code in every event, after those of `Plan.fields`. What the codes
    mean is up to the host, and so are its match bits.
    """

    attributes: tuple[Attribute, ...]
    code_bits: tuple[int, ...]
    """Width of each attribute's code."""
    capacity: int
    """Match bits."""
    first_chunk: int
    base: int
    """The first address of its configuration words."""

    @staticmethod
    def after(
        chunk_count: int,
        attributes: tuple[Attribute, ...],
        code_bits: tuple[int, ...],
        capacity: int,
    ) -> TableRegion:
        """The region that follows so many chunks, whose addresses are their numbers."""
        made = TableRegion(attributes, code_bits, capacity, first_chunk=0, base=0)
        chunk_step, address_step = 1 << made._chunk_index_bits, made.address_count
        return replace(
            made,
            first_chunk=-(-chunk_count // chunk_step) * chunk_step,
            base=-(-chunk_count // address_step) * address_step,
        )

    @property
    def chunk_count(self) -> int:
        return -(-self.capacity // CHUNK_BITS)

    @property
    def address_count(self) -> int:
        """A power of two, of which the base is a multiple."""
        return 1 << (
            len(self.attributes).bit_length() + max(self.code_bits) + self._chunk_index_bits
        )

    def valid_address(self, chunk: int) -> int:
        """Where the valid bits of one of the region's own chunks are written."""
        return self._address(0, 0, chunk)

    def row_address(self, number: int, code: int, chunk: int) -> int:
        """Where one chunk of the row for a code of an attribute is written."""
        return self._address(1 + number, code, chunk)

    @property
    def _chunk_index_bits(self) -> int:
        return (self.chunk_count - 1).bit_length()

    def _address(self, table: int, code: int, chunk: int) -> int:
        row = table << max(self.code_bits) | code
        return self.base + (row << self._chunk_index_bits | chunk)


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the circuit ranks: the ``k`` best of some subscriptions, by scores it works out."""

    k: int
    entries: tuple[int, ...]
    """In order of id. The circuit knows each by its place here; without any it ranks nothing."""
    attributes: tuple[Attribute, ...]
    """Those by whose weights it ranks, in the order of the schema."""
    base: int
    """The first address of its configuration words: whether it ranks, then a weight each."""

    @property
    def address_count(self) -> int:
        return 1 + max(1, len(self.attributes))

    def weight_address(self, number: int) -> int:
        """Where the weight of one of the attributes is written."""
        return self.base + 1 + number


@dataclass(frozen=True)
class Plan:
    """What runs where. ``nodes`` are in an order in which each comes after its inputs."""

    schema: Schema
    nodes: tuple[Node, ...]
    entries: tuple[Entry, ...]
    fields: tuple[Field, ...] = ()
    tiles: tuple[PlanTile, ...] = ()
    chunk_count: int = 0
    table: TableRegion | None = None
    ranking: Ranking | None = None

    @property
    def address_count(self) -> int:
        """How many addresses there are for configuration words."""
        if self.ranking and self.ranking.entries:
            return self.ranking.base + self.ranking.address_count
        return self.table.base + self.table.address_count if self.table else self.chunk_count

    def root(self, entry: int) -> int:
        """The node of an entry that is on the device."""
        root = self.entries[entry].root
        assert root is not None, f"{self.entries[entry].id!r} is on the host alone"
        return root

    @property
    def predicates(self) -> tuple[Test | Pair, ...]:
        return tuple(node for node in self.nodes if not isinstance(node, Gate))
