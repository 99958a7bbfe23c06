"""Boolean functions of codes: the parameter object of networks and tiles.

A code is a small unsigned number. A function is built from ranges of codes, from enable bits
that can be changed while events flow, and from AND and OR. Values are named by *literals*: node
``n`` is ``2 * n``, its negation ``2 * n + 1``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class InRange:
    """``low <= codes[field] < high``; a ``high`` of ``None`` leaves that end open."""

    field: int
    low: int
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Enabled:
    """The enable bit of an output."""

    output: int


@dataclass(frozen=True, slots=True)
class Gate:
    """AND, or with ``is_or`` OR, of literals of earlier nodes."""

    inputs: tuple[int, ...]
    is_or: bool = False


Node: TypeAlias = InRange | Enabled | Gate


@dataclass(frozen=True, slots=True)
class Logic:
    """Nodes in an order in which each comes after its inputs; outputs are literals."""

    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        for index, node in enumerate(self.nodes):
            if isinstance(node, Gate):
                if not node.inputs:
                    raise ValueError(f"node {index} is a gate without inputs")
                if max(node.inputs) >= 2 * index or min(node.inputs) < 0:
                    raise ValueError(f"node {index} takes {node.inputs}, which must come before it")
            elif isinstance(node, InRange):
                if not 0 <= node.low < (math.inf if node.high is None else node.high):
                    raise ValueError(f"node {index} is an empty range: {node}")
            elif not 0 <= node.output < len(self.outputs):
                raise ValueError(f"node {index} is enabled by output {node.output}, which is none")
        for literal in self.outputs:
            if not 0 <= literal < 2 * len(self.nodes):
                raise ValueError(f"output {literal} is no literal of {len(self.nodes)} nodes")

    def compute(self, codes: Sequence[int], enabled: Sequence[bool]) -> tuple[bool, ...]:
        """What each output is for one set of codes and enable bits."""
        known: list[bool] = []
        for node in self.nodes:
            match node:
                case InRange(field, low, high):
                    known.append(low <= codes[field] and (high is None or codes[field] < high))
                case Enabled(output):
                    known.append(enabled[output])
                case Gate(inputs, is_or):
                    values = (known[literal >> 1] != bool(literal & 1) for literal in inputs)
                    known.append(any(values) if is_or else all(values))
        return tuple(known[literal >> 1] != bool(literal & 1) for literal in self.outputs)

    def levels(self) -> tuple[int, ...]:
        """How many gates deep each node is; what gates start from is 0."""
        depths: list[int] = []
        for node in self.nodes:
            inputs = node.inputs if isinstance(node, Gate) else None
            depths.append(
                0 if inputs is None else 1 + max(depths[literal >> 1] for literal in inputs)
            )
        return tuple(depths)

    def used(self) -> Iterator[Node]:
        """The inputs of all gates and the outputs, each as often as it is used."""
        for node in self.nodes:
            for literal in node.inputs if isinstance(node, Gate) else ():
                yield self.nodes[literal >> 1]
        for literal in self.outputs:
            yield self.nodes[literal >> 1]

    @property
    def stages(self) -> int:
        """Pipeline stages of one gate each that the outputs need; at least one."""
        return max(1, *self.levels()) if self.nodes else 1

    def require_stages(self, stages: int) -> None:
        """ValueError if the outputs need more stages."""
        if stages < self.stages:
            raise ValueError(f"the logic needs {self.stages} stages, not {stages}")
