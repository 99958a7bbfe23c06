"""Which subscriptions a call asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.queryset import QuerySet


class Subset:
    """The subscriptions of some ids, those of an owner, or of both; all without either.

    What is asked may change between two batches of a call: an id may be removed, an owner may
    get more.
    """

    def __init__(self, ids: Sequence[str] | None, owner: str | None) -> None:
        self._ids = None if ids is None else sorted(set(ids))
        self._owner = owner
        self.version = -1
        """Of the set that ``asked`` is for."""
        self.asked: pa.Array | None = None
        """What devices take as ``only``."""

    @property
    def is_everything(self) -> bool:
        return self._ids is None and self._owner is None

    def bring_up_to(self, version: int, queries: QuerySet) -> None:
        """Ask what there is to ask in a version of the set."""
        self.version, self.asked = version, self._of(queries)

    def _of(self, queries: QuerySet) -> pa.Array | None:
        if self._ids is None:
            return None if self._owner is None else queries.owned_by(self._owner)
        asked = pa.array([id for id in self._ids if id in queries], pa.string())
        if self._owner is None:
            return asked
        return asked.filter(pc.is_in(asked, value_set=queries.owned_by(self._owner)))


def ids_in(only: Any) -> list[str]:
    """Ids as a list, from a list, an Arrow array or the like."""
    if isinstance(only, str) or not isinstance(only, Iterable):
        raise TypeError(f"ids are a list of strings, not {only!r}")
    ids: list[str] = (
        only.to_pylist() if isinstance(only, pa.Array | pa.ChunkedArray) else list(only)
    )
    return ids
