"""The loop that ranks: the k best of what matches, by score and then by number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.host.software.admission import has
from penstock.host.software.bits import ONE, WORDS, lowest_bit
from penstock.host.software.blocks import WIDTH, Words
from penstock.host.software.compiled import Scalar, compiled, inlined, loop
from penstock.host.software.cuts import Codes
from penstock.host.software.grid import keep_boxed
from penstock.host.software.layout import Layout
from penstock.host.software.match import holds
from penstock.host.software.meet import meet
from penstock.host.software.packed import Integers, Numbers, Packed, Programs
from penstock.host.software.tiles import Alive, Scratch, Tests, Tile

LITERAL, ANY = Programs.LITERAL, Programs.ANY


class Worth(NamedTuple):
    """What subscriptions are worth where they match."""

    sure: Integers
    """By number, all but what its program earns."""
    bound: Integers
    """By block, the most that one of its members may be worth."""
    program_starts: Integers
    earned: Integers
    """By literal of a program, what it earns where it holds."""
    step_starts: Integers
    step_kind: npt.NDArray[np.uint8]
    step_value: Numbers


def worth_of(packed: Packed, layout: Layout, weights: Integers) -> Worth:
    """The worth of all subscriptions, given what each field's weights are multiplied by."""
    literals, programs = packed.literals, packed.programs
    earned = literals.weight * weights[literals.field]
    sums = np.concatenate([[0], np.cumsum(earned)])
    sure = packed.base + sums[packed.starts[1:]] - sums[packed.starts[:-1]]
    in_programs = programs.literals.weight * weights[programs.literals.field]
    sums = np.concatenate([[0], np.cumsum(in_programs)])
    most = sure.copy()
    most[programs.owner] += sums[programs.starts[1:]] - sums[programs.starts[:-1]]
    in_blocks = np.append(most, 0)[layout.blocks.members]  # a free place is -1: the last, and 0
    return Worth(
        sure,
        in_blocks.reshape(-1, WIDTH).max(axis=1, initial=0),
        programs.starts,
        in_programs,
        programs.step_starts,
        programs.step_kind,
        programs.step_value,
    )


def highest_worth(packed: Packed, weights: Integers) -> float:
    """About the most that a subscription may be worth, or a sum on the way; never too low."""
    literals, programs = packed.literals, packed.programs
    parts = (literals.weight, literals.field), (programs.literals.weight, programs.literals.field)
    sums = (float(np.sum(weight.astype(float) * weights[field])) for weight, field in parts)
    return float(packed.base.max(initial=0)) + 1.001 * sum(sums)


@inlined
def _is_worse(score: Scalar, number: Scalar, than: Scalar, other: Scalar) -> Scalar:
    return score < than or (score == than and number > other)


@loop
def _sink(scores: Integers, numbers: Numbers, first: Scalar, size: Scalar) -> None:
    """Let what is on top of a heap sink to its place: on top of each is the worst below it."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_worse(
            scores[first + child + 1], numbers[first + child + 1],
            scores[first + child], numbers[first + child],
        ):  # fmt: skip
            child += 1
        one, other = first + at, first + child
        if _is_worse(scores[one], numbers[one], scores[other], numbers[other]):
            return
        scores[one], scores[other] = scores[other], scores[one]
        numbers[one], numbers[other] = numbers[other], numbers[one]
        at = child


@loop
def _rise(scores: Integers, numbers: Numbers, first: Scalar, at: Scalar) -> None:
    """Let the last of a heap rise to its place."""
    while at:
        above = (at - 1) >> 1
        one, other = first + at, first + above
        if not _is_worse(scores[one], numbers[one], scores[other], numbers[other]):
            return
        scores[one], scores[other] = scores[other], scores[one]
        numbers[one], numbers[other] = numbers[other], numbers[one]
        at = above


@loop
def _sort(scores: Integers, numbers: Numbers, first: Scalar, size: Scalar) -> None:
    """Turn a heap into a list, best first."""
    for last in range(size - 1, 0, -1):
        scores[first], scores[first + last] = scores[first + last], scores[first]
        numbers[first], numbers[first + last] = numbers[first + last], numbers[first]
        _sink(scores, numbers, first, last)


@loop
def _earned(
    program: Scalar, codes: Codes, event: Scalar, tested: Codes, pool: Codes,
    program_starts: Integers, earned: Integers, step_starts: Integers,
    step_kind: npt.NDArray[np.uint8], step_value: Numbers, stack: Integers,
) -> Scalar:  # fmt: skip
    """What a program that holds earns: AND adds up, OR takes the best; -1 is what fails."""
    top = np.int64(0)
    for step in range(step_starts[program], step_starts[program + 1]):
        value = np.int64(step_value[step])
        if step_kind[step] == LITERAL:
            place = program_starts[program] + value
            stack[top] = earned[place] if has(tested, place, pool, codes, event) else -1
            top += 1
            continue
        result = stack[top - value]
        for at in range(top - value + 1, top):
            if step_kind[step] == ANY:
                result = max(result, stack[at])
            else:
                result = -1 if result < 0 or stack[at] < 0 else result + stack[at]
        top -= value - 1
        stack[top - 1] = result
    return stack[0]


@inlined
def _offer(
    score: Scalar, number: Scalar, k: Scalar,
    scores: Integers, numbers: Numbers, first: Scalar, size: Scalar,
) -> Scalar:  # fmt: skip
    """Keep a match if it is among the k best so far; how many there are."""
    if size < k:
        scores[first + size], numbers[first + size] = score, number
        _rise(scores, numbers, first, size)
        return size + 1
    if _is_worse(scores[first], numbers[first], score, number):
        scores[first], numbers[first] = score, number
        _sink(scores, numbers, first, size)
    return size


@loop
def _rank_event(
    event: Scalar, first: Scalar, k: Scalar, codes: Codes, field_starts: Integers, fields: Numbers,
    members: Numbers, rough: Words, shift: Integers, cells: Integers,
    single_starts: Integers, singles: Numbers, alive: Words,
    pair_starts: Integers, pair_block: Numbers, result: Numbers, found: Words,
    starts: Integers, literals: Codes, pool: Codes, program: Numbers,
    program_starts: Integers, tested: Codes, jumps: Numbers,
    sure: Integers, bound: Integers, earned: Integers, step_starts: Integers,
    step_kind: npt.NDArray[np.uint8], step_value: Numbers, stack: Integers,
    scores: Integers, numbers: Numbers, used: Scalar,
) -> Scalar:  # fmt: skip
    """Leave the k best of what matches an event from ``used`` on; how many there are."""
    size = 0
    for pair in range(pair_starts[event - first], pair_starts[event - first + 1]):
        block = np.int64(pair_block[pair])
        if result[pair] < 0 or (size == k and bound[block] < scores[used]):
            continue
        for word in range(WORDS):
            bits = found[result[pair], word]
            doubtful = rough[block, word]
            while bits:
                bit = lowest_bit(bits)
                bits &= bits - ONE
                number = np.int64(members[(block * WORDS + word) * 64 + bit])
                if doubtful >> np.uint64(bit) & ONE and not holds(
                    number, codes, event, starts, literals, pool,
                    program, program_starts, tested, jumps,
                ):  # fmt: skip
                    continue
                score = sure[number]
                if program[number] >= 0:
                    score += _earned(program[number], codes, event, tested, pool, program_starts,
                                     earned, step_starts, step_kind, step_value, stack)  # fmt: skip
                size = _offer(score, number, k, scores, numbers, used, size)
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
                score = sure[number]
                if program[number] >= 0:
                    score += _earned(program[number], codes, event, tested, pool, program_starts,
                                     earned, step_starts, step_kind, step_value, stack)  # fmt: skip
                size = _offer(score, number, k, scores, numbers, used, size)
    _sort(scores, numbers, used, size)
    return size


@compiled
def rank_tile(
    tile: Tile, k: Scalar, layout: Layout, tests: Tests, alive: Alive, worth: Worth,
    scratch: Scratch, scores: Integers, numbers: Numbers, used: Scalar, ends: Integers,
) -> Scalar:  # fmt: skip
    """Rank the events of a tile; how far the answers are used.

    The best matches of event ``e`` end at ``ends[e]``; there is room for k of each event.
    """
    codes, field_starts, fields = tile
    (members, _, _, _, rough), _, always, lists, grid = layout
    _, shift, cells, _, _, single_starts, singles = lists
    starts, literals, pool, program, program_starts, tested, jumps = tests
    pair_starts, pair_block, result, found, _, _, _, _, _, _, points = scratch
    sure, bound, _, earned, step_starts, step_kind, step_value = worth
    by_number = alive.by_number
    stack = np.zeros(len(step_kind) + 1, np.int64)
    first: Scalar = 0
    while first < len(codes):
        count = meet(tile, first, layout, alive, scratch)
        if len(points):
            bare = always - grid.blocks
            keep_boxed(count, bare, always, grid.boxes, points, members, result, found)
        for event in range(first, first + count):
            used += _rank_event(
                event, first, k, codes, field_starts, fields, members, rough, shift, cells,
                single_starts, singles, by_number, pair_starts, pair_block, result, found,
                starts, literals, pool, program, program_starts, tested, jumps,
                sure, bound, earned, step_starts, step_kind, step_value, stack,
                scores, numbers, used,
            )  # fmt: skip
            ends[event] = used
        first += count
    return used
