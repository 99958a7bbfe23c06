"""How rules will be matched on a DataFrame, for people: what goes where, and what decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import penstock
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.spark_bridge.published import COLUMN, file_of, last_version, rules_of
from penstock.spark_bridge.sharded import ShardedFolder, ShardedRules
from penstock.spark_bridge.shipping import Sender
from penstock.spark_bridge.worker import Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS_SHOWN = 40
IDS_SHOWN = 40
"""Characters of an id."""


def explained(
    frame: DataFrame,
    job: Job,
    added: Mapping[str, str],
    rules: Sender | ShardedRules | ShardedFolder | None,
) -> str:
    """Where rules and columns go, and what the engine makes of the rules."""
    sets, path = _sets(job, rules)
    lines = ["on Spark", *_aligned(_path_rows(job, added, path, len(sets) == 1)), ""]
    lines += ["columns, all of which pass through Python workers"]
    lines += [*_aligned(_column_rows(frame, job, sets[0].schema)), ""]
    if len(sets) > 1:
        ids = sorted(sets[0].ids)
        lines += [f"the first of {len(sets)} shards, {_id(ids[0])} to {_id(ids[-1])}", ""]
    return "\n".join([*lines, penstock.outline(sets[0], engine=job.engine)])


def _sets(
    job: Job, rules: Sender | ShardedRules | ShardedFolder | None
) -> tuple[list[QuerySet], str]:
    """The rules in their shards, and how they reach the workers."""
    if job.folder is not None:
        folder = Path(job.folder)
        version = last_version(folder)
        of_all = rules_of(folder, version)
        size = file_of(folder, version).stat().st_size
        path = f"version {version} in {folder}, {size:,} bytes, which every worker reads"
        if not isinstance(rules, ShardedFolder):
            return [of_all], path
        count = min(rules.count, max(1, len(of_all)))
        return of_all.split(count), f"{path}, to open one of {rules.count} shards"
    if isinstance(rules, ShardedRules):
        kind = "in every task" if rules.is_inline else "as files"
        sets = rules.rules
        return sets, f"{len(sets)} shards {kind}, {rules.nbytes:,} bytes in all"
    assert isinstance(rules, Sender)
    kind = "in every task" if rules.is_inline() else "as a file, once to each executor"
    return [rules.rules], f"{kind}, {rules.nbytes:,} bytes"


def _path_rows(
    job: Job, added: Mapping[str, str], path: str, is_whole: bool
) -> Iterator[tuple[str, ...]]:
    yield "rules", path
    opened = "opened once in each worker" if is_whole else "a worker has one shard open at a time"
    yield "engine", f"{job.engine}, {opened}"
    asked = f"the {job.k} best" if job.k else f"output {job.output!r}"
    new = {**added, **({COLUMN: "int"} if job.folder is not None else {})}
    yield "adds", f"{', '.join(f'{name}: {of}' for name, of in new.items())} ({asked})"
    if job.weights:
        yield "weights", ", ".join(f"{name} {weight}" for name, weight in job.weights.items())


def _column_rows(frame: DataFrame, job: Job, schema: Schema) -> Iterator[tuple[str, ...]]:
    """Those that the engine gets come first."""
    used = dict(job.columns)
    sent = [job.events] if job.events is not None else [*used]
    others = [name for name in frame.columns if name not in sent]
    for name in [*sent, *others][:COLUMNS_SHOWN]:
        if name in used:
            attribute = schema[used[name]]
            role = f"to the engine, as {attribute.name} {attribute.type}"
        else:
            role = "to the engine, a map with the attributes" if name in sent else "as it is"
        yield name, frame.schema[name].dataType.simpleString(), role
    if len(frame.columns) > COLUMNS_SHOWN:
        yield (f"and {len(frame.columns) - COLUMNS_SHOWN:,} more",)


def _id(id: str) -> str:
    return repr(id if len(id) <= IDS_SHOWN else f"{id[: IDS_SHOWN - 1]}\u2026")


def _aligned(rows: Iterator[tuple[str, ...]]) -> Sequence[str]:
    """Rows in columns; the last column is as wide as it is."""
    cells = [*rows]
    count = max(map(len, cells), default=0)
    widths = [
        max((len(row[n]) for row in cells if n < len(row) - 1), default=0) for n in range(count)
    ]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in cells
    ]
