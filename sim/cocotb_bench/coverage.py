"""Which situations have been seen, and how often.

An own collector of a few lines: cocotb-coverage declares its bins by decorators, when a module is
imported, while here bins follow from the query set, and several processes fill them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

HITS = "hits"


class Bin(NamedTuple):
    """A situation: a cell of the table of its group."""

    group: str
    row: str
    column: str = HITS


class Coverage:
    """Hits of declared bins. A bin that is not declared cannot be hit."""

    def __init__(self, bins: Iterable[Bin] = ()) -> None:
        self.hits = dict.fromkeys(bins, 0)

    def hit(self, bin: Bin, times: int = 1) -> None:
        if bin not in self.hits:
            raise KeyError(f"{bin} is not declared")
        self.hits[bin] += times

    def add(self, other: Coverage) -> None:
        """Take over the bins of another, and its hits."""
        for bin, hits in other.hits.items():
            self.hits[bin] = self.hits.get(bin, 0) + hits

    def missed(self) -> list[Bin]:
        """The bins without a hit."""
        return [bin for bin, hits in self.hits.items() if not hits]

    def table(self) -> str:
        """A table per group, a bin per cell."""
        groups: dict[str, list[Bin]] = {}
        for bin in self.hits:
            groups.setdefault(bin.group, []).append(bin)
        label = max((len(bin.row) for bin in self.hits), default=0)
        return "\n\n".join(self._group(group, bins, label) for group, bins in groups.items())

    def _group(self, group: str, bins: list[Bin], label: int) -> str:
        columns = list(dict.fromkeys(bin.column for bin in bins))
        lines = ["".join([f"{group:<{label + 2}}", *(f"{column:>10}" for column in columns)])]
        for row in dict.fromkeys(bin.row for bin in bins):
            cells = [self.hits.get(Bin(group, row, column)) for column in columns]
            shown = ["" if hits is None else f"{hits:,}" if hits else "NONE" for hits in cells]
            lines.append("".join([f"  {row:<{label}}", *(f"{cell:>10}" for cell in shown)]))
        return "\n".join(lines)

    def write(self, path: Path) -> None:
        found = [[*bin, hits] for bin, hits in self.hits.items()]
        path.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Coverage:
        coverage = Coverage()
        for group, row, column, hits in json.loads(path.read_text(encoding="utf-8")):
            coverage.hits[Bin(group, row, column)] = hits
        return coverage
