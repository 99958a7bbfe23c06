"""A device that threads may share, from one that they may not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

import pyarrow as pa

from penstock.gen.queryset import QuerySet
from penstock.host.device import Device
from penstock.host.events import Batch


class OneAtATime:
    """Lets one thread at a time through to a device: a batch, an update or a question."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = Lock()

    @property
    def batch_events(self) -> int:
        return self._device.batch_events

    def match(self, events: Batch, only: pa.Array | None = None) -> pa.Array:
        with self._lock:
            return self._device.match(events, only)

    def top_k(
        self, events: Batch, k: int, weights: Mapping[int, int], only: pa.Array | None = None
    ) -> pa.Array:
        with self._lock:
            return self._device.top_k(events, k, weights, only)

    def add(self, queries: QuerySet) -> None:
        with self._lock:
            self._device.add(queries)

    def remove(self, ids: Sequence[str]) -> None:
        with self._lock:
            self._device.remove(ids)

    def where(self, id: str) -> str:
        with self._lock:
            return self._device.where(id)

    def counters(self) -> Mapping[str, int]:
        with self._lock:
            return self._device.counters()

    def stats(self) -> Mapping[str, int]:
        with self._lock:
            return self._device.stats()

    def close(self) -> None:
        with self._lock:
            self._device.close()
