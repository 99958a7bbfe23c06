"""The cuts of one attribute: where, in the order of its values, some predicate changes its mind.

Code 0 is absence, code 1 lies below all cuts, and every cut begins a new code. Which predicates
hold for a value depends on its code alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.types import Key, Type
from penstock.host.keys import keys_of
from penstock.host.software.compiled import Scalar, compiled

Codes = npt.NDArray[np.uint32]
Keys = npt.NDArray[Any]
"""64-bit integers where the type's keys fit, else Python's integers or strings."""

ABSENT = 0
LOWEST = 1
"""The code of values below all cuts."""
BUCKETS_PER_CUT = 4
LEAST_BUCKETS = 1 << 10
MAX_BUCKETS = 1 << 22


def has_short_keys(of: Type) -> bool:
    """Whether the keys of a type are integers of 64 bits."""
    return of.key_bits is not None and of.key_bits <= 64


@dataclass(frozen=True, eq=False)
class Cuts:
    """Keys in order, without doubles."""

    keys: Keys
    type: Type

    @classmethod
    def of(cls, keys: Iterable[Key], of: Type) -> Cuts:
        if has_short_keys(of):
            return cls(np.unique(np.array(list(keys), dtype=np.int64)), of)
        made = np.empty(len(found := sorted(set(keys))), dtype=object)
        made[:] = found
        return cls(made, of)

    @property
    def codes(self) -> int:
        """How many codes there are; also the code beyond the last, where open ranges end."""
        return len(self.keys) + 2

    def code_at(self, keys: Keys) -> Codes:
        """The code that begins at each of some cuts."""
        return (np.searchsorted(self.keys, keys, side="left") + 2).astype(np.uint32)

    def code_after(self, keys: Keys) -> Codes:
        """The code that begins just after each of some keys: at the next cut."""
        return (np.searchsorted(self.keys, keys, side="right") + 2).astype(np.uint32)

    def code_of(self, keys: Keys) -> Codes:
        """The code in which each key lies."""
        return (np.searchsorted(self.keys, keys, side="right") + 1).astype(np.uint32)

    def encode(self, column: pa.Array, codes: Codes) -> None:
        """Write the code of each value of a column, `ABSENT` where it is NULL."""
        if not has_short_keys(self.type):
            codes[:] = self._by_distinct(column)
            return
        is_plain = self.type.is_integral and not column.null_count
        keys = np.asarray(column) if is_plain else keys_of(column, self.type)
        _search(keys, self.keys, *self._buckets, codes)
        if column.null_count:
            codes[np.asarray(column.is_null())] = ABSENT

    def _by_distinct(self, column: pa.Array) -> Codes:
        """Long keys are few, and slow to compare: each is looked up once."""
        encoded = column.dictionary_encode()
        known = self.code_of(keys_of(encoded.dictionary, self.type))
        indices = np.asarray(encoded.indices.fill_null(len(known)))
        codes: Codes = np.append(known, np.uint32(ABSENT))[indices]
        return codes

    @cached_property
    def _buckets(self) -> tuple[Codes, int]:
        """How many cuts lie before each stretch of ``1 << shift`` keys from the first cut on.

        A search is one within a stretch, which has a cut or two wherever they lie evenly.
        """
        if not len(self.keys):
            return np.zeros(1, np.uint32), 0
        spread = int(self.keys[-1]) - int(self.keys[0])
        wanted = min(MAX_BUCKETS, max(LEAST_BUCKETS, BUCKETS_PER_CUT * len(self.keys)))
        shift = max(0, (spread // wanted).bit_length())
        offsets = self.keys.astype(np.uint64) - np.uint64(int(self.keys[0]) % 2**64)
        bounds = np.arange((spread >> shift) + 2, dtype=np.uint64)
        found = np.searchsorted(offsets >> np.uint64(shift), bounds, side="left")
        return found.astype(np.uint32), shift


@compiled
def _search(keys: Keys, cuts: Keys, starts: Codes, shift: Scalar, codes: Codes) -> None:
    """Count the cuts at or below each key, plus one."""
    if not len(cuts):
        codes[:] = LOWEST
        return
    first, last = cuts[0], cuts[-1]
    for n in range(len(keys)):
        key = keys[n]
        if key < first:
            codes[n] = LOWEST
        elif key >= last:
            codes[n] = LOWEST + len(cuts)
        else:
            bucket = np.int64((np.uint64(np.int64(key)) - np.uint64(first)) >> np.uint64(shift))
            low, high = np.int64(starts[bucket]), np.int64(starts[bucket + 1])
            while low < high:
                middle = (low + high) >> 1
                if cuts[middle] <= key:
                    low = middle + 1
                else:
                    high = middle
            codes[n] = LOWEST + low
