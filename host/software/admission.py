"""Whether a literal holds, for a code or for an event of a tile."""

from __future__ import annotations

import numpy as np

from penstock.host.software.compiled import Scalar, inlined
from penstock.host.software.cuts import Codes


@inlined
def admits(literals: Codes, place: Scalar, pool: Codes, code: Scalar) -> Scalar:
    """Whether a literal holds for a code."""
    low, high = np.int64(literals[place, 1]), np.int64(literals[place, 2])
    if not literals[place, 3]:
        return low <= code and code < high
    for at in range(low, high):
        if code < np.int64(pool[2 * at + 1]):
            return np.int64(pool[2 * at]) <= code
    return False


@inlined
def has(literals: Codes, place: Scalar, pool: Codes, codes: Codes, event: Scalar) -> Scalar:
    """Whether a literal holds for an event of a tile."""
    return admits(literals, place, pool, np.int64(codes[event, literals[place, 0]]))
