"""Sets that are larger than a worker: each event meets every shard, and what matches is merged.

Batches of rows stay batches: they travel between workers as values of a table of pieces.

    rows -cut-> pieces, for each shard -> by shard -answered-> answers -> by piece -merged-> rows
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.gen.errors import DataError
from penstock.gen.queryset import QuerySet
from penstock.spark_bridge.observed import NUMBERS, NUMBERS_IN_SPARK, Observer, observed
from penstock.spark_bridge.shard_answer import ANSWERS_IN_SPARK, Shards
from penstock.spark_bridge.shard_cut import PIECES_IN_SPARK
from penstock.spark_bridge.shipping import Sender, is_remote, on_workers, session_key
from penstock.spark_bridge.worker import Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_EXPRESSIONS = 2_000_000
"""Of a shard, if nobody says how many shards. The software engine takes up to 1.7 kB of memory for
an expression of some predicates while it loads, so these take 3.4 GB of a worker."""


def shards_for(size: int, wanted: int | None) -> int:
    """How many shards a set of so many expressions has; never more than expressions."""
    if wanted is None:
        return max(1, -(-size // MOST_EXPRESSIONS))
    return max(1, min(checked(wanted), size))


def checked(wanted: int) -> int:
    """A number of shards; ValueError if there cannot be so many."""
    if not isinstance(wanted, int) or wanted < 1:
        raise ValueError(f"shards must be at least 1, or None, not {wanted!r}")
    return wanted


class ShardedRules:
    """A set in shards, each packed for itself."""

    def __init__(self, rules: QuerySet, count: int) -> None:
        sets = rules.split(count)
        self._senders = [Sender(shard) for shard in sets]
        self._firsts = [sum(map(len, sets[:number])) for number in range(count)]

    @property
    def nbytes(self) -> int:
        return sum(sender.nbytes for sender in self._senders)

    @property
    def is_inline(self) -> bool:
        """Whether all of them go in the task."""
        return all(sender.is_inline(len(self._senders) - 1) for sender in self._senders)

    @property
    def rules(self) -> list[QuerySet]:
        """The shards as they were when they were packed."""
        return [sender.rules for sender in self._senders]

    def to(self, spark: Any) -> Shards:
        others = len(self._senders) - 1
        sent = [sender.to(spark, others=others) for sender in self._senders]
        digests = ",".join(shipment.digest for shipment in sent)
        name = hashlib.sha256(digests.encode()).hexdigest()
        plain = [(shipment.digest, shipment.parcel) for shipment in sent]
        return Shards(name, len(sent), plain, self._firsts)


class ShardedFolder:
    """Published rules in shards: each worker reads a version, and keeps the shard that it needs."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        self._shards = Shards(str(folder), count, [], [])

    def to(self, spark: Any) -> Shards:
        return self._shards


def sharded(
    frame: DataFrame, job: Job, shards: Shards, schema: Any, observer: Observer | None = None
) -> DataFrame:
    """The rows of a DataFrame, of that schema once they have what matches them."""
    if frame.isStreaming:
        raise DataError(
            f"rules in {shards.number} shards cannot match a streaming DataFrame: Spark would have "
            "to keep events until all shards have answered\n"
            "hint: match each micro-batch, with writeStream.foreachBatch(lambda batch, _: "
            "batch.transform(match(...))...), or give shards=1"
        )
    # With fewer shards than cores, several tasks answer for the same shard.
    slots = -(-_cores(frame.sparkSession) // shards.number)
    values = tuple(job)
    pieces = frame.mapInArrow(
        on_workers("shard_cut.cut", values, shards.number, slots), PIECES_IN_SPARK
    )
    # Partitions whose number is asked for are never coalesced: a task has one shard.
    by_shard = pieces.repartitionById(shards.number * slots, "place")
    numbers = f", `{NUMBERS}` {NUMBERS_IN_SPARK}" if observer else ""
    answers = by_shard.mapInArrow(
        on_workers("shard_answer.answered", values, tuple(shards)), ANSWERS_IN_SPARK + numbers
    )
    if observer:
        answers = observed(answers, observer)
    # By task and not by piece: so all pieces of a task are of the same time that it was computed.
    by_piece = answers.repartition("task").sortWithinPartitions("task", "number")
    return by_piece.mapInArrow(on_workers("shard_merge.merged", values, shards.number), schema)


_CORES: dict[str, int] = {}
"""By session or application."""


def _cores(spark: Any) -> int:
    """How many tasks run at a time."""
    if not is_remote(spark):
        return int(spark.sparkContext.defaultParallelism)
    key = session_key(spark)
    if key not in _CORES:  # Connect does not tell, but cuts a range into as many
        from pyspark.sql.functions import spark_partition_id

        ids = spark.range(1 << 14).select(spark_partition_id().alias("id"))
        _CORES[key] = ids.distinct().count()
    return _CORES[key]
