"""Answers of devices, a list of matches per event, taken apart and put together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.host.device import MATCHES, SCORED_MATCHES

Integers = npt.NDArray[np.int64]


def restricted(matches: pa.Array, only: pa.Array) -> pa.Array:
    """The matches that are among some ids, in the order in which they were."""
    kept = pc.is_in(matches.flatten(), value_set=only)
    before = np.concatenate([[0], np.cumsum(np.asarray(kept), dtype=np.int64)])
    ends = np.cumsum(_lengths(matches))
    offsets = before[np.concatenate([[0], ends])]
    ids = matches.flatten().filter(kept)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), ids).cast(MATCHES)


def merged(first: pa.Array, second: pa.Array) -> pa.Array:
    """The matches of both answers to the same events, in order of id; none is in both."""
    ids = pa.concat_arrays([first.flatten(), second.flatten()])
    events = np.concatenate([_events(first), _events(second)])
    order = np.lexsort((_by_id(ids), events))
    return _lists(ids.take(pa.array(order)), events[order], len(first)).cast(MATCHES)


def best_of(first: pa.Array, second: pa.Array, k: int) -> pa.Array:
    """The k best of both answers to the same events, equal scores by id; none is in both."""
    found = pa.concat_arrays([first.flatten(), second.flatten()])
    ids, scores = found.flatten()
    events = np.concatenate([_events(first), _events(second)])
    order = np.lexsort((_by_id(ids), -np.asarray(scores), events))
    events = events[order]
    is_kept = np.arange(len(events)) - np.searchsorted(events, events) < k
    return _lists(found.take(pa.array(order[is_kept])), events[is_kept], len(first)).cast(
        SCORED_MATCHES
    )


def _by_id(ids: pa.Array) -> Integers:
    """Numbers in the order of the ids."""
    encoded = ids.dictionary_encode()
    by_id = np.asarray(pc.rank(encoded.dictionary, tiebreaker="dense")).astype(np.int64)
    ranks: Integers = by_id[np.asarray(encoded.indices)]
    return ranks


def _lists(values: pa.Array, events: Integers, count: int) -> pa.Array:
    """A list for each of so many events, from the values and the event of each, in order."""
    offsets = np.searchsorted(events, np.arange(count + 1))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _lengths(matches: pa.Array) -> Integers:
    return np.asarray(pc.list_value_length(matches)).astype(np.int64)


def _events(matches: pa.Array) -> Integers:
    """The event of each match."""
    return np.repeat(np.arange(len(matches)), _lengths(matches))
