"""By which of its literals each subscription is looked up: the one that fewest events satisfy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.host.software.compiled import compiled
from penstock.host.software.cuts import Codes
from penstock.host.software.packed import Flags, Integers, Numbers, Packed

Floats = npt.NDArray[np.float64]

NOWHERE = -1
"""The field of a subscription that has no literal which an event without values fails."""


@dataclass(frozen=True, eq=False)
class Access:
    """By subscription: its access literal, and that one's field, first and last code and chance."""

    literal: Integers
    field: Numbers
    low: Codes
    high: Codes
    chance: Floats


def access_of(packed: Packed, chances: Floats) -> Access:
    """The literal of each subscription that is likeliest to fail."""
    count = len(packed)
    literals = packed.literals
    found = Access(
        np.full(count, NOWHERE, np.int64),
        np.full(count, NOWHERE, np.int32),
        np.zeros(count, np.uint32),
        np.zeros(count, np.uint32),
        np.ones(count),
    )
    _choose(
        packed.starts, literals.field, literals.low, literals.high, literals.is_set, packed.pool,
        chances, _needs_value(packed),
        found.literal, found.field, found.low, found.high, found.chance,
    )  # fmt: skip
    return found


def chances_of(packed: Packed) -> Floats:
    """The chance that an event satisfies each literal.

    Values lie between any two cuts alike, and events have an attribute as often as subscriptions
    ask for it: nothing is known of events before they come.
    """
    literals = packed.literals
    uses = np.bincount(literals.field, minlength=len(packed.fields) + 1).astype(np.float64)
    present = uses / max(1.0, uses.max(initial=0.0))
    codes = np.array([*(field.codes for field in packed.fields), 1], np.float64)
    found: Floats = present[literals.field] * (_covered(packed) / codes[literals.field])
    return found


def _covered(packed: Packed) -> Floats:
    """How many codes each literal admits."""
    literals = packed.literals
    sizes = (packed.pool[1::2].astype(np.int64) - packed.pool[::2]).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(sizes)])
    places = np.where(literals.is_set, literals.low, 0), np.where(literals.is_set, literals.high, 0)
    in_sets = sums[places[1]] - sums[places[0]]
    plain = literals.high.astype(np.int64) - literals.low
    covered: Floats = np.where(literals.is_set, in_sets, plain).astype(np.float64)
    return covered


def _needs_value(packed: Packed) -> Flags:
    """Which literals fail where the field has no value."""
    literals = packed.literals
    lowest = literals.low.copy()
    if len(packed.pool):
        first = packed.pool[2 * np.where(literals.is_set, literals.low, 0).astype(np.int64)]
        lowest = np.where(literals.is_set, first, lowest)
    found: Flags = lowest > 0
    return found


@compiled
def _choose(
    starts: Integers,
    fields: Codes,
    lows: Codes,
    highs: Codes,
    is_set: Flags,
    pool: Codes,
    chances: Floats,
    needs_value: Flags,
    literal: Integers,
    field: Numbers,
    low: Codes,
    high: Codes,
    chance: Floats,
) -> None:
    for number in range(len(literal)):
        for place in range(starts[number], starts[number + 1]):
            if needs_value[place] and (literal[number] < 0 or chances[place] < chance[number]):
                literal[number], chance[number] = place, chances[place]
        place = literal[number]
        if place >= 0:
            field[number] = fields[place]
            low[number], high[number] = lows[place], highs[place]
            if is_set[place]:
                low[number] = pool[2 * np.int64(lows[place])]
                high[number] = pool[2 * np.int64(highs[place]) - 1]
