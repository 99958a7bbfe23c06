"""Predicates as arrays: operators, operands and how often each one holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.sim.workload.draw import Floats, Integers, draw_distinct
from penstock.sim.workload.spec import OPERATORS, WorkloadSpec

LT, LE, EQ, NE, GE, GT, IN, NOT_IN, BETWEEN = range(len(OPERATORS))
LISTS = (IN, NOT_IN)


@dataclass(frozen=True)
class Draws:
    """What chance decides about predicates, before anything is widened or narrowed."""

    operators: npt.NDArray[np.int8]
    first: Floats
    second: Floats
    lists: dict[int, Integers]
    """Per list operator: one sorted row of values for each predicate that has it."""


@dataclass(frozen=True)
class Operands:
    """First operand of each predicate, second of each BETWEEN, and the lists."""

    first: Integers
    second: Integers
    lists: dict[int, Integers]


def draw_predicates(rng: np.random.Generator, spec: WorkloadSpec, count: int) -> Draws:
    """Operators by their weights, and the chances from which operands will follow."""
    weights = np.cumsum(spec.operator_weights)
    last = int(np.flatnonzero(spec.operator_weights)[-1])
    picked = np.searchsorted(weights, rng.random(count) * weights[-1], side="right")
    operators = np.minimum(picked, last).astype(np.int8)
    first, second = rng.random(count), rng.random(count)
    lists = {code: _draw_lists(rng, spec, code, operators) for code in LISTS}
    return Draws(operators, first, second, lists)


def list_length(spec: WorkloadSpec, code: int) -> int:
    """Values per list. NOT IN must leave a value over, IN cannot hold more than there are."""
    most = spec.cardinality if code == IN else max(1, spec.cardinality - 1)
    return min(spec.in_length, most)


def _draw_lists(
    rng: np.random.Generator, spec: WorkloadSpec, code: int, operators: npt.NDArray[np.int8]
) -> Integers:
    rows = int(np.count_nonzero(operators == code))
    lists = draw_distinct(rng, spec.value_draw, rows, list_length(spec, code))
    # Excluding the only value there is could never hold.
    return np.sort(lists, axis=1) + (code == NOT_IN and spec.cardinality == 1)


def operands(spec: WorkloadSpec, draws: Draws, sharpness: float) -> Operands:
    """The operands. A range holds for a share ``chance ** sharpness`` of the values:

    1 takes operands as they are drawn, less widens ranges and more narrows them. ``=``,
    ``<>`` and the lists have no width to change. Every predicate holds for some value.
    """
    code, values = draws.operators, spec.value_draw
    lowest, highest = 0, spec.cardinality - 1
    point = (code == EQ) | (code == NE)
    share = np.where(point, draws.first, _sharpen(draws.first, sharpness))
    share = np.where((code == GE) | (code == GT), 1 - share, share)
    between = code == BETWEEN
    start, stop = _interval(draws.first[between], draws.second[between], sharpness)
    share[between] = start
    first = values.quantile(share)
    first = np.where(code == LT, np.maximum(first, lowest + 1), first)
    first = np.where(code == GT, np.minimum(first, highest - 1), first)
    if spec.cardinality == 1:
        first = np.where(code == NE, 1, first)
    second = np.maximum(values.quantile(stop), first[between])
    return Operands(first, second, draws.lists)


def _sharpen(chance: Floats, sharpness: float) -> Floats:
    # Powers may differ in the last bit between machines, so they are not taken needlessly.
    return chance if sharpness == 1 else np.asarray(chance**sharpness)


def _interval(one: Floats, other: Floats, sharpness: float) -> tuple[Floats, Floats]:
    """Two chances as an interval; its place in the room that is left stays the same."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    if sharpness == 1:
        return low, high
    width = high - low
    wanted = _sharpen(width, sharpness)
    start = low / np.maximum(1 - width, 1e-12) * (1 - wanted)
    return start, np.minimum(start + wanted, 1.0)


def selectivity(spec: WorkloadSpec, draws: Draws, with_operands: Operands) -> Floats:
    """The chance that each predicate holds for a value of the spec's distribution."""
    code, values = draws.operators, spec.value_draw
    first, second = with_operands.first, with_operands.second
    upto, below = values.cdf(first), values.cdf(first - 1)
    chances = np.select(
        [code == LT, code == LE, code == EQ, code == NE, code == GE, code == GT],
        [below, upto, upto - below, 1 - (upto - below), 1 - below, 1 - upto],
    )
    between = code == BETWEEN
    chances[between] = values.cdf(second) - below[between]
    for which, lists in with_operands.lists.items():
        held = values.mass(lists).sum(axis=1)
        chances[code == which] = held if which == IN else 1 - held
    return chances
