"""Keys as codes: the cuts of all fields in one array, each with a table of where to look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from penstock.host.software.compiled import Scalar, compiled, inlined, loop
from penstock.host.software.cuts import LOWEST, Codes, Keys
from penstock.host.software.packed import Integers, Numbers

BUCKETS_PER_CUT = 4
LEAST_BUCKETS = 1 << 6
MAX_BUCKETS = 1 << 22


class Lookup(NamedTuple):
    """Short cuts, field by field, in order and without doubles."""

    cuts: Keys
    starts: Integers
    """By field, where its cuts begin, and at last where they end."""
    buckets: Codes
    """How many cuts lie before each stretch of keys: what is below all cuts, then ``1 << shift``
    keys from the first cut on, and so forth.

    A search is one within a stretch, which has a cut or two wherever they lie evenly; a stretch of
    one key needs none.
    """
    bucket_starts: Integers
    shifts: Integers


def lookup_of(cuts: Sequence[Keys]) -> Lookup:
    """Of the cuts of each field."""
    starts = np.cumsum([0, *map(len, cuts)])
    keys = np.concatenate([np.zeros(0, np.int64), *cuts])
    return Lookup(keys, starts, *_bucketed(keys, starts))


@compiled
def _bucketed(cuts: Keys, starts: Integers) -> tuple[Codes, Integers, Integers]:
    fields = len(starts) - 1
    bucket_starts, shifts = np.zeros(fields + 1, np.int64), np.zeros(fields, np.int64)
    for field in range(fields):
        size: Scalar = 0
        count = starts[field + 1] - starts[field]
        if count:
            lowest, highest = cuts[starts[field]], cuts[starts[field + 1] - 1]
            wanted = np.uint64(min(MAX_BUCKETS, max(LEAST_BUCKETS, BUCKETS_PER_CUT * count)))
            spread = np.uint64(highest) - np.uint64(lowest)
            while spread > wanted:
                spread >>= np.uint64(1)
                shifts[field] += 1
            size = np.int64(spread) + 3
        bucket_starts[field + 1] = bucket_starts[field] + size
    buckets = np.zeros(bucket_starts[-1], np.uint32)
    for field in range(fields):
        first, shift = starts[field], np.uint64(shifts[field])
        for at in range(first, starts[field + 1]):
            offset = (np.uint64(cuts[at]) - np.uint64(cuts[first])) >> shift
            buckets[bucket_starts[field] + np.int64(offset) + 2] += 1
        for at in range(bucket_starts[field] + 1, bucket_starts[field + 1]):
            buckets[at] += buckets[at - 1]
    return buckets, bucket_starts, shifts


@inlined
def _code(
    key: Scalar, first: Scalar, stop: Scalar, lowest: Scalar, highest: Scalar, shift: Scalar,
    bucket: Scalar, cuts: Keys, buckets: Codes,
) -> Scalar:  # fmt: skip
    """Count the cuts at or below a key, of those from ``first`` to ``stop``, plus one."""
    key = np.int64(key)
    offset = (np.uint64(min(key, highest)) - np.uint64(lowest)) >> shift
    at = bucket + (np.int64(0) if key < lowest else np.int64(offset) + 1)
    low = first + np.int64(buckets[np.uint64(at + (shift == 0))])
    high = first + np.int64(buckets[np.uint64(at + 1)])
    if shift:  # otherwise a stretch is one key
        # Mostly one cut or none: to look at one takes less than to foresee whether there is one.
        is_above = (low < high) & (cuts[np.uint64(min(low, stop - 1))] <= key)
        low += is_above
        if is_above & (low < high):
            while low < high:
                middle = (low + high) >> 1
                if cuts[middle] <= key:
                    low = middle + 1
                else:
                    high = middle
    return np.int64(LOWEST) + low - first


@loop
def write_column(
    keys: Keys, field: Scalar, cuts: Keys, starts: Integers, buckets: Codes,
    bucket_starts: Integers, shifts: Integers, codes: Codes,
) -> None:  # fmt: skip
    """The code of each key of one field."""
    first, stop = starts[field], starts[field + 1]
    if first == stop:
        codes[:] = LOWEST
        return
    lowest, highest = cuts[first], cuts[stop - 1]
    shift, bucket = np.uint64(shifts[field]), bucket_starts[field]
    for n in range(len(keys)):
        codes[n] = _code(keys[n], first, stop, lowest, highest, shift, bucket, cuts, buckets)


@loop
def count_entries(attributes: Numbers, events: Integers, fields: Numbers, counts: Integers) -> None:
    """Add up, one place on, the entries of each event whose attribute is a field."""
    for n in range(len(events)):
        counts[events[n] + 1] += fields[attributes[n]] >= 0


@loop
def write_entries(
    attributes: Numbers, events: Integers, keys: Keys, fields: Numbers, places: Integers,
    cuts: Keys, starts: Integers, buckets: Codes, bucket_starts: Integers, shifts: Integers,
    into_fields: Numbers, into: Codes,
) -> None:  # fmt: skip
    """The code of each entry at the next place of its event; an attribute's field may be -1."""
    for n in range(len(events)):
        field = fields[attributes[n]]
        if field >= 0:
            at = places[events[n]]
            places[events[n]] = at + 1
            into_fields[at] = field
            first, stop = starts[field], starts[field + 1]
            into[at] = LOWEST
            if first < stop:
                into[at] = _code(
                    keys[n], first, stop, cuts[first], cuts[stop - 1], np.uint64(shifts[field]),
                    bucket_starts[field], cuts, buckets,
                )  # fmt: skip
