"""Many small Boolean functions as few operations on wide vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import and_, or_

from amaranth import Cat, Const, Signal, Value

OPERATIONS = {"&": and_, "|": or_}


@dataclass(frozen=True, slots=True)
class Formula:
    """A function of bits that are named by numbers.

    ``shape`` is the function in postfix notation, ``x`` for each of ``bits`` in turn. Formulas
    of one shape are the same function of different bits.

        (a | b) & ~c   ->   shape "x~xx|&", bits (c, a, b)
    """

    shape: str
    bits: tuple[int, ...]

    def __and__(self, other: Formula) -> Formula:
        return joined((self, other), "&")

    def __or__(self, other: Formula) -> Formula:
        return joined((self, other), "|")

    def __invert__(self) -> Formula:
        return Formula(self.shape + "~", self.bits)


def bit(number: int) -> Formula:
    """The bit itself."""
    return Formula("x", (number,))


ALWAYS = Formula("1", ())


def joined(formulas: Iterable[Formula], operation: str) -> Formula:
    """All of some formulas (``&``) or any (``|``), in an order that makes shapes alike."""
    parts = sorted(formulas, key=lambda formula: formula.shape)
    shape = "".join(part.shape for part in parts) + operation * (len(parts) - 1)
    return Formula(shape, tuple(number for part in parts for number in part.bits))


def by_shape(formulas: Sequence[Formula]) -> dict[str, list[int]]:
    """The positions of the formulas of each shape."""
    groups: dict[str, list[int]] = {}
    for position, formula in enumerate(formulas):
        groups.setdefault(formula.shape, []).append(position)
    return groups


def side_by_side(formulas: Sequence[Formula], vector: Signal) -> Value:
    """A bit per formula, all formulas of the same shape, over the bits of a vector."""
    shape = formulas[0].shape
    operands = iter(zip(*(formula.bits for formula in formulas), strict=True))
    stack: list[Value] = []
    for step in shape:
        if step == "x":
            stack.append(picked(vector, next(operands)))
        elif step == "1":
            stack.append(Const(2 ** len(formulas) - 1, len(formulas)))
        elif step == "~":
            stack.append(~stack.pop())
        else:
            right = stack.pop()
            stack.append(OPERATIONS[step](stack.pop(), right))
    (value,) = stack
    return value


def picked(vector: Signal, numbers: Sequence[int]) -> Value:
    """Some bits of a vector in a new order; neighbours that stay neighbours go together."""
    runs: list[slice] = []
    for number in numbers:
        if runs and runs[-1].stop == number:
            runs[-1] = slice(runs[-1].start, number + 1)
        else:
            runs.append(slice(number, number + 1))
    return Cat(*(vector[run] for run in runs))
