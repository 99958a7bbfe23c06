"""Draw what the benchmarks have measured: circuits by subscriptions, engines by expressions.

Reads ``benches/results`` and writes ``area.svg``, ``clock.svg``, ``compile-time.svg``,
``spark.svg`` and ``time-per-event.svg`` beside this file. The same results give the same bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import spark_rates
import time_per_event
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

ROOT = Path(__file__).resolve().parent.parent
STYLE = {
    "svg.hashsalt": "penstock",  # names inside the file would be random
    "svg.fonttype": "path",  # the same letters on every machine
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": "#475569",
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "grid.color": "#e2e8f0",
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.fontsize": 8,
    "lines.markersize": 4.5,
}
PART = "LFE5U-85F"
TILE_SIZE = 256  # what other sizes gave is told in circuit.md
CONSTANTS = {"random": "constants anywhere", "pool": "constants from 50"}
CARDINALITIES = {"random": 2**31 - 1, "pool": 50}
COLOURS = {"random": "#1d4ed8", "pool": "#c2410c"}
STAGES = {"plan to Verilog": "#15803d", "synthesis": "#a16207", "place and route": "#7e22ce"}
TARGET = {"linestyle": (0, (4, 3)), "linewidth": 1}
NOTE = {"ha": "right", "va": "bottom", "fontsize": 7.5}
SIZES = (100, 250, 1_000, 2_500, 5_000, 10_000)
SMALL, LARGE = 1_000, 5_000
KEPT_CLOCK = 0.85


@dataclass(frozen=True)
class Results:
    """The figures of the benches `route` and `circuit`; without a file there are none."""

    route: list[dict[str, Any]]
    circuit: list[dict[str, Any]]

    @staticmethod
    def read(folder: Path) -> Results:
        found = []
        for name in ("route", "circuit"):
            path = folder / f"{name}.json"
            text = path.read_text(encoding="utf-8") if path.exists() else '{"figures": []}'
            found.append(json.loads(text)["figures"])
        return Results(*found)

    def points(self, what: str, constants: str) -> dict[int, float]:
        """What was measured of one thing, by size; not how long it took to give up routing."""
        given_up = self.stopped(constants) if what == "place and route" else []
        found = {
            size: figure["result"]
            for figure in self.route
            if figure["parameters"].get("what") == what
            and _is_of(figure, constants)
            and (size := figure["parameters"]["subscriptions"]) not in given_up
        }
        if what == "plan to Verilog" and constants == "random":  # bench `circuit` builds larger
            found = {size: figure["result"] for size, figure in self._builds()} | found
        return dict(sorted(found.items()))

    def stopped(self, constants: str) -> list[int]:
        """The sizes that were tried and did not route."""
        sizes = {
            figure["parameters"]["subscriptions"]
            for figure in self.route
            if figure["parameters"].get("stopped") and _is_of(figure, constants)
        }
        return sorted(sizes)

    def area_target(self, constants: str) -> float | None:
        """How many LUT4s a subscription may take."""
        for figure in self.circuit:
            cardinality = figure["parameters"].get("cardinality")
            if figure["unit"] == "LUT4 each" and cardinality == CARDINALITIES[constants]:
                target: float | None = figure["target"]
                return target
        return None

    def build_targets(self) -> dict[int, float]:
        """How long plan to Verilog may take, by size."""
        return {size: f["target"] for size, f in self._builds() if f["target"] is not None}

    def _builds(self) -> list[tuple[int, dict[str, Any]]]:
        figures = (figure for figure in self.circuit if figure["unit"] == "s")
        return [(figure["parameters"]["subscriptions"], figure) for figure in figures]


def _is_of(figure: dict[str, Any], constants: str) -> bool:
    parameters = figure["parameters"]
    is_default = parameters.get("tile_size", TILE_SIZE) == TILE_SIZE
    return parameters["constants"] == constants and parameters["part"] == PART and is_default


def area(axes: Axes, results: Results) -> None:
    axes.set_title("Area of the circuit, 4 predicates per subscription")
    axes.set_ylabel("cells per subscription")
    for constants, colour in COLOURS.items():
        for what, shown in (("LUT4", "-o"), ("flip-flops", ":^")):
            points = results.points(what, constants)
            each = {size: count / size for size, count in points.items()}
            label = f"{what}, {CONSTANTS[constants]}"
            axes.plot(*_columns(each), shown, color=colour, label=label)
        target = results.area_target(constants)
        if target is None:
            continue
        axes.axhline(target, color=colour, **TARGET)
        axes.annotate(
            f"target at {SMALL:,}: {target:g} LUT4",
            *((SIZES[-1], target), (0, 3), "data", "offset points"),
            **NOTE,
            color=colour,
        )
    axes.set_ylim(bottom=0)


def clock(axes: Axes, results: Results) -> None:
    axes.set_title(f"Clock of the bare core, placed and routed on {PART}")
    axes.set_ylabel("MHz")
    for row, (constants, colour) in enumerate(COLOURS.items()):
        points = results.points("clock", constants)
        axes.plot(*_columns(points), "-o", color=colour, label=CONSTANTS[constants])
        if SMALL in points:
            least = KEPT_CLOCK * points[SMALL]
            label = f"target: {KEPT_CLOCK:.0%} of its clock at {SMALL:,}"
            axes.plot([SMALL, LARGE], [least, least], color=colour, label=label, **TARGET)
        if stopped := results.stopped(constants):
            heights = [8 + 12 * row] * len(stopped)  # at the bottom, side by side
            axes.plot(stopped, heights, "x", color=colour, label="not routed")
    axes.set_ylim(0, 250)


def compile_time(axes: Axes, results: Results) -> None:
    axes.set_title("Compile time, step by step")
    axes.set_ylabel("seconds")
    axes.set_yscale("log")
    for constants, shown in (("random", "-o"), ("pool", "--s")):
        for what, colour in STAGES.items():
            label = f"{what}, {CONSTANTS[constants]}"
            axes.plot(*_columns(results.points(what, constants)), shown, color=colour, label=label)
    for size, target in results.build_targets().items():
        colour = STAGES["plan to Verilog"]
        axes.plot([size], [target], "_", markersize=14, markeredgewidth=2, color=colour)
        axes.annotate(
            f"target {target:g} s",
            *((size, target), (7, -12), "data", "offset points"),
            **NOTE,
            color=colour,
        )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _columns(points: dict[int, float]) -> tuple[list[int], list[float]]:
    return list(points), list(points.values())


PLOTS = {"area": area, "clock": clock, "compile-time": compile_time}


def drawn(name: str, results: Results) -> Figure:
    """One of the plots; it draws whatever has been measured so far."""
    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    axes.set_xscale("log")
    axes.set_xlim(85, 12_000)
    axes.xaxis.set_major_locator(FixedLocator(SIZES))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("subscriptions")
    PLOTS[name](axes, results)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def draw(results_folder: Path, folder: Path) -> None:
    """Write all plots into a folder."""
    results = Results.read(results_folder)
    with matplotlib.rc_context(STYLE):
        for name in PLOTS:
            _save(drawn(name, results), folder / f"{name}.svg")
        _save(time_per_event.drawn(results_folder), folder / "time-per-event.svg")
        _save(spark_rates.drawn(results_folder), folder / "spark.svg")


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(ROOT / "benches" / "results", ROOT / "docs")
