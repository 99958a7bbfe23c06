"""The plot of time per event by expressions: the software engine, the scan, and its peers.

Ours are what ``benches/results/software.json`` holds; the peers' are in ``peers.csv`` beside this
file, measured elsewhere, on one core of a similar machine.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import TypeAlias

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

PEERS = Path(__file__).with_name("peers.csv")
WORKLOADS = ("uni", "zipf", "dense")
OURS = {
    "engine": ("Penstock, engine software", "-o", "#1d4ed8"),
    "scan": ("C scan", "-s", "#475569"),
    "scan, rarest first": ("C scan, rarest attribute first", "--s", "#94a3b8"),
}
THEIRS = {
    "be-tree": ("v", "#c2410c"),
    "be-tree, pruned": ("^", "#c2410c"),
    "be_indexer": ("D", "#15803d"),
    "REIN": ("P", "#7e22ce"),
}

Points: TypeAlias = dict[tuple[str, str], dict[int, float]]
"""Microseconds per event by expressions, of each workload and matcher."""


def measured(results: Path) -> Points:
    """What was timed here; none without a file."""
    path = results / "software.json"
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else []
    points: Points = defaultdict(dict)
    for figure in figures:
        of = figure["parameters"]
        if of["what"] in OURS:
            points[of["workload"], of["what"]][of["expressions"]] = figure["result"]
    return points


def published(path: Path) -> Points:
    points: Points = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            taken = points[row["workload"], row["matcher"]]
            taken[int(row["expressions"])] = float(row["microseconds"])
    return points


def drawn(results: Path) -> Figure:
    """One panel per workload; it draws whatever has been measured so far."""
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 4.2), sharey=True, layout="constrained")
    ours, theirs = measured(results), published(PEERS)
    for axes, workload in zip(panels, WORKLOADS, strict=True):
        _panel(axes, workload, ours, theirs)
    panels[0].set_ylabel("microseconds per event")
    shown = {
        label: line
        for axes in panels
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=4)
    return figure


def _panel(axes: Axes, workload: str, ours: Points, theirs: Points) -> None:
    axes.set_title(workload)
    axes.set_xlabel("expressions")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(700, 1_400_000)
    axes.set_ylim(0.1, 500_000)
    for matcher, (marker, colour) in THEIRS.items():
        points = dict(sorted(theirs.get((workload, matcher), {}).items()))
        shown = {"marker": marker, "color": colour, "linestyle": ":", "linewidth": 0.8}
        if points:
            axes.plot(list(points), list(points.values()), **shown, label=matcher)
    for what, (label, shape, colour) in OURS.items():
        points = dict(sorted(ours.get((workload, what), {}).items()))
        if points:
            axes.plot(list(points), list(points.values()), shape, color=colour, label=label)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
