"""Every event against all subscriptions: blocks that have rows for the same codes.

Where all blocks have the same rows, which of them an event asks for is found once, and not again
for each block. Subscriptions stand in order of their numbers, so that what is found is in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.host.software.bits import (
    ONE,
    WORDS,
    aligned,
    all_of_rows,
    copy_row,
    fetch,
    filled_words,
    lowest_bit,
)
from penstock.host.software.blocks import WIDTH, Words
from penstock.host.software.boxes import (
    MOST_CODES,
    MOST_FIELDS,
    Halves,
    boxes_for,
    is_in,
    narrow,
)
from penstock.host.software.compiled import Scalar, compiled, loop
from penstock.host.software.cuts import Codes
from penstock.host.software.packed import Flags, Integers, Numbers, Packed

HEIGHT = 1024
"""Rows of a block, more or less: what fits into the second nearest cache."""
FEWEST = 8
"""Rows of a field that has as many codes, however many fields there are."""

USES, NEAR = 256, 1 << 12
"""Events that are taken at a time: so many, to use rows more than once, or as many as make so many
pairs, all of which the cache still has when they are read."""


class Grid(NamedTuple):
    """Field ``fields[i]`` has the codes ``starts[i]`` up to ``starts[i + 1]`` in ``row_of``.

    That says which row of each block a code has, and ``rows[height b + row]`` which subscriptions
    of block ``b`` may hold then. If rows are too coarse to decide, ``boxes`` has what each
    subscription asks of the codes, or else `Blocks.rough` says whose literals decide.
    """

    blocks: int
    """How many, after those of formulas; 0 if events are led to blocks by their values."""
    height: int
    fields: Numbers
    starts: Integers
    row_of: Numbers
    rows: Words
    boxes: Halves


NO_GRID = Grid(
    0, 0, np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32),
    aligned(0), boxes_for(0, 0),
)  # fmt: skip


def grid_of(packed: Packed, members: Numbers, bare: int, rough: Words) -> Grid:
    """The grid of the subscriptions in blocks behind the first ``bare`` ones.

    In ``rough`` it sets the bits of those that have programs, or that nothing else here decides.
    """
    fields = np.unique(packed.literals.field)
    codes = np.array([*(field.codes for field in packed.fields), 1], np.int64)[fields]
    row_of, sizes = _shared(codes)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(codes)])
    height, blocks = int(sizes.sum()), len(members) // WIDTH - bare
    rows = aligned(blocks * height)
    rows[:] = 2**64 - 1
    fit = len(fields) <= MOST_FIELDS and codes.max(initial=0) <= MOST_CODES
    is_coarse = (sizes < codes).any()
    boxes = boxes_for(len(packed) if is_coarse and fit else 0, len(fields))
    slot_of = np.full(len(packed.fields) + 1, -1, np.int64)
    slot_of[fields] = np.arange(len(fields))
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    has_program = np.zeros(len(packed), np.bool_)
    has_program[packed.programs.owner] = True
    _fill(
        packed.starts, packed.literals.columns, packed.pool, has_program, members, bare, height,
        slot_of, starts, row_of, bounds, rows, boxes, rough,
    )  # fmt: skip
    return Grid(blocks, height, fields.astype(np.int32), starts, row_of, rows, boxes)


def _shared(codes: Integers) -> tuple[Numbers, Integers]:
    """The row of each code of fields with so many codes, and how many rows each field has.

    Absence has a row of its own. Where codes share rows, each row has about as many.
    """
    most = max(FEWEST, HEIGHT)
    while most > FEWEST and int(np.minimum(codes, most).sum()) > HEIGHT:
        most -= max(1, most // 16)
    sizes = np.minimum(codes, max(FEWEST, most))
    parts, first = [np.zeros(0, np.int64)], 0
    for count, size in zip(codes.tolist(), sizes.tolist(), strict=True):
        among = np.arange(count - 1) * (size - 1) // max(1, count - 1)
        parts.append(first + np.concatenate([[0], 1 + among]))
        first += size
    return np.concatenate(parts).astype(np.int32), sizes


@compiled
def _fill(
    starts: Integers, literals: Codes, pool: Codes, has_program: Flags, members: Numbers,
    bare: Scalar, height: Scalar, slot_of: Integers, code_starts: Integers, row_of: Numbers,
    bounds: Integers, rows: Words, boxes: Halves, rough: Words,
) -> None:  # fmt: skip
    """Take each subscription's bit out of the rows that its literals do not admit."""
    admitted = np.zeros(height, np.bool_)
    for at in range(bare * WIDTH, len(members)):
        number = members[at]
        if number < 0:
            continue
        block = at // WIDTH
        base = (block - bare) * height
        word, mask = (at >> 6) & (WORDS - 1), np.uint64(1) << np.uint64(at & 63)
        if has_program[number]:
            rough[block, word] |= mask
        for place in range(starts[number], starts[number + 1]):
            slot = slot_of[literals[place, 0]]
            own = row_of[code_starts[slot] : code_starts[slot + 1]]
            first, stop = bounds[slot], bounds[slot + 1]
            admitted[first:stop] = False
            is_sure = _admit(literals[place], pool, own, admitted)
            if len(boxes) and not literals[place, 3]:
                narrow(boxes, number, slot, literals[place, 1], literals[place, 2])
            elif not is_sure:
                rough[block, word] |= mask
            for row in range(first, stop):
                if not admitted[row]:
                    rows[base + row, word] &= ~mask


@compiled
def _admit(literal: Codes, pool: Codes, own: Numbers, admitted: Flags) -> Scalar:
    """Mark the rows in which a literal may hold; whether it does wherever they say so."""
    first, stop = np.int64(literal[1]), np.int64(literal[2])
    is_sure = True
    for n in range(stop - first if literal[3] else 1):
        begin: Scalar = first
        end: Scalar = stop
        if literal[3]:
            begin, end = np.int64(pool[2 * (first + n)]), np.int64(pool[2 * (first + n) + 1])
        end = min(end, len(own))
        if begin >= end:
            continue
        admitted[own[begin] : own[end - 1] + 1] = True
        if begin and own[begin - 1] == own[begin]:
            is_sure = False
        if end < len(own) and own[end] == own[end - 1]:
            is_sure = False
    return is_sure


@compiled
def meet_all(
    codes: Codes, first: Scalar, count: Scalar, bare: Scalar, grid: Grid, alive: Words,
    pair_starts: Integers, pair_block: Numbers, result: Numbers, found: Words, points: Halves,
) -> Scalar:  # fmt: skip
    """Hold events against all blocks, as many of them as there is room for; how many.

    A pair is found where it stands itself.
    """
    blocks, height, fields, starts, row_of, rows, boxes = grid
    every = bare + blocks
    count = min(count, len(pair_block) // every, max(USES, NEAR // every))
    asked = np.empty((count, len(fields)), np.int32)
    for event in range(count):
        pair_starts[event + 1] = (event + 1) * every
        for n in range(len(fields)):
            code = codes[first + event, fields[n]]
            asked[event, n] = row_of[starts[n] + code]
            if len(boxes):
                points[event, n] = code
        for block in range(every):
            pair_block[event * every + block] = block
        for block in range(bare):
            result[event * every + block] = event * every + block
            copy_row(found, event * every + block, alive, block)
    _run_grid(count, bare, every, height, asked, alive, rows, result, found)
    return count


@loop
def _run_grid(
    count: Scalar, bare: Scalar, every: Scalar, height: Scalar, asked: Numbers, alive: Words,
    rows: Words, result: Numbers, found: Words,
) -> None:  # fmt: skip
    ahead = (height + count - 1) // count
    for block in range(bare, every):
        base = (block - bare) * height
        soon = base + height
        for event in range(count):
            for row in range(soon + event * ahead, min(soon + (event + 1) * ahead, len(rows))):
                fetch(rows, row)
            pair = event * every + block
            is_left = all_of_rows(found, pair, alive, block, rows, base, asked, event)
            result[pair] = pair if is_left else -1


@loop
def keep_boxed(
    count: Scalar, bare: Scalar, every: Scalar, boxes: Halves, points: Halves, members: Numbers,
    result: Numbers, found: Words,
) -> None:  # fmt: skip
    """Take out what rows let through although the event lies in no box of it."""
    for event in range(count):
        for block in range(bare, every):
            at = result[event * every + block]
            if at < 0:
                continue
            words: Scalar = filled_words(found, at)
            while words:
                word = lowest_bit(words)
                words &= words - ONE
                left: Scalar = found[at, word]
                while left:
                    bit = lowest_bit(left)
                    left &= left - ONE
                    number = np.int64(members[(block * WORDS + word) * 64 + bit])
                    if not is_in(boxes, number, points, event):
                        found[at, word] ^= ONE << np.uint64(bit)
