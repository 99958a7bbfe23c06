"""The host API: events in, matches out, whatever the engine; subscriptions that come and go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.errors import DeviceError
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.device import MATCHES, NUMBERS, SCORED_MATCHES, Device, NumberedDevice
from penstock.host.events import Batch, to_table
from penstock.host.expiries import Expiries, ForwardClock, system_clock
from penstock.host.explain import Explanation, explain
from penstock.host.numbering import Numbering
from penstock.host.saved.folder import SavedSet
from penstock.host.statistics import Stats, Tally
from penstock.host.subset import Subset, ids_in


class Matcher:
    """A query set opened on a device.

        with penstock.open(queries) as matcher:
            table = matcher.match(events)

    Events are Arrow tables or record batches, data frames, or lists of dicts; wide (a column
    per attribute) or sparse (one map column). Answers are Arrow tables, a row per event.

    Subscriptions that are added or removed, or that expire, do so between two batches. Threads
    may share a matcher.
    """

    def __init__(
        self,
        queries: QuerySet,
        device: Device,
        *,
        saved: SavedSet | None = None,
        clock: ForwardClock | None = None,
    ) -> None:
        self.queries = queries
        """What is matched, for reading; `add` and `remove` change it."""
        self._device: Device | None = device
        self._saved = saved
        self._clock = clock or ForwardClock(system_clock)
        self._changing = RLock()
        self._version = 0
        self._expiries = Expiries(queries)
        self._tally = Tally()

    def match(
        self,
        events: Any,
        *,
        only: Iterable[str] | None = None,
        owner: str | None = None,
        progress: Progress | None = None,
    ) -> pa.Table:
        """Which subscriptions match each event: columns ``event`` and ``matches``, ids in order.

        ``only`` asks the subscriptions of some ids, ``owner`` those of one owner.
        """
        device, subset = self._open_device(), self._subset(only, owner)
        return self._by_batch(events, device.match, subset, MATCHES, progress)

    def match_numbers(self, events: Any, *, progress: Progress | None = None) -> pa.Table:
        """As `match`, each id as its place among all ids in order, from 0: ``list<int32>``.

        All ids are those that there are when a batch is matched: this is for sets that stay.
        """
        device, everything = self._open_device(), Subset(None, None)
        if isinstance(device, NumberedDevice):
            return self._by_batch(
                events, lambda batch, _: device.match_numbers(batch), everything, NUMBERS, progress
            )

        def answer(batch: Batch, asked: pa.Array | None) -> pa.Array:
            return Numbering(self.queries.ids).of(device.match(batch))

        return self._by_batch(events, answer, everything, NUMBERS, progress)

    def top_k(
        self,
        events: Any,
        k: int,
        *,
        weights: Mapping[str, int] | None = None,
        only: Iterable[str] | None = None,
        owner: str | None = None,
        progress: Progress | None = None,
    ) -> pa.Table:
        """The k best matches of each event with their scores, best first, equal scores by id.

        ``weights`` gives attributes a weight other than 1 in the score; ``only`` and ``owner``
        are as in `match`.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        by_index = {self.queries.schema[name].index: w for name, w in (weights or {}).items()}
        if any(weight < 0 for weight in by_index.values()):
            raise ValueError("an attribute's weight must not be negative")
        device, subset = self._open_device(), self._subset(only, owner)

        def answer(batch: Batch, asked: pa.Array | None) -> pa.Array:
            return device.top_k(batch, k, by_index, asked)

        return self._by_batch(events, answer, subset, SCORED_MATCHES, progress)

    def add(
        self,
        id: str,
        text: str,
        *,
        weight: int = 0,
        expires: datetime | None = None,
        owner: str | None = None,
    ) -> None:
        """Add a subscription from its condition, for the next batch on."""
        added = self.queries.empty()
        added.add(id, text, weight=weight, expires=expires, owner=owner or "")
        self._add(added)

    def add_predicates(self, table: pa.Table, *, source: str = "table") -> None:
        """Add all subscriptions of a table of predicates, or none if anything is wrong."""
        added = self.queries.empty()
        added.add_predicates(table, source=source)
        self._add(added)

    def remove(self, id: str) -> None:
        """Take a subscription out, from the next batch on; KeyError if there is none of this id."""
        self.remove_all([id])

    def remove_all(self, ids: Iterable[str]) -> None:
        """Take subscriptions out, or none if one of the ids is unknown."""
        gone = list(dict.fromkeys(ids_in(ids)))
        with self._change() as (device, now):
            for id in gone:
                self.queries.check_known(id)
            if self._saved:
                self._saved.remove(gone, now)
            self._take_out(device, gone)

    def where(self, id: str) -> str:
        """In which part of the engine a subscription lives; KeyError if there is none."""
        self.queries.check_known(id)
        return self._open_device().where(id)

    def save(self, path: str | Path) -> None:
        """Save the set to a folder, and log every change that comes later there too."""
        path = Path(path)
        with self._change() as (_, now):
            if self._saved and self._saved.path.resolve() == path.resolve():
                self._saved.replace(self.queries, now)
                return
            saved = SavedSet.make(path, self.queries, now)
            if self._saved:
                self._saved.close()
            self._saved = saved

    def explain(self, events: Any, *, index: int, id: str) -> Explanation:
        """Why the event at ``index`` does or does not match subscription ``id``."""
        return explain(self.queries, events, index=index, id=id)

    @property
    def counters(self) -> Mapping[str, int]:
        """What the engine counts: cycles, chunks and stalls of a circuit, nothing in software."""
        return self._open_device().counters()

    @property
    def stats(self) -> Stats:
        """What has been answered so far, and where the subscriptions live."""
        return self._tally.stats(self._open_device().stats())

    def close(self) -> None:
        """Give back the device and the saved set; the matcher answers no more."""
        with self._changing:
            if self._saved is not None:
                self._saved.close()
                self._saved = None
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

    @contextmanager
    def _change(self) -> Iterator[tuple[Device, datetime]]:
        """The device for one thread to change, and the time; what has expired is gone."""
        with self._changing:
            device = self._open_device()
            now = self._clock()
            due = self._expiries.pop_due(now)
            if due:
                self._take_out(device, due)
            yield device, now

    def _add(self, added: QuerySet) -> None:
        with self._change() as (device, now):
            self.queries.check_new(added.ids)
            if self._saved:
                self._saved.add(added, now)
            try:
                device.add(added)
            except BaseException:
                if self._saved:
                    self._saved.withdraw()
                raise
            self.queries.extend(added)
            self._expiries.add(added.expiries())
            self._version += 1

    def _take_out(self, device: Device, ids: list[str]) -> None:
        for id in ids:
            self.queries.remove(id)
        self._version += 1
        device.remove(ids)

    def _subset(self, only: Iterable[str] | None, owner: str | None) -> Subset:
        if owner is not None and not isinstance(owner, str):
            raise TypeError(f"an owner is a string, not {owner!r}")
        ids = None if only is None else ids_in(only)
        for id in ids or ():
            self.queries.check_known(id)
        return Subset(ids, owner)

    def _asked(self, subset: Subset) -> pa.Array | None:
        """What a batch asks, once what has expired is gone."""
        if self._expiries.is_due(self._clock()):
            with self._change():
                pass
        if not subset.is_everything and subset.version != self._version:
            with self._changing:
                subset.bring_up_to(self._version, self.queries)
        return subset.asked

    def _by_batch(
        self,
        events: Any,
        answer: Callable[[Batch, pa.Array | None], pa.Array],
        subset: Subset,
        of: pa.DataType,
        progress: Progress | None,
    ) -> pa.Table:
        table = to_table(events, self.queries.schema)
        answers: list[pa.Array] = []
        start = 0
        while start < table.num_rows:
            size = self._open_device().batch_events  # a device may learn how long events take
            if progress:
                progress("matching events", start, table.num_rows)
            began = time.perf_counter()
            batch = Batch.of(table.slice(start, size), self.queries.schema, first=start)
            found = answer(batch, self._asked(subset))
            seconds = time.perf_counter() - began
            matches = pc.sum(pc.list_value_length(found)).as_py() or 0
            self._tally.add(events=batch.rows, matches=matches, seconds=seconds)
            answers.append(found)
            start += size
        index = pa.array(np.arange(table.num_rows))
        return pa.table({"event": index, "matches": pa.chunked_array(answers, of)})
