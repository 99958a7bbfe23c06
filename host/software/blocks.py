"""Blocks of 512 subscriptions that are tested together: rows of bits, ANDed field by field.

A row of a block says which of its subscriptions an event may still match that has one of some
codes in one field. Where rows are too coarse for a subscription's literals, its bit is *rough*:
for the events that all rows let through, the literals decide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.host.software.access import Floats
from penstock.host.software.bits import WORDS, aligned
from penstock.host.software.compiled import Scalar, compiled, inlined
from penstock.host.software.cuts import Codes
from penstock.host.software.packed import Flags, Integers, Numbers, Packed

WIDTH = 64 * WORDS
MAX_SLOTS = 32
"""Fields of a block that have rows; what asks for others is rough."""
MAX_ROWS = 64
"""Rows of a slot; more cuts than that share them."""

Words = npt.NDArray[np.uint64]


class Blocks(NamedTuple):
    """Bit ``i`` of block ``b`` is subscription ``members[512 b + i]``, or none if that is -1.

    Block ``b`` has the slots ``starts[b]`` up to ``starts[b + 1]``, first the one that lets the
    fewest through. A slot's first row is for absence, the second for codes below ``low``, then one
    for every ``1 << shift`` codes; the last one has all codes from ``high`` on.
    """

    members: Numbers
    starts: Integers
    slots: Integers
    """`FIELD`, `LOW`, `HIGH`, `SHIFT` and `ROWS`, where in `rows` its own begin, of each slot."""
    rows: Words
    rough: Words


FIELD, LOW, HIGH, SHIFT, ROWS = range(5)


def blocks_of(packed: Packed, members: Numbers, chances: Floats, bare: int) -> Blocks:
    """Blocks of subscriptions in the order given; a place with -1 stays free.

    The first ``bare`` ones have no rows, and say nothing about their members.
    """
    count = len(members) // WIDTH
    codes = np.array([*(field.codes for field in packed.fields), 1], np.int64)
    starts = np.zeros(count + 1, np.int64)
    slots = np.zeros((count * min(MAX_SLOTS, len(codes)) + 2, 5), np.int64)
    literals = packed.starts, packed.literals.columns, packed.pool
    _plan_slots(*literals, chances, codes, members, bare, starts, slots)
    used = int(starts[-1])
    slots[used + 1, ROWS] = slots[used, ROWS]  # behind the last slot is an empty one
    rows = aligned(int(slots[used, ROWS]))
    rows[:] = 2**64 - 1
    rough = np.zeros((count, WORDS), np.uint64)
    made = Blocks(members, starts, slots[: used + 2].copy(), rows, rough)
    has_program = np.zeros(len(packed), np.bool_)
    has_program[packed.programs.owner] = True
    _fill_rows(*literals, has_program, len(codes), members, starts, made.slots, rows, rough)
    rough[:bare] = 0
    return made


@inlined
def row_of(code: Scalar, low: Scalar, high: Scalar, shift: Scalar) -> Scalar:
    """Which row of a slot has a code; without branches, as no one can foresee the code."""
    return 2 + max(-1, (min(code, high) - low) >> shift) - (code == 0)


@compiled
def _plan_slots(
    starts: Integers, literals: Codes, pool: Codes, chances: Floats, codes: Integers,
    members: Numbers, bare: Scalar, slot_starts: Integers, slots: Integers,
) -> None:  # fmt: skip
    """Choose the fields of each block that sort out most, and how fine their rows are."""
    gain = np.zeros(len(codes))
    low = np.zeros(len(codes), np.int64)
    high = np.zeros(len(codes), np.int64)
    used = np.zeros(len(codes), np.int64)
    slot = 0
    for block in range(bare, len(slot_starts) - 1):
        count = 0
        for number in members[block * WIDTH : (block + 1) * WIDTH]:
            if number < 0:
                continue
            for place in range(starts[number], starts[number + 1]):
                field = np.int64(literals[place, 0])
                if gain[field] == 0.0:
                    used[count] = field
                    count += 1
                    low[field] = high[field] = codes[field]
                gain[field] += 1.0001 - chances[place]
                first, stop = np.int64(literals[place, 1]), np.int64(literals[place, 2])
                if literals[place, 3]:
                    for at in range(2 * first, 2 * stop):
                        _widen(np.int64(pool[at]), field, codes, low, high)
                else:
                    _widen(first, field, codes, low, high)
                    _widen(stop, field, codes, low, high)
        order = np.argsort(-gain[used[:count]])
        for choice in order[:MAX_SLOTS]:
            field = used[choice]
            shift = 0
            while 3 + ((high[field] - low[field]) >> shift) > MAX_ROWS:
                shift += 1
            rows = 3 + ((high[field] - low[field]) >> shift)
            slots[slot, FIELD], slots[slot, SHIFT] = field, shift
            slots[slot, LOW], slots[slot, HIGH] = low[field], high[field]
            slots[slot + 1, ROWS] = slots[slot, ROWS] + rows
            slot += 1
        gain[used[:count]] = 0.0
        slot_starts[block + 1] = slot


@inlined
def _widen(cut: Scalar, field: Scalar, codes: Integers, low: Integers, high: Integers) -> None:
    """Take in a code at which a literal begins or ends to hold, unless all its codes do so."""
    if 1 < cut < codes[field]:
        if low[field] == codes[field]:
            low[field] = high[field] = cut
        low[field] = min(low[field], cut)
        high[field] = max(high[field], cut)


@compiled
def _fill_rows(
    starts: Integers, literals: Codes, pool: Codes, has_program: Flags, fields: Scalar,
    members: Numbers, slot_starts: Integers, slots: Integers, rows: Words, rough: Words,
) -> None:  # fmt: skip
    """Take each subscription's bit out of the rows that its literals do not admit."""
    slot_of = np.full(fields, -1, np.int64)
    admitted = np.zeros(MAX_ROWS, np.bool_)
    for block in range(len(slot_starts) - 1):
        first, stop = slot_starts[block], slot_starts[block + 1]
        for slot in range(first, stop):
            slot_of[slots[slot, FIELD]] = slot
        for bit in range(WIDTH):
            number = members[block * WIDTH + bit]
            if number < 0:
                continue
            word, mask = bit >> 6, np.uint64(1) << np.uint64(bit & 63)
            is_rough = has_program[number]
            for place in range(starts[number], starts[number + 1]):
                slot = slot_of[literals[place, 0]]
                if slot < 0:
                    is_rough = True
                    continue
                is_rough |= _admit(literals[place], pool, slots[slot], admitted)
                begin = slots[slot, ROWS]
                for row in range(slots[slot + 1, ROWS] - begin):
                    if not admitted[row]:
                        rows[begin + row, word] &= ~mask
            if is_rough:
                rough[block, word] |= mask
        for slot in range(first, stop):
            slot_of[slots[slot, FIELD]] = -1


@compiled
def _admit(literal: Codes, pool: Codes, slot: Integers, admitted: Flags) -> Scalar:
    """Mark the rows in which a literal may hold; whether they are too coarse for it."""
    low, high, shift = slot[LOW], slot[HIGH], slot[SHIFT]
    admitted[:] = False
    is_rough = False
    first, stop = np.int64(literal[1]), np.int64(literal[2])
    for number in range(stop - first if literal[3] else 1):
        begin, end = first, stop
        if literal[3]:
            begin = np.int64(pool[2 * (first + number)])
            end = np.int64(pool[2 * (first + number) + 1])
        if begin >= end:
            continue
        for row in range(row_of(begin, low, high, shift), row_of(end - 1, low, high, shift) + 1):
            admitted[row] = True
        coarse = (np.int64(1) << shift) - 1
        for cut in (begin, end):
            is_rough |= low <= cut <= high and ((cut - low) & coarse) != 0
    return is_rough
