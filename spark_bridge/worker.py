"""What runs in Spark's Python workers: engines that stay open, and the batches that they answer."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import penstock
from penstock.gen.errors import DataError, nearest
from penstock.gen.queryset import QuerySet
from penstock.host.matcher import Matcher
from penstock.spark_bridge.published import COLUMN, rules_of
from penstock.spark_bridge.shipping import Shipment, arrived

MOST_OPEN = 4
"""Engines that a worker keeps; the one that was not asked for longest goes first."""


class Job(NamedTuple):
    """What a task is to do; plain values, as they must reach workers that lack the package."""

    shipment: tuple[str, bytes | None] | None
    folder: str | None
    """Where published rules are, if there is no shipment."""
    engine: str
    columns: list[tuple[str, str]]
    """The columns of events that are sent to the engine, and the attributes that they are."""
    events: str | None
    """The column of maps, if events are sparse."""
    output: str
    k: int
    """How many of the best; 0 for all that matches."""
    weights: dict[str, int]
    into: str


def matched(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Batches of rows with what matches them."""
    for batch in batches:
        if not batch.num_rows:
            continue
        yield _with_answers(batch, answers(batch, job), job)


def answers(batch: pa.RecordBatch, job: Job) -> pa.Array:
    """A list for each row: of ids, of numbers, or of ids and scores."""
    matcher, numbers_of = _asked(batch, job)
    events = _events(batch, job)
    if job.k:
        return _one(matcher.top_k(events, job.k, weights=job.weights))
    found = _one(matcher.match(events))
    if job.output != "numbers":
        return found
    return pa.ListArray.from_arrays(found.offsets, numbers_of(found.values))


def called(
    shipment: tuple[str, bytes | None], engine: str, names: list[str],
    values: tuple[pa.Array, ...], named: dict[str, pa.Array],
) -> pa.Array:  # fmt: skip
    """The ids that match events whose attributes are the arguments of a call."""
    if len(values) > len(names):
        raise DataError(
            f"the function takes at most {len(names)} arguments ({', '.join(names)}), "
            f"not {len(values)}"
        )
    unknown = [name for name in named if name.lower() not in map(str.lower, names)]
    if unknown:
        raise DataError(
            f"the function has no argument {unknown[0]!r}; {nearest(unknown[0], names)}"
        )
    columns = {**dict(zip(names, values, strict=False)), **named}
    rows = len(next(iter(columns.values()), ()))
    events = pa.table({"": pa.nulls(rows), **columns})
    sent = Shipment(*shipment)
    matcher, _ = _opened(sent.digest, engine, lambda: arrived(sent))
    return _one(matcher.match(events))


def _one(table: pa.Table) -> pa.ListArray:
    return table["matches"].combine_chunks()


def _asked(batch: pa.RecordBatch, job: Job) -> tuple[Matcher, Numbering]:
    if job.shipment is not None:
        shipment = Shipment(*job.shipment)
        return _opened(shipment.digest, job.engine, lambda: arrived(shipment))
    assert job.folder is not None
    folder, version = Path(job.folder), batch.column(COLUMN)[0].as_py()
    return _opened(f"{folder} {version}", job.engine, lambda: rules_of(folder, version))


def _events(batch: pa.RecordBatch, job: Job) -> pa.Table:
    if job.events is not None:
        return pa.table({job.events: batch.column(job.events)})
    columns = {attribute: batch.column(column) for column, attribute in job.columns}
    return pa.table({"": pa.nulls(batch.num_rows), **columns})  # the first counts the rows


def _with_answers(batch: pa.RecordBatch, found: pa.ListArray, job: Job) -> pa.RecordBatch:
    if job.output != "pairs":
        return batch.append_column(job.into, found)
    rows = batch.take(pa.array(np.repeat(np.arange(batch.num_rows), np.diff(found.offsets))))
    values = found.flatten()
    if not job.k:
        return rows.append_column(job.into, values)
    id, score = values.flatten()
    return rows.append_column(job.into, id).append_column("score", score)


Numbering = Callable[[pa.Array], pa.Array]
_OPEN: dict[tuple[str, str], tuple[Matcher, Numbering]] = {}
"""The engines of this process by their rules and kind, the last one that was asked for at the end.
Rules go by their digest, or by the folder and version where they were published."""


def _opened(name: str, engine: str, rules: Callable[[], QuerySet]) -> tuple[Matcher, Numbering]:
    """The engine of a query set, opened when this process first sees its name."""
    key = (name, engine)
    known = _OPEN.pop(key, None)
    if known is None:
        while len(_OPEN) >= MOST_OPEN:
            _OPEN.pop(next(iter(_OPEN)))[0].close()
        queries = rules()
        known = penstock.open(queries, engine=engine), _Numbers([*queries.ids]).of
    _OPEN[key] = known
    return known


class _Numbers:
    """The place of each id among all in order; the table is made when it is first needed."""

    def __init__(self, ids: list[str]) -> None:
        self._ids = sorted(ids)
        self._table: Any = None

    def of(self, ids: pa.Array) -> pa.Array:
        if self._table is None:
            from penstock.host.software.names import NameTable

            self._table = NameTable(self._ids)
        found = self._table.find(ids)
        if found is None:
            raise DataError("a match is of no subscription that was sent")
        return pa.array(found, pa.int32())


@atexit.register
def close_all() -> None:
    """Close what is open in this process."""
    while _OPEN:
        _OPEN.popitem()[1][0].close()
