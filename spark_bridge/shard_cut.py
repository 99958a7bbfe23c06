"""The first step of a sharded match: batches of rows cut into pieces, and sent to every shard.

A piece is known by its task, its number within the task, and a digest of its rows. The same rows
have the same names however often Spark computes them. If it computes others the second time, the
pieces that some shards have had and those that others get do not pass for one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from penstock.spark_bridge.published import COLUMN
from penstock.spark_bridge.worker import Job, events_of

MOST_ROWS = 1 << 14
MOST_BYTES = 1 << 24
"""Of a piece. Spark keeps rows below 2 GiB, and a task of the last step has a piece from all."""
DIGEST_BYTES = 16

PIECES = pa.schema(
    [
        ("task", pa.int32()),
        ("number", pa.int32()),
        ("digest", pa.binary()),
        ("shard", pa.int32()),
        ("place", pa.int32()),  # the task of the second step
        ("version", pa.int32()),  # of published rules
        ("events", pa.binary()),
        ("rows", pa.binary()),  # NULL for all shards but one
    ]
)
PIECES_IN_SPARK = (
    "task int, number int, digest binary, shard int, place int, version int, "
    "events binary, rows binary"
)


def cut(
    batches: Iterator[pa.RecordBatch], values: tuple[Any, ...], shards: int, slots: int
) -> Iterator[pa.RecordBatch]:
    """Each piece for each shard, in a row. A shard has so many slots: tasks that answer for it."""
    context = TaskContext.get()
    assert context is not None
    yield from cut_in_task(context.partitionId(), batches, Job(*values), shards, slots)


def cut_in_task(
    task: int, batches: Iterator[pa.RecordBatch], job: Job, shards: int, slots: int
) -> Iterator[pa.RecordBatch]:
    pieces = (piece for batch in batches for piece in _small(batch) if batch.num_rows)
    for number, piece in enumerate(pieces):
        rows, events = blob(piece), blob(events_of(piece, job))
        digest = hashlib.blake2b(rows, digest_size=DIGEST_BYTES).digest()
        version = piece.column(COLUMN)[0].as_py() if job.folder else 0
        for shard in range(shards):
            # All pieces of a task take the same slot. So an answer that was made before Spark
            # computed the task again lacks some shard, and is never taken for a whole one.
            place = shard * slots + task % slots
            is_bearer = shard == number % shards
            fields = (task, number, digest, shard, place, version)
            blobs = (_value(events), _value(rows) if is_bearer else pa.nulls(1, pa.binary()))
            arrays = [pa.array([v], f.type) for v, f in zip(fields, PIECES, strict=False)]
            yield pa.record_batch([*arrays, *blobs], schema=PIECES)


def blob(rows: pa.RecordBatch | pa.Table) -> pa.Buffer:
    """Rows as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    return sink.getvalue()


def rows_in(content: bytes) -> pa.Table:
    """The rows of a blob."""
    return pa.ipc.open_stream(content).read_all()


def _value(content: pa.Buffer) -> pa.Array:
    """A column of one value, which is not copied."""
    offsets = pa.py_buffer(np.array([0, content.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, content])


def _small(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in halves, until each is a piece."""
    half = batch.num_rows // 2
    if half and (batch.num_rows > MOST_ROWS or batch.nbytes > MOST_BYTES):
        yield from _small(batch.slice(0, half))
        yield from _small(batch.slice(half))
    else:
        yield batch
