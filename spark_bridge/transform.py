"""`match` and `top_k`: functions from DataFrame to DataFrame, for `DataFrame.transform`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.engines import ENGINES
from penstock.gen.errors import DeviceError
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import quoted
from penstock.spark_bridge.columns import check_map, check_new, needed, present
from penstock.spark_bridge.explained import explained
from penstock.spark_bridge.observed import (
    NUMBERS,
    NUMBERS_IN_SPARK,
    Observer,
    check_observer,
    checked_observer,
    observed,
)
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
OUTPUTS = ("ids", "numbers", "pairs")
NO_COLUMN = "penstock row"
"""Stands in for the columns of a DataFrame that has none."""


def match(
    rules: Rules,
    *,
    engine: str = "software",
    output: str = "ids",
    events: str | None = None,
    into: str | None = None,
    shards: int | None = None,
    observe: Observer | None = None,
) -> Matching:
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

    ``observe`` names metrics that Spark makes of the matching, or is the `pyspark.sql.Observation`
    that waits for them. What is returned also has a method ``explain(frame)``.
    """
    if output not in OUTPUTS:
        raise ValueError(f"unknown output {output!r}; there are {', '.join(OUTPUTS)}")
    return Matching(
        rules, shards, engine=engine, output=output, events=events, into=into, observe=observe
    )


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
    observe: Observer | None = None,
) -> Matching:
    """A column with the k best rules that match each row, best first, equal scores by id.

    ``"ids"`` adds ``matches: array<struct<id: string, score: bigint>>``; ``"pairs"`` gives a row
    for each, with its ``match: string`` and ``score: bigint``. ``weights`` gives attributes a
    weight other than 1; the rest is as in `match`.
    """
    if output not in ("ids", "pairs"):
        raise ValueError(f"unknown output {output!r}; top_k has 'ids' and 'pairs'")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return Matching(
        rules, shards, engine=engine, output=output, events=events, into=into, observe=observe,
        k=k, weights=weights,
    )  # fmt: skip


class Matching:
    """Rules and what is asked of them: a function from DataFrame to DataFrame."""

    def __init__(
        self,
        rules: Rules,
        shards: int | None,
        *,
        engine: str,
        output: str,
        events: str | None,
        into: str | None,
        observe: Observer | None,
        k: int = 0,
        weights: Mapping[str, int] | None = None,
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
        for name, weight in (weights or {}).items():
            self._schema[name]  # KeyError if there is none
            if weight < 0:
                raise ValueError("an attribute's weight must not be negative")
        self._observer = checked_observer(observe)
        folder = str(self._folder) if self._folder else None
        into = into or ("match" if output == "pairs" else "matches")
        self._job = Job(
            None, folder, engine, [], events, output, k, dict(weights or {}), into,
            self._observer is not None,
        )  # fmt: skip

    def __call__(self, frame: DataFrame) -> DataFrame:
        columns = self._columns(frame)
        if not frame.columns:  # Arrow would lose the rows too
            return self(frame.selectExpr(f"1 AS `{NO_COLUMN}`")).drop(NO_COLUMN)
        added = self._added()
        check_new(frame, *added, *([COLUMN] if self._folder else []))
        job = self._job._replace(columns=columns)
        if self._folder:
            frame = _with_version(frame, self._folder)
        schema = _extended(frame.schema, added)
        if isinstance(self._rules, ShardedRules | ShardedFolder):
            return sharded(frame, job, self._rules.to(frame.sparkSession), schema, self._observer)
        if self._rules is not None:
            sent = self._rules.to(frame.sparkSession)
            job = job._replace(shipment=(sent.digest, sent.parcel))
        return self._matched(frame, job, schema)

    def explain(self, frame: DataFrame) -> str:
        """How the rows of a DataFrame would be matched, for people; nothing runs.

        The rules are compiled for it, which takes as long as a worker takes to open them.
        """
        job = self._job._replace(columns=self._columns(frame))
        return explained(frame, job, self._added(), self._rules)

    def _matched(self, frame: DataFrame, job: Job, schema: Any) -> DataFrame:
        work = on_workers("worker.matched", tuple(job))
        if self._observer is None:
            return frame.mapInArrow(work, schema)
        check_observer(frame, self._observer)
        check_new(frame, NUMBERS)
        matched = frame.mapInArrow(work, _extended(schema, {NUMBERS: NUMBERS_IN_SPARK}))
        found = observed(matched, self._observer)
        # A batch without pairs has a row all the same, to bear its numbers.
        return found.where(f"{quoted(job.into)} IS NOT NULL") if job.output == "pairs" else found

    def _columns(self, frame: DataFrame) -> list[tuple[str, str]]:
        """The columns that go to the engine, with the names of the attributes that they are."""
        if self._job.events is not None:
            check_map(frame, self._job.events)
            return []
        columns = needed(self._tested, frame)
        if self._folder:  # a later version may look at more
            columns = needed(present(self._schema, frame), frame)
        return columns

    def _added(self) -> dict[str, str]:
        """The new columns with their types."""
        job = self._job
        if job.output == "pairs":
            return {job.into: "string"} | ({"score": "bigint"} if job.k else {})
        if job.k:
            return {job.into: "array<struct<id:string,score:bigint>>"}
        return {job.into: "array<int>" if job.output == "numbers" else "array<string>"}


def _with_version(frame: DataFrame, folder: Path) -> DataFrame:
    """The rows with the version of the rules, one for all rows of a job or micro-batch."""
    spark = frame.sparkSession
    spark.dataSource.register(LastVersion)
    version = spark.read.format(LastVersion.name()).load(str(folder))
    return frame.withColumn(COLUMN, version.scalar())  # a join might ask once for each task


def _extended(schema: Any, added: Mapping[str, str]) -> Any:
    """The schema of a DataFrame, with more columns."""
    from pyspark.sql.types import StructField, StructType, _parse_datatype_string

    more = [StructField(name, _parse_datatype_string(of)) for name, of in added.items()]
    return StructType([*schema.fields, *more])
