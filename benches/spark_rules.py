"""The rules of bench `spark`, in the forms that its contestants want."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from workloads import Workload

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
ROW = "match"
"""The column with the one match of a row."""


class Range(NamedTuple):
    """``low <= column <= high``."""

    column: str
    low: int
    high: int

    def sql(self) -> str:
        return f"{self.column} BETWEEN {self.low} AND {self.high}"


@dataclass(frozen=True)
class Rules:
    """The expressions of a workload, in the forms that its contestants want."""

    made: Workload

    @cached_property
    def ranges(self) -> dict[str, list[Range]]:
        """Of each rule by its id."""
        found: dict[str, list[Range]] = {}
        for row in self.made.expressions.to_pylist():
            assert row["operator"] == "BETWEEN"
            found.setdefault(row["id"], []).append(Range(row["attribute"], *row["operands"]))
        return found

    @cached_property
    def bounds(self) -> pa.Table:
        """A row per rule: two columns per attribute, and all integers where it is not tested."""
        columns = [attribute.name for attribute in self.made.schema]
        low = {name: np.full(len(self.ranges), INT_MIN, np.int32) for name in columns}
        high = {name: np.full(len(self.ranges), INT_MAX, np.int32) for name in columns}
        for row, ranges in enumerate(self.ranges.values()):
            for column, first, last in ranges:
                low[column][row], high[column][row] = first, last
        return pa.table(
            {ROW: list(self.ranges)}
            | {f"low_{name}": low[name] for name in columns}
            | {f"high_{name}": high[name] for name in columns}
        )

    def join_condition(self) -> str:
        names = [attribute.name for attribute in self.made.schema]
        return " AND ".join(f"{name} BETWEEN low_{name} AND high_{name}" for name in names)
