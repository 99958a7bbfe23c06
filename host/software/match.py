"""The loop that matches: what of each event's blocks and lists holds, in order of numbers."""

from __future__ import annotations

import numpy as np

from penstock.host.software.admission import has
from penstock.host.software.bits import ONE, WORDS, count_bits, filled_words, lowest_bit
from penstock.host.software.blocks import Words
from penstock.host.software.boxes import Halves, is_in
from penstock.host.software.compiled import Scalar, compiled, inlined, loop
from penstock.host.software.cuts import Codes
from penstock.host.software.grid import keep_boxed
from penstock.host.software.layout import Layout
from penstock.host.software.meet import meet
from penstock.host.software.packed import ACCEPT, Integers, Numbers
from penstock.host.software.tiles import Alive, Scratch, Tests, Tile

SLACK = 2
"""Places that are written to, and then again, behind the last match."""


@compiled
def match_tile(
    tile: Tile, first: Scalar, layout: Layout, tests: Tests, alive: Alive,
    scratch: Scratch, out: Numbers, used: Scalar, ends: Integers,
) -> tuple[Scalar, Scalar]:  # fmt: skip
    """Match events from ``first`` on, while there is room; up to which, and how far in ``out``.

    The numbers of the subscriptions that match event ``e`` end at ``ends[e]`` in ``out``.
    """
    count: Scalar = 1
    while count and first < len(tile.codes):
        count, used = _match_some(tile, first, layout, tests, alive, scratch, out, used, ends)
        first += count
    return first, used


@compiled
def _match_some(
    tile: Tile, first: Scalar, layout: Layout, tests: Tests, alive: Alive,
    scratch: Scratch, out: Numbers, used: Scalar, ends: Integers,
) -> tuple[Scalar, Scalar]:  # fmt: skip
    """Match as many events as there is room for on the way; how many, and how far in ``out``."""
    codes, field_starts, fields = tile
    (members, _, _, _, rough), _, always, lists, grid = layout
    _, shift, cells, _, _, single_starts, singles = lists
    starts, literals, pool, program, program_starts, tested, jumps = tests
    pair_starts, pair_block, result, found, _, _, _, seen, parts, _, points = scratch
    by_number = alive.by_number
    count = meet(tile, first, layout, alive, scratch)
    is_in_order = grid.blocks > 0 and grid.blocks == always
    if is_in_order:
        return _write_events(
            first, count, always, codes, rough, grid.boxes, points, result, found,
            starts, literals, pool, program, program_starts, tested, jumps, out, used, ends,
        )  # fmt: skip
    if len(points):
        keep_boxed(count, always - grid.blocks, always, grid.boxes, points, members, result, found)
    for event in range(first, first + count):
        if len(out) - used < len(program):
            return event - first, used
        _mark_event(
            event, first, codes, field_starts, fields, members, rough, shift, cells,
            single_starts, singles, by_number, pair_starts, pair_block, result, found,
            seen, parts, starts, literals, pool, program, program_starts, tested, jumps,
        )  # fmt: skip
        used = _drain(seen, parts, out, used)
        ends[event] = used
    return count, used


@inlined
def holds(
    number: Scalar, codes: Codes, event: Scalar, starts: Integers, literals: Codes, pool: Codes,
    program: Numbers, program_starts: Integers, tested: Codes, jumps: Numbers,
) -> Scalar:  # fmt: skip
    """Whether a subscription matches an event of a tile."""
    for place in range(starts[number], starts[number + 1]):
        if not has(literals, place, pool, codes, event):
            return False
    if program[number] < 0:
        return True
    first = program_starts[program[number]]
    step = np.int64(0)
    while step >= 0:
        at = first + step
        step = np.int64(jumps[at, np.int64(has(tested, at, pool, codes, event))])
    return step == ACCEPT


@inlined
def _mark(number: Scalar, seen: Words, parts: Words) -> None:
    """Set a subscription's bit, and that of the part of 4,096 that it is in."""
    seen[number >> 6] |= ONE << np.uint64(number & 63)
    parts[number >> 12] |= ONE << np.uint64(number >> 6 & 63)


@loop
def _mark_event(
    event: Scalar, first: Scalar, codes: Codes, field_starts: Integers, fields: Numbers,
    members: Numbers, rough: Words, shift: Integers, cells: Integers,
    single_starts: Integers, singles: Numbers, alive: Words,
    pair_starts: Integers, pair_block: Numbers, result: Numbers, found: Words,
    seen: Words, parts: Words,
    starts: Integers, literals: Codes, pool: Codes, program: Numbers,
    program_starts: Integers, tested: Codes, jumps: Numbers,
) -> None:  # fmt: skip
    """Set the bits of all subscriptions that match an event."""
    for pair in range(pair_starts[event - first], pair_starts[event - first + 1]):
        if result[pair] < 0:
            continue
        block = np.int64(pair_block[pair])
        for word in range(WORDS):
            bits = found[result[pair], word]
            doubtful = bits & rough[block, word]
            bits ^= doubtful
            base = (block * WORDS + word) * 64
            while bits:
                _mark(np.int64(members[base + lowest_bit(bits)]), seen, parts)
                bits &= bits - ONE
            while doubtful:
                number = np.int64(members[base + lowest_bit(doubtful)])
                doubtful &= doubtful - ONE
                if holds(
                    number, codes, event, starts, literals, pool,
                    program, program_starts, tested, jumps,
                ):  # fmt: skip
                    _mark(number, seen, parts)
    at = event * np.int64(len(field_starts) > 2)
    for n in range(field_starts[at], field_starts[at + 1]):
        field = fields[n]
        code = np.int64(codes[event, field])
        if code == 0 or cells[field] == cells[field + 1]:
            continue
        cell = cells[field] + (code >> shift[field])
        for place in range(single_starts[cell], single_starts[cell + 1]):
            number = np.int64(singles[place])
            if alive[number >> 6] >> np.uint64(number & 63) & ONE and holds(
                number, codes, event, starts, literals, pool,
                program, program_starts, tested, jumps,
            ):  # fmt: skip
                _mark(number, seen, parts)


@loop
def _write_events(
    begin: Scalar, count: Scalar, blocks: Scalar, codes: Codes, rough: Words, boxes: Halves,
    points: Halves, result: Numbers, found: Words, starts: Integers, literals: Codes, pool: Codes,
    program: Numbers, program_starts: Integers, tested: Codes, jumps: Numbers,
    out: Numbers, used: Scalar, ends: Integers,
) -> tuple[Scalar, Scalar]:  # fmt: skip
    """Write the numbers of what matches each event, where blocks have them in order."""
    for event in range(begin, begin + count):
        if len(out) - used < len(program) + SLACK:
            return event - begin, used
        for block in range(blocks):
            pair = (event - begin) * blocks + block
            if result[pair] < 0:
                continue
            at = np.int64(result[pair])
            words: Scalar = filled_words(found, at)
            while words:
                word = lowest_bit(words)
                words &= words - ONE
                bits = found[at, word]
                place = (block * WORDS + word) * 64
                doubtful = bits & rough[block, word]
                while doubtful:
                    bit = lowest_bit(doubtful)
                    doubtful &= doubtful - ONE
                    if not holds(
                        place + bit, codes, event, starts, literals, pool,
                        program, program_starts, tested, jumps,
                    ):  # fmt: skip
                        bits ^= ONE << np.uint64(bit)
                if len(boxes):
                    while bits:
                        out[used] = number = place + lowest_bit(bits)
                        bits &= bits - ONE
                        used += is_in(boxes, number, points, event - begin)
                    continue
                # Mostly two or fewer: to write two takes less than to foresee how many.
                matches = count_bits(bits)
                for n in range(SLACK):
                    out[used + n] = place + lowest_bit(bits)
                    bits &= bits - ONE
                for n in range(SLACK, matches):
                    out[used + n] = place + lowest_bit(bits)
                    bits &= bits - ONE
                used += matches
        ends[event] = used
    return count, used


@loop
def _drain(seen: Words, parts: Words, out: Numbers, used: Scalar) -> Scalar:
    """Write the numbers of all bits that are set, in order, and clear them; where it ended."""
    for part in range(len(parts)):
        words = parts[part]
        parts[part] = np.uint64(0)
        while words:
            word = (part << 6) + lowest_bit(words)
            words &= words - ONE
            bits = seen[word]
            seen[word] = np.uint64(0)
            while bits:
                out[used] = (word << 6) + lowest_bit(bits)
                used += 1
                bits &= bits - ONE
    return used
