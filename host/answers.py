"""Answers of devices, lists of ids per event, taken apart and put together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.host.device import MATCHES

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
    encoded = ids.dictionary_encode()
    by_id = np.asarray(pc.rank(encoded.dictionary, tiebreaker="dense")).astype(np.int64)
    order = np.lexsort((by_id[np.asarray(encoded.indices)], events))
    counts = _lengths(first) + _lengths(second)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), ids.take(pa.array(order))).cast(
        MATCHES
    )


def _lengths(matches: pa.Array) -> Integers:
    return np.asarray(pc.list_value_length(matches)).astype(np.int64)


def _events(matches: pa.Array) -> Integers:
    """The event of each match."""
    return np.repeat(np.arange(len(matches)), _lengths(matches))
