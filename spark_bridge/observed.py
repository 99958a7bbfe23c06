"""What matching costs, as metrics that Spark collects: events, matches and time, also by partition.

A worker counts what it does. Each batch that it gives back bears the numbers in the first row of a
hidden column, from which Spark makes the metrics before it drops the column. So they are right
wherever Spark observes: in streams, under Connect, in tasks that run again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

Observer: TypeAlias = "str | Observation"
"""The name of the metrics, or who waits for those of one job."""
NUMBERS = "penstock numbers"
NUMBERS_IN_SPARK = "array<bigint>"
FIELDS = (
    *("partition", "batches", "events_so_far", "matches_so_far", "matching_so_far"),
    *("events", "matches", "matching", "opened", "opening"),
)
"""What a batch bears, times in microseconds. The first two put the batches of a job in order."""
TOTALS = {
    "events": "coalesce(sum({events}), 0)",
    "matches": "coalesce(sum({matches}), 0)",
    "batches": "count(`{numbers}`)",
    "seconds": "coalesce(sum({matching}), 0) / 1e6D",
    "longest_seconds": "coalesce(max({matching_so_far}), 0) / 1e6D",
    "opened": "coalesce(sum({opened}), 0)",
    "opening_seconds": "coalesce(sum({opening}), 0) / 1e6D",
}
BY_PARTITION = """transform(
    transform(
        array(array_sort(collect_list(`{numbers}`))),
        s -> filter(s, (x, i) -> i = size(s) - 1 OR get(s, i + 1)[0] <> x[0])
    )[0],
    x -> named_struct(
        'partition', x[0], 'batches', x[1], 'events', x[2], 'matches', x[3], 'seconds', x[4] / 1e6D
    )
)"""
"""The last batch of each partition: it bears the sums of all before it."""


@dataclass
class Spent:
    """What this process has done so far. It has one thread: Spark's Python workers work so."""

    opened: int = 0
    opening_seconds: float = 0.0
    matching_seconds: float = 0.0


SPENT = Spent()


class Tally:
    """What a task has done so far, batch by batch."""

    def __init__(self) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        self._partition = context.partitionId() if context else 0
        self._batches = self._events = self._matches = self._matching = 0
        self._before = replace(SPENT)

    def numbers(self, found: pa.ListArray, *, counts_events: bool = True) -> list[int]:
        """The numbers of a batch, whose answers are given: what has been spent since the last."""
        events, matches = len(found), len(found.flatten())
        before, self._before = self._before, replace(SPENT)
        matching = _microseconds(SPENT.matching_seconds - before.matching_seconds)
        opening = _microseconds(SPENT.opening_seconds - before.opening_seconds)
        self._batches += 1
        self._events += events
        self._matches += matches
        self._matching += matching
        return [
            *(self._partition, self._batches, self._events, self._matches, self._matching),
            *(events if counts_events else 0, matches, matching),
            *(SPENT.opened - before.opened, opening),
        ]


def with_numbers(batch: pa.RecordBatch, numbers: list[int]) -> pa.RecordBatch:
    """Rows, of which the first bears numbers."""
    offsets = np.full(batch.num_rows + 1, len(numbers), np.int32)
    offsets[0] = 0
    is_empty = np.arange(batch.num_rows) > 0
    column = pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(numbers, pa.int64()), mask=pa.array(is_empty)
    )
    return batch.append_column(NUMBERS, column)


def check_observer(frame: DataFrame, observer: Observer) -> None:
    """ValueError if Spark could not observe the DataFrame so."""
    if not isinstance(observer, str) and frame.isStreaming:
        raise ValueError(
            "a stream runs many jobs, and an Observation waits for one\n"
            "hint: give observe a name, and find the metrics of each micro-batch in "
            "StreamingQueryProgress.observedMetrics"
        )


def checked_observer(observer: Any) -> Observer | None:
    """What to observe with; TypeError or ValueError if it is neither a name nor an Observation."""
    if observer is None or (isinstance(observer, str) and observer):
        return observer
    if type(observer).__name__ == "Observation":  # Connect has a class of its own
        return observer  # type: ignore[no-any-return]
    if observer == "":
        raise ValueError("observe must be a name or a pyspark.sql.Observation, not an empty name")
    raise TypeError(f"observe must be a name or a pyspark.sql.Observation, not {observer!r}")


def observed(frame: DataFrame, observer: Observer) -> DataFrame:
    """Rows without their numbers, from which Spark makes metrics as it runs."""
    from pyspark.sql.functions import expr

    places = {
        name: f"element_at(`{NUMBERS}`, {place})" for place, name in enumerate(FIELDS, start=1)
    }
    texts = {**TOTALS, "by_partition": BY_PARTITION}
    metrics = [
        expr(text.format(numbers=NUMBERS, **places)).alias(name) for name, text in texts.items()
    ]
    return frame.observe(observer, *metrics).drop(NUMBERS)


def _microseconds(seconds: float) -> int:
    return round(1e6 * seconds)
