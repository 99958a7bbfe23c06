"""The loop that matches: what of each event's blocks and lists holds, in order of numbers."""

from __future__ import annotations

import numpy as np

from penstock.host.software.admission import has
from penstock.host.software.bits import ONE, WORDS, lowest_bit
from penstock.host.software.blocks import Words
from penstock.host.software.compiled import Scalar, compiled, inlined, loop
from penstock.host.software.cuts import Codes
from penstock.host.software.layout import Layout
from penstock.host.software.meet import meet
from penstock.host.software.packed import ACCEPT, Integers, Numbers
from penstock.host.software.tiles import Alive, Scratch, Tests, Tile


@compiled
def match_tile(
    tile: Tile, first: Scalar, layout: Layout, tests: Tests, alive: Alive,
    scratch: Scratch, out: Numbers, used: Scalar, ends: Integers,
) -> tuple[Scalar, Scalar]:  # fmt: skip
    """Match events from ``first`` on, while there is room; how many, and how far ``out`` is used.

    The numbers of the subscriptions that match event ``e`` end at ``ends[e]`` in ``out``.
    """
    codes, field_starts, fields = tile
    (members, _, _, _, rough), _, _, (_, shift, cells, _, _, single_starts, singles) = layout
    starts, literals, pool, program, program_starts, tested, jumps = tests
    (pair_starts, pair_block, result, found, _, _, _, seen, parts, _) = scratch
    by_number = alive.by_number
    count = meet(tile, first, layout, alive, scratch)
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
            bits, doubtful = found[result[pair], word], rough[block, word]
            while bits:
                bit = lowest_bit(bits)
                bits &= bits - ONE
                number = np.int64(members[(block * WORDS + word) * 64 + bit])
                if not doubtful >> np.uint64(bit) & ONE or holds(
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
