"""Events against blocks, block by block: a block's rows are used while they are in the cache."""

from __future__ import annotations

import numpy as np

from penstock.host.software.bits import and_row, copy_row, fetch, filled_words
from penstock.host.software.blocks import FIELD, HIGH, LOW, ROWS, SHIFT, Words, row_of
from penstock.host.software.compiled import Scalar, compiled, inlined, loop
from penstock.host.software.cuts import Codes
from penstock.host.software.formulas import run_formulas
from penstock.host.software.grid import meet_all
from penstock.host.software.layout import Layout
from penstock.host.software.packed import Integers, Numbers
from penstock.host.software.tiles import Alive, Scratch, Tile

GROUP = 256
"""Events that a block takes at a time: what is left of them fits into the nearest cache."""
FEW = 8
"""Events of a group that are not worth having whole slots brought near."""


@compiled
def meet(tile: Tile, first: Scalar, layout: Layout, alive: Alive, scratch: Scratch) -> Scalar:
    """Hold events from ``first`` on against the blocks that they come to; how many events."""
    codes, field_starts, fields = tile
    (members, slot_starts, slots, rows, _), formulas, always, lists, grid = layout
    _, shift, cells, block_starts, blocks, _, _ = lists
    pair_starts, pair_block, result, found, by_block, order, pair_event, _, _, _, points = scratch
    count = min(len(pair_starts) - 1, len(codes) - first)
    if grid.blocks:
        count = meet_all(
            codes, first, count, always - grid.blocks, grid, alive.in_blocks,
            pair_starts, pair_block, result, found, points,
        )  # fmt: skip
    else:
        count = _pair_up(
            first, count, codes, field_starts, fields, always,
            shift, cells, block_starts, blocks, pair_starts, pair_block, pair_event, by_block,
        )  # fmt: skip
        _run_blocks(
            pair_starts[count], codes, slot_starts, slots, rows, alive.in_blocks,
            pair_block, pair_event, by_block, order, result, found,
        )  # fmt: skip
    if len(formulas.tested):
        run_formulas(formulas, codes, first, count, members, pair_starts, result, found)
    return count


@loop
def _pair_up(
    first: Scalar, count: Scalar, codes: Codes, field_starts: Integers, fields: Numbers,
    always: Scalar, shift: Integers, cells: Integers, block_starts: Integers, blocks: Numbers,
    pair_starts: Integers, pair_block: Numbers, pair_event: Numbers, last: Integers,
) -> Scalar:  # fmt: skip
    """Write down which events come to which blocks; how many of the events, in turn, fit."""
    pairs = 0
    last[:] = -1
    step = np.int64(len(field_starts) > 2)
    pair_starts[0] = 0
    for event in range(count):
        if event and pairs + len(last) > len(pair_block):
            return event
        for block in range(always):
            pair_block[pairs], pair_event[pairs] = block, first + event
            pairs += 1
        at = (first + event) * step
        for n in range(field_starts[at], field_starts[at + 1]):
            field = fields[n]
            code = np.int64(codes[first + event, field])
            if code == 0 or cells[field] == cells[field + 1]:
                continue
            cell = cells[field] + (code >> shift[field])
            for place in range(block_starts[cell], block_starts[cell + 1]):
                block = blocks[place]
                if last[block] != event:
                    last[block] = event
                    pair_block[pairs], pair_event[pairs] = block, first + event
                    pairs += 1
        pair_starts[event + 1] = pairs
    return count


@loop
def _run_blocks(
    pairs: Scalar, codes: Codes, starts: Integers, slots: Integers, rows: Words, alive: Words,
    pair_block: Numbers, pair_event: Numbers, by_block: Integers, order: Numbers,
    result: Numbers, found: Words,
) -> None:  # fmt: skip
    """What each pair's block admits, block by block."""
    by_block[:] = 0
    for pair in range(pairs):
        by_block[pair_block[pair] + 1] += 1
    for block in range(1, len(by_block)):
        by_block[block] += by_block[block - 1]
    for pair in range(pairs):
        block = pair_block[pair]
        order[by_block[block]] = pair
        by_block[block] += 1
    result[:pairs] = -1
    first: Scalar = 0
    used: Scalar = 0
    for block in range(len(starts) - 1):
        stop = by_block[block]
        while first < stop:
            group = left = min(GROUP, stop - first)
            for n in range(left):
                copy_row(found, used + n, alive, block)
            for slot in range(starts[block], starts[block + 1]):
                if left > FEW:  # most rows of the next slot are wanted soon
                    for row in range(slots[slot + 1, ROWS], slots[slot + 2, ROWS]):
                        fetch(rows, row)
                field, low, high = slots[slot, FIELD], slots[slot, LOW], slots[slot, HIGH]
                shift, begin = slots[slot, SHIFT], slots[slot, ROWS]
                for n in range(left):
                    code = np.int64(codes[pair_event[order[first + n]], field])
                    and_row(found, used + n, rows, begin + row_of(code, low, high, shift))
                if (slot - starts[block]) & 3 == 0:
                    left = _without_empty(order, first, found, used, left)
            left = _without_empty(order, first, found, used, left)
            for n in range(left):
                result[order[first + n]] = used + n
            first, used = first + group, used + left


@inlined
def _without_empty(
    order: Numbers, first: Scalar, found: Words, used: Scalar, count: Scalar
) -> Scalar:
    """Move together the pairs that have anything left; how many those are."""
    left = 0
    for n in range(count):
        if filled_words(found, used + n):
            if left != n:
                copy_row(found, used + left, found, used + n)
                order[first + left] = order[first + n]
            left += 1
    return left
