"""The cuts of one attribute: where, in the order of its values, some predicate changes its mind.

Code 0 is absence, code 1 lies below all cuts, and every cut begins a new code. Which predicates
hold for a value depends on its code alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.types import Key, Type
from penstock.host.keys import has_short_keys, keys_of

Codes = npt.NDArray[np.uint32]
Keys = npt.NDArray[Any]
"""64-bit integers where the type's keys fit, else Python's integers or strings."""

ABSENT = 0
LOWEST = 1
"""The code of values below all cuts."""


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

    def codes_of(self, column: pa.Array) -> Codes:
        """The code of each value of a column, `ABSENT` where it is NULL.

        Long keys are few, and slow to compare: each is looked up once.
        """
        encoded = column.dictionary_encode()
        known = self.code_of(keys_of(encoded.dictionary, self.type))
        indices = np.asarray(encoded.indices.fill_null(len(known)))
        codes: Codes = np.append(known, np.uint32(ABSENT))[indices]
        return codes
