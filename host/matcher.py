"""The host API: events in, matches out, whatever the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.gen.errors import DeviceError
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.device import MATCHES, SCORED_MATCHES, Device
from penstock.host.events import to_table, to_wide
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

    def match(self, events: Any, *, progress: Progress | None = None) -> pa.Table:
        """Which subscriptions match each event: columns ``event`` and ``matches``, ids in order."""
        device = self._open_device()
        return self._by_batch(events, device.match, MATCHES, progress)

    def top_k(
        self,
        events: Any,
        k: int,
        *,
        weights: Mapping[str, int] | None = None,
        progress: Progress | None = None,
    ) -> pa.Table:
        """The k best matches of each event with their scores, best first, equal scores by id.

        ``weights`` gives attributes a weight other than 1 in the score.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        by_index = {self.queries.schema[name].index: w for name, w in (weights or {}).items()}
        if any(weight < 0 for weight in by_index.values()):
            raise ValueError("an attribute's weight must not be negative")
        device = self._open_device()
        return self._by_batch(
            events, lambda batch: device.top_k(batch, k, by_index), SCORED_MATCHES, progress
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

    def _by_batch(
        self,
        events: Any,
        answer: Callable[[pa.RecordBatch], pa.Array],
        of: pa.DataType,
        progress: Progress | None,
    ) -> pa.Table:
        table = to_table(events, self.queries.schema)
        answers = []
        size = self._open_device().batch_events
        for start in range(0, table.num_rows, size):
            if progress:
                progress("matching events", start, table.num_rows)
            batch = to_wide(table.slice(start, size), self.queries.schema, first=start)
            answers.append(answer(batch))
        index = pa.array(np.arange(table.num_rows))
        return pa.table({"event": index, "matches": pa.chunked_array(answers, of)})
