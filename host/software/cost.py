"""What an event is thought to take, whether it is held against all blocks or led to some.

The seconds are those of one core in these benches, and only their proportions matter.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from penstock.host.software.access import NOWHERE, Access, Floats
from penstock.host.software.blocks import MAX_SLOTS, WIDTH
from penstock.host.software.packed import Numbers, Packed

ROW_SECONDS = 1.5e-9
"""A row, where every event is held against all blocks."""
SLOT_SECONDS = 3e-9
"""A slot of a block that an event is led to."""
VISIT_SECONDS = 6e-9
"""To look into the lists of a field."""
MARK_SECONDS = 8e-9
"""To bring a match into the order of ids, where blocks have their members in another one."""
EVENT_FIELDS = 20
"""How many of the attributes that are asked for an event is thought to have, at most."""


class Cost(NamedTuple):
    """What an event is thought to take, in seconds, either way."""

    all_blocks: float
    by_access: float

    @property
    def is_flat(self) -> bool:
        return self.all_blocks <= self.by_access


def cost_of(packed: Packed, access: Access, order: Numbers, chances: Floats) -> Cost:
    """The cost of subscriptions in the order of their access literals."""
    uses = np.bincount(packed.literals.field, minlength=len(packed.fields) + 1)
    asked, blocks = np.count_nonzero(uses), -(-len(order) // WIDTH)
    present = uses * min(1 / max(1, uses.max()), EVENT_FIELDS / max(1, uses.sum()))
    present[NOWHERE] = 1
    fields, spans = _blocks_by_access(packed, access, order)
    visits = VISIT_SECONDS * present[np.unique(fields)].sum()
    slots = SLOT_SECONDS * min(MAX_SLOTS, int(asked)) * (present[fields] * spans).sum()
    marks = MARK_SECONDS * _matches(packed, chances)
    return Cost(ROW_SECONDS * float(asked) * (blocks + 1), float(visits + slots + marks))


def _matches(packed: Packed, chances: Floats) -> float:
    """How many an event is thought to match, if no literal says anything of the others."""
    logs = np.log(np.maximum(chances, np.finfo(np.float64).tiny))
    sums = np.concatenate([np.zeros(1), np.cumsum(logs)])
    return float(np.exp(sums[packed.starts[1:]] - sums[packed.starts[:-1]]).sum())


def _blocks_by_access(packed: Packed, access: Access, order: Numbers) -> tuple[Numbers, Floats]:
    """The access field of each block, and the share of its codes that lead to the block."""
    codes = np.array([*(field.codes for field in packed.fields), 1], np.float64)
    fields = access.field[order]
    bounds = np.searchsorted(fields, np.arange(NOWHERE, len(codes) + 1)).tolist()
    starts = np.concatenate([np.arange(*some, WIDTH) for some in pairwise(bounds)])
    if not len(starts):
        return fields, np.zeros(0)
    low = np.minimum.reduceat(access.low[order], starts).astype(np.float64)
    high = np.maximum.reduceat(access.high[order], starts)
    found = fields[starts]
    return found, np.where(found == NOWHERE, 1.0, (high - low) / codes[found])
