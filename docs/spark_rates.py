"""The plot of events per second inside Spark by expressions, and of what could be used instead.

All are what ``benches/results/spark.json`` holds, measured in one run per number of expressions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

LINES = {
    "pass-through": ("mapInArrow, rows passed through", "--", "#475569"),
    "pass-through, lists added": ("the same, lists of ids added", ":", "#475569"),
    "penstock": ("Penstock, ids", "-o", "#1d4ed8"),
    "penstock, numbers": ("Penstock, numbers", ":o", "#1d4ed8"),
    "Spark join": ("Spark, broadcast range join", "-v", "#c2410c"),
    "Spark expressions": ("Spark, array of expressions", "-^", "#c2410c"),
    "pandas_udf": ("Spark, pandas_udf in numpy", "-D", "#a16207"),
    "DuckDB": ("DuckDB, range join", "-s", "#15803d"),
    "Polars": ("Polars, filters", "-P", "#7e22ce"),
}
SIZES = (100, 1_000, 10_000)


def measured(results: Path) -> dict[str, dict[int, float]]:
    """Events per second of each contestant by expressions; none without a file."""
    path = results / "spark.json"
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else []
    points: dict[str, dict[int, float]] = defaultdict(dict)
    for figure in figures:
        of = figure["parameters"]
        if of["part"] == "contestants" and of["what"] in LINES:
            points[of["what"]][of["expressions"]] = figure["result"]
    return points


def drawn(results: Path) -> Figure:
    """A line per contestant; it draws whatever has been measured so far."""
    figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
    axes.set_title("10 INT columns, 3 to 5 ranges, 0.1 % match, 2 cores", fontsize="medium")
    axes.set_xlabel("expressions")
    axes.set_ylabel("events per second")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(85, 12_000)
    axes.set_ylim(1_000, 30_000_000)
    points = measured(results)
    for what, (label, shown, colour) in LINES.items():
        of = dict(sorted(points.get(what, {}).items()))
        if of:
            axes.plot(list(of), list(of.values()), shown, color=colour, label=label)
    axes.xaxis.set_major_locator(FixedLocator(SIZES))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if axes.lines:
        figure.legend(loc="outside lower center", ncols=2)
    return figure
