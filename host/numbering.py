"""Ids as numbers: their places among all ids of a set in order."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from penstock.gen.errors import DeviceError
from penstock.host.device import NUMBERS
from penstock.host.once import once
from penstock.host.software.names import NameTable


class Numbering:
    """The places of some ids among themselves, in order of their bytes, from 0."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = list(ids)

    @once
    def _table(self) -> NameTable:
        return NameTable(sorted(self._ids))

    def of(self, matches: pa.Array) -> pa.Array:
        """Lists of ids as lists of places."""
        found = self._table.find(matches.values)
        if found is None:
            raise DeviceError("a match is of no subscription of the set")
        return pa.ListArray.from_arrays(matches.offsets, pa.array(found)).cast(NUMBERS)
