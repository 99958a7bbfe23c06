"""Generated workloads for the benches, kept in ``build/bench`` from one run to the next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

import penstock
from penstock.sim import workload
from penstock.sim.workload import PRESETS, WorkloadSpec, to_wide, write

ENGINE = "software"
"""What the benches of workloads measure."""
FOLDER = Path(__file__).resolve().parent.parent / "build" / "bench"
GENERATOR = Path(workload.__file__).parent


@dataclass(frozen=True)
class Workload:
    """Expressions and events in a folder, as `write` leaves them."""

    folder: Path

    def load(self) -> penstock.QuerySet:
        return penstock.load(self.folder)

    @cached_property
    def schema(self) -> penstock.Schema:
        return penstock.load_schema(self.folder / "schema.sql")

    @cached_property
    def expressions(self) -> pa.Table:
        """The table of predicates."""
        return pyarrow.parquet.read_table(self.folder / "expressions.parquet")

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The row at which each expression begins, and how many rows there are."""
        ids = self.expressions["id"].combine_chunks()
        differs = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1))
        first = np.flatnonzero(np.asarray(differs)) + 1
        return np.concatenate([[0], first, [len(ids)]]).astype(np.int64)

    def part(self, first: int, count: int) -> pa.Table:
        """The predicates of some of the expressions, in the order of the table."""
        begin, end = self.starts[[first, min(first + count, len(self.starts) - 1)]].tolist()
        return self.expressions.slice(begin, end - begin)

    @cached_property
    def sparse(self) -> pa.Table:
        """The events as they are generated: one map from name to value for each."""
        return pyarrow.parquet.read_table(self.folder / "events.parquet")

    @cached_property
    def wide(self) -> pa.Table:
        """The events with a column per attribute."""
        return to_wide(self.sparse, self.schema)


def generated(name: str, spec: WorkloadSpec) -> Workload:
    """The workload of a spec, generated unless it stands there already."""
    folder = FOLDER / name
    if not _stands(folder, spec):
        write(spec, folder)
    return Workload(folder)


def wide(size: int, *, events: int, match_rate: float) -> Workload:
    """10 INT columns of 1,000,000 values, all present, and 3 to 5 BETWEEN in each expression."""
    spec = WorkloadSpec(
        expressions=size, events=events, attributes=10, pairs=10, pair_spread=0, predicates=4,
        predicate_spread=1, cardinality=1_000_000, operators={"BETWEEN": 1}, match_rate=match_rate,
    )  # fmt: skip
    return generated(f"wide-{size}-{events}-{match_rate}", spec)


def preset(name: str, expressions: int, events: int) -> Workload:
    """One of the generator's presets, of a chosen size."""
    spec = WorkloadSpec(**PRESETS[name], expressions=expressions, events=events)
    return generated(f"{name}-{expressions}-{events}", spec)


def _stands(folder: Path, spec: WorkloadSpec) -> bool:
    """Whether it was made from this spec, by the generator as it is now."""
    summary = folder / "workload.json"
    if not summary.exists():
        return False
    changed = max(path.stat().st_mtime for path in GENERATOR.glob("*.py"))
    made_from = json.loads(summary.read_text(encoding="utf-8"))["spec"]
    return summary.stat().st_mtime > changed and made_from == spec.to_dict()
