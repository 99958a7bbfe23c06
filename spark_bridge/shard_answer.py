"""The second step of a sharded match: a task opens its shard, and answers for pieces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.gen.errors import DataError
from penstock.spark_bridge.observed import Tally, with_numbers
from penstock.spark_bridge.published import rules_of
from penstock.spark_bridge.shard_cut import blob, rows_in
from penstock.spark_bridge.shipping import Shipment, arrived
from penstock.spark_bridge.worker import (
    Job,
    Key,
    Opened,
    answers,
    close_others,
    open_once,
    published_name,
    started,
    too_much,
)

MOST_BYTES = 1 << 30
"""Of the answers to a piece: a row in Spark is below 2 GiB."""

ANSWERS = ("task", "number", "digest", "shard", "answers", "rows")
ANSWERS_IN_SPARK = "task int, number int, digest binary, shard int, answers binary, rows binary"


class Shards(NamedTuple):
    """The shards of a set; plain values, as they must reach workers that lack the package."""

    rules: str
    """What is the same for all of them: a digest, or the folder of published rules."""
    number: int
    shipments: list[tuple[str, bytes | None]]
    """None if the rules are published."""
    firsts: list[int]
    """The place among all ids of the first of each shard."""


def answered(
    batches: Iterator[pa.RecordBatch], job_values: tuple[Any, ...], shard_values: tuple[Any, ...]
) -> Iterator[pa.RecordBatch]:
    """The answers to pieces, each by the shard that it was sent to."""
    job, shards = Job(*job_values), Shards(*shard_values)
    tally = Tally() if job.is_observed else None
    for batch in batches:
        for row in range(batch.num_rows):
            piece = batch.slice(row, 1)
            number, version = (piece[name][0].as_py() for name in ("shard", "version"))
            events = rows_in(piece["events"][0].as_py())
            found = answers(events, _opened(number, version, job, shards), job)
            columns = {name: piece[name] for name in ANSWERS if name in piece.schema.names}
            columns["answers"] = pa.array([_blob_of(found)], pa.binary())
            answer = pa.RecordBatch.from_pydict(columns).select(ANSWERS)
            if tally:  # every shard has the events: those of the piece with the rows count
                is_bearer = piece["rows"][0].is_valid
                answer = with_numbers(answer, tally.numbers(found, counts_events=is_bearer))
            yield answer


def _blob_of(found: pa.ListArray) -> bytes:
    content: bytes = blob(pa.table({"answers": found})).to_pybytes()
    if len(content) > MOST_BYTES:
        raise DataError(too_much(len(found), len(content)))
    return content


def _opened(number: int, version: int, job: Job, shards: Shards) -> Opened:
    """The engine of a shard. No other shard of the set stays open: there may be no room for two."""
    part = f"shard {number} of {shards.number}"
    if job.folder is not None:
        part = f"{published_name(Path(job.folder), version)}, {part}"
    key = Key(shards.rules, job.engine, part)
    close_others(key)

    def make() -> Opened:
        if job.folder is None:
            return started(
                arrived(Shipment(*shards.shipments[number])), job.engine, shards.firsts[number]
            )
        of_all = rules_of(Path(job.folder), version).split(shards.number)
        return started(of_all[number], job.engine, sum(map(len, of_all[:number])))

    return open_once(key, make)
