"""What the compiled loops take: events side by side, what decides about them, and room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.host.software.bits import aligned
from penstock.host.software.blocks import Words
from penstock.host.software.boxes import Halves, points_for
from penstock.host.software.compiled import Scalar, compiled
from penstock.host.software.cuts import Codes
from penstock.host.software.encode import Entries
from penstock.host.software.layout import Layout
from penstock.host.software.packed import Integers, Numbers, Packed

LEAST_PAIRS, MOST_PAIRS = 1 << 17, 1 << 19
"""How often events of a tile come to blocks, or a few times more if one event exceeds it."""
USES = 256
"""Events that each block should have in a tile, to use its rows more than once."""


class Tests(NamedTuple):
    """What decides about a subscription by itself: its literals, then its program if it has one."""

    starts: Integers
    literals: Codes
    pool: Codes
    program: Numbers
    """By subscription, the number of its program, or -1."""
    program_starts: Integers
    tested: Codes
    """The literals of programs."""
    jumps: Numbers
    """The next literal of each if it fails, and if it holds."""


def tests_of(packed: Packed) -> Tests:
    programs = packed.programs
    numbers = np.full(len(packed), -1, np.int32)
    numbers[programs.owner] = np.arange(len(programs))
    jumps = np.stack([programs.if_false, programs.if_true], axis=1)
    return Tests(
        packed.starts, packed.literals.columns, packed.pool,
        numbers, programs.starts, programs.literals.columns, jumps,
    )  # fmt: skip


class Tile(NamedTuple):
    """Events side by side: their codes by field, and in which fields they may have one.

    Event ``e`` has the fields ``field_starts[e]`` to ``field_starts[e + 1]``; where there is but
    one such stretch, all have the same.
    """

    codes: Codes
    field_starts: Integers
    fields: Numbers


class Scratch(NamedTuple):
    """Room for what is found on the way; made once, used by one thread."""

    pair_starts: Integers
    """By event, its first pair; a pair is an event that has come to a block."""
    pair_block: Numbers
    result: Numbers
    """By pair, which of `found` it has, or -1 if the block has nothing for the event."""
    found: Words
    by_block: Integers
    order: Numbers
    """The pairs, block by block."""
    pair_event: Numbers
    seen: Words
    """By subscription, whether it matches the event that is looked at."""
    parts: Words
    """The same of 4,096 subscriptions together."""
    codes: Codes
    """The codes of sparse events, all absent between tiles."""
    points: Halves
    """The codes of the events that are looked at, where the grid has boxes."""


def scratch_for(layout: Layout, count: int, fields: int, events: int) -> Scratch:
    """Room for a tile of so many events with a code in each field, and for its answers."""
    blocks = len(layout.blocks.starts) - 1
    pairs = min(events * blocks, max(LEAST_PAIRS, min(MOST_PAIRS, USES * blocks))) + blocks + 1
    return Scratch(
        np.zeros(events + 1, np.int64),
        np.zeros(pairs, np.int32),
        np.zeros(pairs, np.int32),
        aligned(pairs),
        np.zeros(blocks + 1, np.int64),
        np.zeros(pairs, np.int32),
        np.zeros(pairs, np.int32),
        np.zeros((count + 63) >> 6, np.uint64),
        np.zeros((count + 4095) >> 12, np.uint64),
        np.zeros((events, fields), np.uint32),
        points_for(events, layout.grid.boxes),
    )


class Alive(NamedTuple):
    """Which subscriptions may match: a bit each, as they stand in blocks, and by number."""

    in_blocks: Words
    by_number: Words


@compiled
def scatter(entries: Entries, first: Scalar, stop: Scalar, codes: Codes, is_over: Scalar) -> None:
    """Put the codes of some events into rows of their own, or clear these rows."""
    starts, fields, found = entries
    for event in range(first, stop):
        for at in range(starts[event], starts[event + 1]):
            codes[event - first, fields[at]] = 0 if is_over else found[at]
