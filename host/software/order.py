"""Answers of several segments brought together, in the order of ids or of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.host.software.compiled import Scalar, inlined, loop
from penstock.host.software.packed import Integers, Numbers
from penstock.host.software.segment import Segment


class Found(NamedTuple):
    """What a segment found: the numbers of event ``e`` end at ``ends[e]``; scores, if ranked."""

    ends: Integers
    numbers: Numbers
    scores: Integers


class Joined(NamedTuple):
    """The same of several segments, whose subscriptions are numbered one segment after another."""

    ends: Integers
    numbers: npt.NDArray[Any]
    scores: Integers


def joined(segments: Sequence[Segment], found: Sequence[Found], k: int) -> Joined:
    """All of it in the order of ids; or the k best of each event, where k is not 0."""
    if len(found) == 1:
        return Joined(*found[0])
    starts = np.cumsum([0, *(len(one.numbers) for one in found)])
    # Of two segments, where in `places` stands how many of one lie before each of the other.
    tables = np.zeros((len(found), len(found)), np.int64)
    places = []
    size = 0
    for later in range(len(found)):
        for earlier in range(later):
            places.append(segments[later].places_in(segments[earlier]))
            tables[earlier, later] = size
            size += len(places[-1])
    rows = len(found[0].ends)
    made = Joined(
        np.zeros(rows, np.int64),
        np.zeros(int(starts[-1]), np.int64),
        np.zeros(int(starts[-1]) if k else 0, np.int64),
    )
    used = _join(
        np.stack([one.ends for one in found]) + starts[:-1, None],
        starts,
        np.concatenate([one.numbers for one in found]),
        np.concatenate([one.scores for one in found]),
        tables,
        np.concatenate(places),
        np.cumsum([0, *(len(segment) for segment in segments[:-1])]),
        k,
        *made,
    )
    return Joined(made.ends, made.numbers[:used], made.scores[:used])


@inlined
def _is_before(
    one: Scalar, number: Scalar, other: Scalar, than: Scalar, tables: Integers, places: Numbers
) -> Scalar:
    """Whether a subscription's id lies before that of one in another segment."""
    if one < other:
        return number < places[tables[one, other] + than]
    return places[tables[other, one] + number] <= than


@loop
def _join(
    ends: Integers, starts: Integers, numbers: Numbers, scores: Integers, tables: Integers,
    places: Numbers, first_of: Integers, k: Scalar, to: Integers, into: Integers, worth: Integers,
) -> Scalar:  # fmt: skip
    """Take again and again what comes first of what is next in the segments."""
    used = 0
    at = starts
    for event in range(ends.shape[1]):
        begun = used
        while True:
            best = -1
            for n in range(len(ends)):
                if at[n] == ends[n, event]:
                    continue
                if best < 0:
                    best = n
                    continue
                score = scores[at[n]] - scores[at[best]] if k else np.int64(0)
                if score > 0 or (
                    score == 0
                    and _is_before(n, numbers[at[n]], best, numbers[at[best]], tables, places)
                ):
                    best = n
            if best < 0:
                break
            if k == 0 or used - begun < k:
                into[used] = first_of[best] + numbers[at[best]]
                if k:
                    worth[used] = scores[at[best]]
                used += 1
            at[best] += 1
        to[event] = used
    return used
