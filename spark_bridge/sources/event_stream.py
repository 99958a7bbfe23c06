"""The format ``penstock_events``: events that are generated at a chosen rate.

An offset is the number of an event, and an event is the same whenever it is drawn: a query that
starts again from its checkpoint sees the same events.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.gen.errors import DataError
from penstock.sim.workload.attributes import CHUNK
from penstock.sim.workload.numbered import numbered
from penstock.spark_bridge.sources.event_options import Wanted, wanted
from penstock.spark_bridge.sources.tables import check_declared, spark_arrow, spark_schema

NAME = "penstock_events"
BATCH_ROWS = 1 << 15
MICROS = 1_000_000


class EventSource(DataSource):
    """What ``readStream.format("penstock_events")`` means; options are checked on ``load``."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return spark_schema(columns_of(wanted(self.options, NAME)))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        of = wanted(self.options, NAME)
        check_declared(schema, spark_schema(columns_of(of)))
        return EventReader(of, schema)


@dataclass
class Stretch(InputPartition):
    """Events ``first`` to ``stop``, the second excluded."""

    first: int
    stop: int


class EventReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says how many events there are by now, and draws them.

    The clock starts with the query: one that was stopped goes on where it was, at its rate, and
    does not catch up on the time between.
    """

    def __init__(self, of: Wanted, schema: StructType) -> None:
        self._of = of
        self._target = spark_arrow(schema)
        self._digest = of.digest
        self._started: tuple[float, int] | None = None
        self._is_all_available = False

    def initialOffset(self) -> dict[str, int | str]:
        return self._offset(0)

    def latestOffset(self, start: dict[str, int | str], limit: ReadLimit) -> dict[str, int | str]:
        """The end of the next micro-batch: what the rate has brought, as far as the limit goes."""
        first = self._number(start)
        stop = self._available(first)
        if isinstance(limit, ReadMaxRows):
            stop = min(stop, first + limit.max_rows)
        return self._offset(max(first, stop))

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._of.max_rows)

    def reportLatestOffset(self) -> dict[str, int | str] | None:
        return self._offset(self._available(self._started[1])) if self._started else None

    def prepareForTriggerAvailableNow(self) -> None:
        if self._of.rows is None:
            raise DataError(
                "events do not end, so that availableNow has no end to read to\n"
                "hint: say with option rows how many there are"
            )
        self._is_all_available = True

    def partitions(
        self, start: dict[str, int | str], end: dict[str, int | str]
    ) -> list[InputPartition]:
        """Stretches of equal length, cut where chunks end: none draws what another draws too."""
        first, stop = self._number(start), self._number(end)
        length = max(1, -(-(stop - first) // self._of.partitions))
        pieces: list[InputPartition] = []
        while first < stop:
            until = min(stop, first + length, (first // CHUNK + 1) * CHUNK)
            pieces.append(Stretch(first, until))
            first = until
        return pieces

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        stretch = cast(Stretch, partition)
        for first, table in numbered(self._of.events, stretch.first, stretch.stop):
            whole = with_numbers(self._of, first, table).select(self._target.names)
            yield from whole.cast(self._target).combine_chunks().to_batches(BATCH_ROWS)

    def _available(self, first: int) -> int:
        """The number of the first event that is not there yet."""
        rows = self._of.rows
        if self._is_all_available:
            assert rows is not None
            return rows
        if self._started is None:
            self._started = (time.monotonic(), first)
        at, number = self._started
        number += int((time.monotonic() - at) * self._of.rate)
        return number if rows is None else min(number, rows)

    def _offset(self, number: int) -> dict[str, int | str]:
        return {"event": number, "events": self._digest}

    def _number(self, offset: dict[str, int | str]) -> int:
        """The number in an offset; DataError if a checkpoint counts other events."""
        if offset.get("events") != self._digest:
            raise DataError(
                "the checkpoint is of other events: what they are drawn from has changed\n"
                "hint: give the same options as before, or start with another checkpoint"
            )
        return int(offset["event"])


def columns_of(of: Wanted) -> pa.Schema:
    """The number of each event, its time if asked for, and what the event has."""
    events = of.events.columns
    own = [pa.field(of.number, pa.int64())]
    if of.start is not None:
        own.append(pa.field(of.time, pa.timestamp("us", "UTC")))
    taken = {name.lower() for name in events.names}
    for field in own:
        if field.name.lower() in taken or (field is not own[0] and field.name == own[0].name):
            raise DataError(
                f"the events have a column {field.name!r} already\n"
                "hint: options number and time name the columns of numbers and times"
            )
    return pa.schema([*own, *events])


def with_numbers(of: Wanted, first: int, table: pa.Table) -> pa.Table:
    """Events with their numbers, and times that are theirs by the rate, not by any clock."""
    numbers = range(first, first + table.num_rows)
    own = {of.number: pa.array(numbers, pa.int64())}
    if of.start is not None:
        micros = [of.start + number * MICROS // of.rate for number in numbers]
        own[of.time] = pa.array(micros, pa.timestamp("us", "UTC"))
    return pa.table([*own.values(), *table.columns], names=[*own, *table.column_names])
