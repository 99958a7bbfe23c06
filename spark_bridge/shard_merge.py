"""The last step of a sharded match: what the shards answered to a piece, put together.

All ids of a shard lie before those of the next, so that ids in order, and numbers, are the
shards' lists one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.gen.errors import DataError
from penstock.spark_bridge.shard_cut import rows_in
from penstock.spark_bridge.worker import Job, with_answers

MOST_BYTES = 1 << 28
"""Of answers that are put together at a time."""


class Answer(NamedTuple):
    """What a shard says of a piece; one of them also bears the rows of the piece."""

    task: int
    number: int
    digest: bytes
    shard: int
    answers: bytes
    rows: bytes | None


def merged(
    batches: Iterator[pa.RecordBatch], values: tuple[Any, ...], shards: int
) -> Iterator[pa.RecordBatch]:
    """Each piece with what matches its rows. Its answers follow each other."""
    job = Job(*values)
    for _, group in groupby(_answers(batches), lambda answer: (answer.task, answer.number)):
        rows, found = _whole([*group], shards)
        yield from _with_all(rows, found, job)


def _answers(batches: Iterator[pa.RecordBatch]) -> Iterator[Answer]:
    for batch in batches:
        for row in range(batch.num_rows):
            yield Answer(*(batch.column(name)[row].as_py() for name in Answer._fields))


def _whole(group: list[Answer], shards: int) -> tuple[pa.RecordBatch, list[pa.ListArray]]:
    """The rows of a piece and the answers of all shards in order; DataError if one is missing."""
    group.sort(key=lambda answer: answer.shard)
    bearers = [answer.rows for answer in group if answer.rows is not None]
    is_one = len({answer.digest for answer in group}) == 1 and len(bearers) == 1
    if not is_one or [answer.shard for answer in group] != [*range(shards)]:
        raise DataError(_not_whole(group, shards))
    rows = pa.ipc.open_stream(bearers[0]).read_next_batch()
    found = [rows_in(answer.answers)["answers"].combine_chunks() for answer in group]
    assert {len(answers) for answers in found} == {rows.num_rows}, "a shard left out events"
    return rows, found


def _not_whole(group: list[Answer], shards: int) -> str:
    places = f"piece {group[0].number} of the events of task {group[0].task}"
    answered = ", ".join(str(answer.shard) for answer in group)
    return (
        f"{places} was not answered once by each of {shards} shards, but by {answered}, as "
        f"{len({answer.digest for answer in group})} different pieces: Spark computed the events "
        "again, and they were others\n"
        "hint: match events that come out the same each time, such as those of a table that "
        "was written or of frame.localCheckpoint()"
    )


def _with_all(
    rows: pa.RecordBatch, found: list[pa.ListArray], job: Job
) -> Iterator[pa.RecordBatch]:
    """Rows with all that matches them, in so many batches that each has room for its answers."""
    half = rows.num_rows // 2
    if half and sum(answers.nbytes for answers in found) > MOST_BYTES:
        yield from _with_all(rows.slice(0, half), [one.slice(0, half) for one in found], job)
        yield from _with_all(rows.slice(half), [one.slice(half) for one in found], job)
    else:
        yield with_answers(rows, joined(found, job.k), job)


def joined(found: Sequence[pa.ListArray], k: int) -> pa.ListArray:
    """The lists for each event one after the other; or the k best, where k is not 0.

    The best come as they come in each list: by score, and then by id.
    """
    count = len(found[0])
    values = pa.concat_arrays([answers.flatten() for answers in found])
    lengths = [np.diff(np.asarray(answers.offsets)) for answers in found]
    events = np.concatenate([np.repeat(np.arange(count), each) for each in lengths])
    if k:
        _, scores = values.flatten()
        order = np.lexsort((-np.asarray(scores), events))  # stable: equal scores stay by shard
        events = events[order]
        is_best = np.arange(len(events)) - np.searchsorted(events, events) < k
        order, events = order[is_best], events[is_best]
    else:
        order = np.argsort(events, kind="stable")
        events = events[order]
    offsets = np.searchsorted(events, np.arange(count + 1))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values.take(pa.array(order)))
