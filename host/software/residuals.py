"""What the index only narrows down, finished by the host: LIKE with more than a prefix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.gen.normal import Event, holds, make_event
from penstock.host.events import Batch, rows_of
from penstock.host.scoring import earned
from penstock.host.software.order import Found
from penstock.host.software.packed import Integers
from penstock.host.software.segment import Segment


def finished(segment: Segment, found: Found, batch: Batch) -> Found:
    """Only those matches that hold under the whole condition."""
    if not segment.residuals:
        return found
    owners = _owners(found)
    doubtful = np.flatnonzero(np.isin(found.numbers, list(segment.residuals)))
    events = _events(batch, owners[doubtful])
    kept = np.ones(len(found.numbers), bool)
    for at in doubtful.tolist():
        condition = segment.residuals[int(found.numbers[at])]
        kept[at] = holds(condition, events[int(owners[at])])
    counts = np.bincount(owners[kept], minlength=len(found.ends))
    return Found(np.cumsum(counts), found.numbers[kept], found.scores)


def scored(
    segment: Segment, found: Found, batch: Batch, k: int, weights: Mapping[int, int]
) -> Found:
    """The k best of those matches, all of them the host's to finish, by their exact scores."""
    owners = _owners(found)
    events = _events(batch, owners)
    best: list[list[tuple[int, int]]] = [[] for _ in found.ends]
    for owner, number in zip(owners.tolist(), found.numbers.tolist(), strict=True):
        score = earned(segment.residuals[number], events[owner], weights)
        if score is not None:
            best[owner].append((-score - int(segment.packed.base[number]), number))
    kept = [sorted(matches)[:k] for matches in best]
    flat = [match for matches in kept for match in matches]
    return Found(
        np.cumsum([len(matches) for matches in kept]).astype(np.int64),
        np.array([number for _, number in flat], np.int32),
        np.array([-score for score, _ in flat], np.int64),
    )


def _owners(found: Found) -> Integers:
    """The event of each match."""
    return np.repeat(np.arange(len(found.ends)), np.diff(found.ends, prepend=0))


def _events(batch: Batch, wanted: Integers) -> dict[int, Event]:
    """Some events of a batch, as conditions take them."""
    numbers = np.unique(wanted)
    if not len(numbers):
        return {}
    rows = rows_of(batch.wide().take(numbers), batch.schema)
    made = (make_event(row, batch.schema.attributes) for row in rows)
    return dict(zip(numbers.tolist(), made, strict=True))
