"""Write what the benchmarks have measured, beside its targets, into benchmarks.md.

Reads ``benches/results``; what stands in the page between two comments is replaced by a table of
the figures that have a target. The same results give the same page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: by make plots -->\n", "<!-- end of figures -->\n"
HEAD = "| bench | figure | result | target | | load |\n|---|---|---|---|---|---|\n"


def table(results: Path) -> str:
    """A row per figure with a target, bench by bench, in the order of the results."""
    rows = []
    for path in sorted(results.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        for figure in found["figures"]:
            machine = figure.get("machine") or found["machine"]
            if figure["target"] is not None:
                rows.append(_row(path.stem, figure, machine))
    return HEAD + "".join(rows)


def _row(bench: str, figure: dict[str, Any], machine: dict[str, Any]) -> str:
    unit = f" {figure['unit']}".rstrip()
    bound = "at most" if figure["at_most"] else "at least"
    cells = (
        bench,
        figure["what"],
        f"{_rounded(figure['result'])}{unit}",
        f"{bound} {_rounded(figure['target'])}{unit}",
        "met" if figure["met"] else "**missed**",
        f"{machine['load_average']:.1f}",
    )
    return f"| {' | '.join(cells)} |\n"


def _rounded(value: float) -> str:
    """Three digits, and all those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def filled(page: str, results: Path) -> str:
    """A page with the table of these results in its place."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page needs the lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{table(results)}\n{END}{after}"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(text, ROOT / "benches" / "results"), encoding="utf-8")
