"""What runs in Spark's Python workers: engines that stay open, and the batches that they answer.

A worker answers in one thread, so nothing here is locked.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import penstock
from penstock.gen.errors import DataError, PenstockError, nearest
from penstock.gen.queryset import QuerySet
from penstock.host.matcher import Matcher
from penstock.host.numbering import Numbering
from penstock.spark_bridge.observed import SPENT, Tally, with_numbers
from penstock.spark_bridge.published import COLUMN, digest_at, rules_of
from penstock.spark_bridge.shipping import Shipment, arrived

MOST_OPEN = 4
"""Engines that a worker keeps; the one that was not asked for longest goes first."""
MOST_BYTES = 2_000_000_000
"""Of the answers to a batch: Arrow's lists of text end at 2 GiB."""


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
    is_observed: bool = False
    """Whether batches bear the numbers that metrics are made of."""


class Opened(NamedTuple):
    """An engine, the number of its first id, and what numbers ids if the engine cannot."""

    matcher: Matcher
    numbering: Numbering | None = None
    first: int = 0


class Key(NamedTuple):
    """What an engine of this process is for."""

    rules: str
    """The digest of the rules, or the folder where they are published."""
    engine: str
    part: str = ""
    """Which version, which shard. Of the shards of the same rules only one is open."""


def matched(batches: Iterator[pa.RecordBatch], values: tuple[Any, ...]) -> Iterator[pa.RecordBatch]:
    """Batches of rows with what matches them, as the values of a `Job` say."""
    job = Job(*values)
    tally = Tally() if job.is_observed else None
    for batch in batches:
        if not batch.num_rows:
            continue
        found = answers(events_of(batch, job), _asked(batch, job), job)
        rows = with_answers(batch, found, job)
        if tally:
            rows = with_numbers(
                rows if rows.num_rows else _one_row(batch, job), tally.numbers(found)
            )
        yield rows


def answers(events: pa.Table, opened: Opened, job: Job) -> pa.ListArray:
    """A list for each event: of ids, of numbers, or of ids and scores."""
    began = time.perf_counter()
    found = _answers(events, opened, job)
    SPENT.matching_seconds += time.perf_counter() - began
    return found


def _answers(events: pa.Table, opened: Opened, job: Job) -> pa.ListArray:
    matcher, numbering, first = opened
    if job.k:
        return _one(matcher.top_k(events, job.k, weights=job.weights))
    if job.output != "numbers":
        return _one(matcher.match(events))
    if numbering:
        found = numbering.of(_one(matcher.match(events)))
    else:
        found = _one(matcher.match_numbers(events))
    if not first:
        return found
    return pa.ListArray.from_arrays(
        found.offsets, pc.add(found.values, pa.scalar(first, pa.int32()))
    )


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
    opened = open_once(Key(sent.digest, engine), lambda: started(arrived(sent), engine))
    return _one(opened.matcher.match(events))


def _one(table: pa.Table) -> pa.ListArray:
    matches = table["matches"]
    if matches.nbytes > MOST_BYTES:
        raise DataError(too_much(len(matches), matches.nbytes))
    return matches.combine_chunks()


def too_much(events: int, size: int) -> str:
    """What is wrong with answers that are too large to be handed on."""
    return (
        f"what matches {events:,} events takes {size / 2**30:.1f} GiB, too much for one batch\n"
        "hint: lower spark.sql.execution.arrow.maxRecordsPerBatch, "
        "or ask for output='numbers' or top_k"
    )


def _asked(batch: pa.RecordBatch, job: Job) -> Opened:
    if job.shipment is not None:
        shipment = Shipment(*job.shipment)
        key = Key(shipment.digest, job.engine)
        return open_once(key, lambda: started(arrived(shipment), job.engine))
    assert job.folder is not None
    folder, version = Path(job.folder), batch.column(COLUMN)[0].as_py()
    key = Key(job.folder, job.engine, published_name(folder, version))
    return open_once(key, lambda: started(rules_of(folder, version), job.engine))


def published_name(folder: Path, version: int) -> str:
    """What tells a version of published rules from all others that a folder ever has."""
    return f"version {version}, {digest_at(folder, version)}"


def events_of(batch: pa.RecordBatch, job: Job) -> pa.Table:
    """What the engine takes of a batch of rows."""
    if job.events is not None:
        return pa.table({job.events: batch.column(job.events)})
    columns = {attribute: batch.column(column) for column, attribute in job.columns}
    return pa.table({"": pa.nulls(batch.num_rows), **columns})  # the first counts the rows


def with_answers(batch: pa.RecordBatch, found: pa.ListArray, job: Job) -> pa.RecordBatch:
    """Rows with a list each, or a row for each that is in a list."""
    if job.output != "pairs":
        return batch.append_column(job.into, found)
    rows = batch.take(pa.array(np.repeat(np.arange(batch.num_rows), np.diff(found.offsets))))
    values = found.flatten()
    if not job.k:
        return rows.append_column(job.into, values)
    id, score = values.flatten()
    return rows.append_column(job.into, id).append_column("score", score)


def _one_row(batch: pa.RecordBatch, job: Job) -> pa.RecordBatch:
    """A row without a match, to bear the numbers of a batch that has no pairs; Spark drops it."""
    row = batch.slice(0, 1).append_column(job.into, pa.nulls(1, pa.string()))
    return row.append_column("score", pa.nulls(1, pa.int64())) if job.k else row


@contextmanager
def short_errors() -> Iterator[None]:
    """Have Spark say what an error of ours says, and not through which of our calls it came."""
    try:
        yield
    except PenstockError:
        # Spark reads it as it reports the error, and then ends this process: it is for no other.
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


_OPEN: dict[Key, Opened] = {}
"""The engines of this process, the last one that was asked for at the end."""


def open_once(key: Key, make: Callable[[], Opened]) -> Opened:
    """The engine of a key, made when this process first asks for it."""
    known = _OPEN.pop(key, None)
    if known is None:
        while len(_OPEN) >= MOST_OPEN:
            _close(next(iter(_OPEN)))
        began = time.perf_counter()
        known = make()
        SPENT.opened += 1
        SPENT.opening_seconds += time.perf_counter() - began
    _OPEN[key] = known
    return known


def close_others(key: Key) -> None:
    """Close what is open of the same rules: its memory is needed for another shard of them."""
    for other in [k for k in _OPEN if k.rules == key.rules and k != key]:
        _close(other)


def started(queries: QuerySet, engine: str, first: int = 0) -> Opened:
    """An engine for a set whose first id in order has a number."""
    # What expires leaves a matcher, and would take its number with it.
    numbering = Numbering(queries.ids) if queries.expiries() else None
    return Opened(penstock.open(queries, engine=engine), numbering, first)


def _close(key: Key) -> None:
    _OPEN.pop(key).matcher.close()


@atexit.register
def close_all() -> None:
    """Close what is open in this process.

    Python calls it at exit. Workers that Spark's daemon has forked end without: it kills them, or
    they leave by `os._exit`, and the system takes back what they hold.
    """
    while _OPEN:
        _close(next(iter(_OPEN)))
