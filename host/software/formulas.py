"""Conditions that no value leads to, evaluated for 512 events at a time.

A formula of AND and OR whose literals are on many fields, as ``a OR b AND c``, is one that every
event has to be held against. Here a literal is a row of bits, one for each of 512 events, made once
however many formulas have it, and AND and OR join rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.host.software.admission import admits
from penstock.host.software.bits import ONE, WORDS, and_row, copy_row, lowest_bit, or_row
from penstock.host.software.blocks import WIDTH, Words
from penstock.host.software.compiled import Scalar, compiled, inlined, loop
from penstock.host.software.cuts import Codes
from penstock.host.software.packed import Integers, Numbers, Packed, Programs, ranges

LITERAL, ALL, ANY = Programs.LITERAL, Programs.ALL, Programs.ANY
Kinds = npt.NDArray[np.uint8]


class Formulas(NamedTuple):
    """The conditions of the members of the first blocks, in postfix notation.

    Member ``i`` has the steps ``starts[i]`` up to ``starts[i + 1]``, a free place none.
    """

    tested: Codes
    """Different literals, in order of their fields."""
    pool: Codes
    starts: Integers
    kinds: Kinds
    values: Numbers
    """Of a literal its number, of AND and OR how many they join."""
    depth: int
    """Rows that wait to be joined, at most."""


def formulas_of(packed: Packed, members: Numbers) -> Formulas:
    """The formulas of some subscriptions that have programs; -1 is a free place."""
    programs = packed.programs
    numbers = members[members >= 0].astype(np.int64)
    by_number = np.full(len(packed), -1, np.int64)
    by_number[programs.owner] = np.arange(len(programs))
    chosen = by_number[numbers]
    own = packed.literals.columns[ranges(packed.starts[numbers], packed.starts[numbers + 1])]
    theirs = ranges(programs.starts[chosen], programs.starts[chosen + 1])
    rows = np.concatenate([own, programs.literals.columns[theirs]])
    tested, places = np.unique(rows, axis=0, return_inverse=True)
    lengths = np.zeros(len(members), np.int64)
    owned = packed.starts[numbers + 1] - packed.starts[numbers]
    steps = programs.step_starts[chosen + 1] - programs.step_starts[chosen]
    lengths[members >= 0] = owned + steps + (owned > 0)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    kinds, values = np.zeros(int(starts[-1]), np.uint8), np.zeros(int(starts[-1]), np.int32)
    numbered = places.reshape(-1).astype(np.int32)
    depth = _assemble(
        members, by_number, packed.starts, numbered, len(own), programs.starts,
        programs.step_starts, programs.step_kind, programs.step_value, starts, kinds, values,
    )  # fmt: skip
    return Formulas(tested, packed.pool, starts, kinds, values, int(depth))


@loop
def _assemble(
    members: Numbers, programs: Integers, own_starts: Integers, places: Numbers, theirs: Scalar,
    program_starts: Integers, step_starts: Integers, step_kind: Kinds, step_value: Numbers,
    starts: Integers, kinds: Kinds, values: Numbers,
) -> Scalar:  # fmt: skip
    """Write down the steps: a subscription's own literals, its program, and their AND."""
    own, depth = 0, 0
    for at in range(len(members)):
        number = np.int64(members[at])
        if number < 0:
            continue
        into, waiting = starts[at], 0
        for _ in range(own_starts[number], own_starts[number + 1]):
            kinds[into], values[into] = LITERAL, places[own]
            own, into, waiting = own + 1, into + 1, waiting + 1
        owned = waiting
        program = programs[number]
        for step in range(step_starts[program], step_starts[program + 1]):
            kinds[into], values[into] = step_kind[step], step_value[step]
            if step_kind[step] == LITERAL:
                values[into] = places[theirs + step_value[step]]
                waiting += 1
            else:
                waiting -= step_value[step] - 1
            depth = max(depth, waiting)
            into += 1
        theirs += program_starts[program + 1] - program_starts[program]
        if owned:
            kinds[into], values[into] = ALL, owned + 1
    return depth


@compiled
def run_formulas(
    formulas: Formulas, codes: Codes, first: Scalar, count: Scalar, members: Numbers,
    pair_starts: Integers, result: Numbers, found: Words,
) -> None:  # fmt: skip
    """Leave in what was found of each event the formulas that hold for it."""
    tested, pool, starts, kinds, values, depth = formulas
    literals = np.zeros((len(tested), WORDS), np.uint64)
    stack = np.zeros((depth + 1, WORDS), np.uint64)
    hits = np.zeros((WIDTH, WORDS), np.uint64)
    column = np.zeros(WIDTH, np.int64)
    for begin in range(0, count, WIDTH):
        events = min(WIDTH, count - begin)
        _test_literals(codes, first + begin, events, tested, pool, column, literals)
        for block in range((len(starts) - 1) // WIDTH):
            hits[:] = 0
            for bit in range(WIDTH):
                at = block * WIDTH + bit
                if starts[at] < starts[at + 1]:
                    _evaluate(starts[at], starts[at + 1], kinds, values, literals, stack)
                    _turn(stack, events, bit, hits)
            for event in range(events):
                row = np.int64(result[pair_starts[begin + event] + block])
                if row >= 0:
                    and_row(found, row, hits, event)


@loop
def _test_literals(
    codes: Codes, first: Scalar, events: Scalar, tested: Codes, pool: Codes, column: Integers,
    literals: Words,
) -> None:  # fmt: skip
    """For each literal the events for which it holds."""
    field: Scalar = -1
    for number in range(len(tested)):
        if tested[number, 0] != field:
            field = np.int64(tested[number, 0])
            for event in range(events):
                column[event] = codes[first + event, field]
        for word in range(WORDS):
            bits = np.uint64(0)
            for event in range(64 * word, min(64 * word + 64, events)):
                held = np.uint64(admits(tested, number, pool, column[event]))
                bits |= held << np.uint64(event & 63)
            literals[number, word] = bits


@inlined
def _evaluate(
    first: Scalar, stop: Scalar, kinds: Kinds, values: Numbers, literals: Words, stack: Words
) -> None:
    """Leave the events for which a formula holds in the first row of the stack."""
    top: Scalar = 0
    for step in range(first, stop):
        value = np.int64(values[step])
        if kinds[step] == LITERAL:
            copy_row(stack, top, literals, value)
            top += 1
            continue
        bottom = top - value
        for at in range(bottom + 1, top):
            if kinds[step] == ALL:
                and_row(stack, bottom, stack, at)
            else:
                or_row(stack, bottom, stack, at)
        top = bottom + 1


@inlined
def _turn(stack: Words, events: Scalar, bit: Scalar, hits: Words) -> None:
    """Enter a formula with the events for which it holds."""
    mask = ONE << np.uint64(bit & 63)
    for word in range(WORDS):
        bits = stack[0, word]
        while bits:
            hits[64 * word + lowest_bit(bits), bit >> 6] |= mask
            bits &= bits - ONE
