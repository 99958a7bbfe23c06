"""Which subscriptions share blocks: those looked up in one field, and those with the same fields.

A block has rows for few fields, and an event that comes to it is held against all of its members.
So the members of a block should ask for the same fields. Those that are looked up in one field, in
the order of their codes, fill blocks; what is left over of several such fields is put together
where it asks for the same other fields, as subscriptions on one subject do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.host.software.access import Access
from penstock.host.software.blocks import MAX_SLOTS, WIDTH
from penstock.host.software.packed import Integers, Numbers, Packed, ranges

LEAST = 24
"""Members that are worth a block; fewer are tested one by one."""
SHARED = 0.75
"""How many of the literals of a rest are on fields of the block that it is put into."""
LEAST_JOINED = 1000
"""Fewer subscriptions are soon tested one by one."""
MOST_FIELDS = 1 << 11
"""Beyond so many fields nobody looks for rests that belong together."""


class Groups(NamedTuple):
    """Members of blocks, -1 where a place is free, and subscriptions to be tested one by one."""

    members: Numbers
    always: int
    """How many blocks come first that are for every event."""
    single: Numbers


def grouped(packed: Packed, access: Access, order: Numbers, is_lasting: bool) -> Groups:
    """Blocks of subscriptions, which are in the order of their access literals."""
    fields = len(packed.fields)
    bounds = np.searchsorted(access.field[order], np.arange(-1, fields + 1))
    of_field = [order[bounds[n] : bounds[n + 1]] for n in range(fields + 1)]
    nowhere = padded(of_field[0])
    full = [group[: len(group) // WIDTH * WIDTH] for group in of_field[1:]]
    rests = [group[len(group) // WIDTH * WIDTH :] for group in of_field[1:]]
    joined = [rest for rest in rests if len(rest)]
    if is_lasting and fields < MOST_FIELDS and len(packed) >= LEAST_JOINED:
        joined = _joined(packed, joined)
    blocks = [padded(group) for group in joined if len(group) >= LEAST]
    none = np.zeros(0, np.int32)
    single = np.concatenate([none, *(group for group in joined if len(group) < LEAST)])
    members = np.concatenate([nowhere, *full, *blocks])
    return Groups(members, len(nowhere) // WIDTH, single)


def _joined(packed: Packed, rests: list[Numbers]) -> list[Numbers]:
    """Rests that ask for the same fields, as many as go into a block, as one."""
    uses = np.array([_uses(packed, rest) for rest in rests]).reshape(-1, len(packed.fields) + 1)
    sizes = np.array([len(rest) for rest in rests])
    literals = np.maximum(1, uses.sum(axis=1))
    waiting = np.ones(len(rests), bool)
    made = []
    for seed in np.argsort(-sizes, kind="stable").tolist():
        if not waiting[seed]:
            continue
        waiting[seed] = False
        chosen, size, used = [seed], sizes[seed], uses[seed].copy()
        while True:
            known = np.argsort(-used, kind="stable")[:MAX_SLOTS]
            shared = uses[:, known[used[known] > 0]].sum(axis=1) / literals
            shared[~waiting | (size + sizes > WIDTH)] = 0
            best = int(np.argmax(shared))
            if shared[best] < SHARED:
                break
            waiting[best] = False
            chosen.append(best)
            size, used = size + sizes[best], used + uses[best]
        made.append(np.concatenate([rests[n] for n in chosen]))
    return made


def _uses(packed: Packed, members: Numbers) -> Integers:
    """How often some subscriptions ask for each field."""
    places = ranges(packed.starts[members], packed.starts[members + 1])
    return np.bincount(packed.literals.field[places], minlength=len(packed.fields) + 1)


def padded(members: Iterable[int] | npt.NDArray[np.int32]) -> Numbers:
    """Members, and free places up to the end of their last block."""
    found = np.asarray(members, np.int32)
    padded = np.full(-(-len(found) // WIDTH) * WIDTH, -1, np.int32)
    padded[: len(found)] = found
    return padded
