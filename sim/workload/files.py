"""A workload as a folder: expressions, events, schema, and what they were made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.gen.errors import DataError
from penstock.sim.workload.attributes import CHUNK
from penstock.sim.workload.calibrate import calibrate
from penstock.sim.workload.events import event_chunks
from penstock.sim.workload.expressions import expression_chunks
from penstock.sim.workload.measure import measure_match_rate
from penstock.sim.workload.spec import WorkloadSpec, schema_for

Progress = Callable[[str, int, int], None]

EXPRESSIONS, EVENTS, SCHEMA = "expressions.parquet", "events.parquet", "schema.sql"
SUMMARY = "workload.json"
"""Written last: where it stands, the folder is complete."""
FILES = (EXPRESSIONS, EVENTS, SCHEMA, SUMMARY)
PARTIAL = ".partial"


def write(
    spec: WorkloadSpec, folder: str | Path, progress: Progress | None = None
) -> dict[str, Any]:
    """Write a workload to a folder and return what ``workload.json`` says of it.

    An earlier workload there is replaced; a folder with other files in it is refused.
    ``progress(stage, done, total)`` is called as stages advance.
    """
    folder = Path(folder)
    _refuse_foreign(folder)
    report = progress or (lambda stage, done, total: None)
    report("calibrate", 0, 1)
    calibrate(spec)  # before anything is written: a rate may be out of reach
    report("calibrate", 1, 1)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        expressions = _write_table(
            folder / EXPRESSIONS, expression_chunks(spec), "expressions", spec.expressions, report
        )
        events = _write_table(folder / EVENTS, event_chunks(spec), "events", spec.events, report)
        report("measure", 0, 1)
        summary = _summary(spec, expressions, events)
        report("measure", 1, 1)
        _partial(folder / SCHEMA).write_text(f"{schema_for(spec)};\n", encoding="utf-8")
        _partial(folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
        (folder / SUMMARY).unlink(missing_ok=True)  # until all is there again
        for name in FILES:
            _partial(folder / name).replace(folder / name)
    finally:
        for name in FILES:
            _partial(folder / name).unlink(missing_ok=True)
    return summary


def _summary(spec: WorkloadSpec, expressions: pa.Table, events: pa.Table) -> dict[str, Any]:
    calibration = calibrate(spec)
    return {
        "spec": spec.to_dict(),
        "seed": spec.seed,
        "achieved_match_rate": measure_match_rate(expressions, events),
        "expected_match_rate": calibration.expected_rate,
        "topics": calibration.topics,
        "topic_share": calibration.topic_share,
        "sharpness": calibration.sharpness,
        "expressions": spec.expressions,
        "predicates": len(expressions),
        "events": len(events),
    }


def _write_table(
    path: Path, chunks: Iterator[pa.Table], stage: str, total: int, report: Progress
) -> pa.Table:
    """Write the chunks as they come, one row group each, and return them as one table."""
    report(stage, 0, total)
    written: list[pa.Table] = []
    writer: pq.ParquetWriter | None = None
    try:
        for chunk in chunks:
            writer = writer or pq.ParquetWriter(_partial(path), chunk.schema)
            writer.write_table(chunk, row_group_size=len(chunk))
            written.append(chunk)
            report(stage, min(total, len(written) * CHUNK), total)
    finally:
        if writer:
            writer.close()
    return pa.concat_tables(written)


def _partial(path: Path) -> Path:
    return path.with_name(path.name + PARTIAL)


def _refuse_foreign(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; name a folder that is new, empty or a workload")
    if not folder.exists():
        return
    own = {*FILES, *(name + PARTIAL for name in FILES)}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in own)
    if foreign:
        shown = ", ".join(foreign[:5]) + (", ..." if len(foreign) > 5 else "")
        raise DataError(
            f"{folder} holds other files ({shown}); name a folder that is new, empty or a workload"
        )
