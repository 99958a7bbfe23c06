"""`match` and `top_k`: functions from DataFrame to DataFrame, for `DataFrame.transform`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.engines import ENGINES
from penstock.gen.errors import DeviceError
from penstock.gen.queryset import QuerySet
from penstock.spark_bridge.columns import check_map, check_new, needed, present
from penstock.spark_bridge.published import COLUMN, LastVersion, last_version, rules_of
from penstock.spark_bridge.sharded import (
    ShardedFolder,
    ShardedRules,
    checked,
    sharded,
    shards_for,
)
from penstock.spark_bridge.shipping import Sender, on_workers
from penstock.spark_bridge.worker import Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Rules: TypeAlias = QuerySet | str | Path
"""A query set, or the folder where versions of one are published."""
Transform: TypeAlias = "Callable[[DataFrame], DataFrame]"
OUTPUTS = ("ids", "numbers", "pairs")


def match(
    rules: Rules,
    *,
    engine: str = "software",
    output: str = "ids",
    events: str | None = None,
    into: str | None = None,
    shards: int | None = None,
) -> Transform:
    """A column with the rules that match each row.

    ``output`` says in which form: ``"ids"`` adds ``matches: array<string>``, in order;
    ``"numbers"`` adds ``matches: array<int>``, the place of each id among all ids in order;
    ``"pairs"`` gives a row for each match, with its ``match: string``.

    Events are the rows, their columns the attributes; or, if ``events`` names a column of maps,
    what is in the maps. ``into`` names the new column.

    ``rules`` may also be the folder where versions of them are published: each job, or micro-batch
    of a stream, uses the last, and a column ``rules_version`` says which that was.

    A set that is larger than a worker is cut into ``shards``, and a worker has one at a time; None
    cuts by the size of the set, and leaves published rules whole. The answers are the same, but
    rows come in another order.
    """
    if output not in OUTPUTS:
        raise ValueError(f"unknown output {output!r}; there are {', '.join(OUTPUTS)}")
    return _Matching(rules, engine, output, events, into, 0, {}, shards)


def top_k(
    rules: Rules,
    k: int,
    *,
    weights: Mapping[str, int] | None = None,
    engine: str = "software",
    output: str = "ids",
    events: str | None = None,
    into: str | None = None,
    shards: int | None = None,
) -> Transform:
    """A column with the k best rules that match each row, best first, equal scores by id.

    ``"ids"`` adds ``matches: array<struct<id: string, score: bigint>>``; ``"pairs"`` gives a row
    for each, with its ``match: string`` and ``score: bigint``. ``weights`` gives attributes a
    weight other than 1; the rest is as in `match`.
    """
    if output not in ("ids", "pairs"):
        raise ValueError(f"unknown output {output!r}; top_k has 'ids' and 'pairs'")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return _Matching(rules, engine, output, events, into, k, dict(weights or {}), shards)


class _Matching:
    """Rules and what is asked of them, ready for any DataFrame."""

    def __init__(
        self,
        rules: Rules,
        engine: str,
        output: str,
        events: str | None,
        into: str | None,
        k: int,
        weights: dict[str, int],
        shards: int | None,
    ) -> None:
        if engine not in ENGINES:
            raise DeviceError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
        self._folder: Path | None = None
        self._rules: Sender | ShardedRules | ShardedFolder | None = None
        if isinstance(rules, QuerySet):
            last, count = rules, shards_for(len(rules), shards)
            self._rules = ShardedRules(rules, count) if count > 1 else Sender(rules)
        else:
            self._folder = Path(rules).absolute()
            last = rules_of(self._folder, last_version(self._folder))
            if shards is not None and checked(shards) > 1:
                self._rules = ShardedFolder(self._folder, shards)
        self._schema, self._tested = last.schema, last.tested
        for name, weight in weights.items():
            self._schema[name]  # KeyError if there is none
            if weight < 0:
                raise ValueError("an attribute's weight must not be negative")
        self._engine, self._output, self._events = engine, output, events
        self._into = into or ("match" if output == "pairs" else "matches")
        self._k, self._weights = k, weights

    def __call__(self, frame: DataFrame) -> DataFrame:
        added = self._added()
        check_new(frame, *added, *([COLUMN] if self._folder else []))
        columns: list[tuple[str, str]] = []
        if self._events is not None:
            check_map(frame, self._events)
        else:
            columns = needed(self._tested, frame)
            if self._folder:  # a later version may look at more
                columns = needed(present(self._schema, frame), frame)
        if self._folder:
            frame = _with_version(frame, self._folder)
        folder = str(self._folder) if self._folder else None
        job = Job(
            None, folder, self._engine, columns, self._events,
            self._output, self._k, self._weights, self._into,
        )  # fmt: skip
        schema = _extended(frame, added)
        if isinstance(self._rules, ShardedRules | ShardedFolder):
            return sharded(frame, job, self._rules.to(frame.sparkSession), schema)
        if self._rules is not None:
            sent = self._rules.to(frame.sparkSession)
            job = job._replace(shipment=(sent.digest, sent.parcel))
        return frame.mapInArrow(on_workers("worker.matched", tuple(job)), schema)

    def _added(self) -> dict[str, str]:
        """The new columns with their types."""
        if self._output == "pairs":
            return {self._into: "string"} | ({"score": "bigint"} if self._k else {})
        if self._k:
            return {self._into: "array<struct<id:string,score:bigint>>"}
        return {self._into: "array<int>" if self._output == "numbers" else "array<string>"}


def _with_version(frame: DataFrame, folder: Path) -> DataFrame:
    """The rows with the version of the rules, one for all rows of a job or micro-batch."""
    spark = frame.sparkSession
    spark.dataSource.register(LastVersion)
    version = spark.read.format(LastVersion.name()).load(str(folder))
    return frame.withColumn(COLUMN, version.scalar())  # a join might ask once for each task


def _extended(frame: DataFrame, added: Mapping[str, str]) -> Any:
    """The schema of a DataFrame with more columns."""
    from pyspark.sql.types import StructField, StructType, _parse_datatype_string

    more = [StructField(name, _parse_datatype_string(of)) for name, of in added.items()]
    return StructType([*frame.schema.fields, *more])
