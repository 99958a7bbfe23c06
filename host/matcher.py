"""The host API: events in, matches out, whatever the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.gen.errors import DeviceError
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.device import MATCHES, SCORED_MATCHES, Device
from penstock.host.events import Batch, to_table
from penstock.host.explain import Explanation, explain


class Matcher:
    """A query set opened on a device.

        with penstock.open(queries) as matcher:
            table = matcher.match(events)

    Events are Arrow tables or record batches, data frames, or lists of dicts; wide (a column
    per attribute) or sparse (one map column). Answers are Arrow tables, a row per event.
    """

    def __init__(self, queries: QuerySet, device: Device) -> None:
        self.queries = queries
        self._device: Device | None = device

    def match(
        self,
        events: Any,
        *,
        only: Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> pa.Table:
        """Which subscriptions match each event: columns ``event`` and ``matches``, ids in order.

        ``only`` names the subscriptions to ask; all are asked without it.
        """
        device, asked = self._open_device(), self._asked(only)
        return self._by_batch(events, lambda batch: device.match(batch, asked), MATCHES, progress)

    def top_k(
        self,
        events: Any,
        k: int,
        *,
        weights: Mapping[str, int] | None = None,
        only: Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> pa.Table:
        """The k best matches of each event with their scores, best first, equal scores by id.

        ``weights`` gives attributes a weight other than 1 in the score. ``only`` is as in `match`.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        by_index = {self.queries.schema[name].index: w for name, w in (weights or {}).items()}
        if any(weight < 0 for weight in by_index.values()):
            raise ValueError("an attribute's weight must not be negative")
        device, asked = self._open_device(), self._asked(only)
        return self._by_batch(
            events, lambda batch: device.top_k(batch, k, by_index, asked), SCORED_MATCHES, progress
        )

    def explain(self, events: Any, *, index: int, id: str) -> Explanation:
        """Why the event at ``index`` does or does not match subscription ``id``."""
        return explain(self.queries, events, index=index, id=id)

    @property
    def counters(self) -> Mapping[str, int]:
        """What the engine counts: cycles, chunks and stalls of a circuit, nothing in software."""
        return self._open_device().counters()

    def close(self) -> None:
        """Give back the device; the matcher answers no more."""
        if self._device is not None:
            self._device.close()
            self._device = None

    def __enter__(self) -> Matcher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open_device(self) -> Device:
        if self._device is None:
            raise DeviceError("this matcher is closed; open it again with penstock.open")
        return self._device

    def _asked(self, only: Iterable[str] | None) -> pa.Array | None:
        """Some ids as devices take them; KeyError if one is unknown."""
        if only is None:
            return None
        if isinstance(only, str):
            raise TypeError(f"only is a list of ids, not the id {only!r} itself")
        ids = only.to_pylist() if isinstance(only, pa.Array | pa.ChunkedArray) else list(only)
        for id in ids:
            self.queries.check_known(id)
        return pa.array(sorted(set(ids)), pa.string())

    def _by_batch(
        self,
        events: Any,
        answer: Callable[[Batch], pa.Array],
        of: pa.DataType,
        progress: Progress | None,
    ) -> pa.Table:
        table = to_table(events, self.queries.schema)
        answers = []
        size = self._open_device().batch_events
        for start in range(0, table.num_rows, size):
            if progress:
                progress("matching events", start, table.num_rows)
            batch = Batch.of(table.slice(start, size), self.queries.schema, first=start)
            answers.append(answer(batch))
        index = pa.array(np.arange(table.num_rows))
        return pa.table({"event": index, "matches": pa.chunked_array(answers, of)})
