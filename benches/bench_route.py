"""How do clock, area and compile time grow with the number of subscriptions?

The circuits of `bench_circuit`, placed and routed on an ECP5 as bare cores: 8 attributes of 32
bits, 4 predicates each; constants anywhere in the range or from a pool of 50 per attribute. Each
point is written to the results as soon as it is measured, in the place of the same point of an
earlier run, so that long runs can be split and interrupted.

With ``--largest`` it searches the largest set that routes within the time limit instead: it
doubles the size until one does not, then halves the gap.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench_circuit import POOL, WHOLE_RANGE, queries
from timing import Figure, measured, merge

from penstock import DeviceError
from penstock.constraints.ecp5 import DEFAULT_PART, PARTS, Part, part_named
from penstock.gen.build import build
from penstock.gen.passes.cluster import TILE_SIZE, TILE_SIZES
from penstock.gen.route import Routed, route
from penstock.gen.synthesis import Netlist, synthesise

CONSTANTS = {"random": WHOLE_RANGE, "pool": POOL}
SAID = {"random": "anywhere", "pool": "from 50"}
SIZES = (100, 250, 1_000)
"""Without options; 2,500 and 5,000 take up to hours."""
SMALL, LARGE = 1_000, 5_000
KEPT_CLOCK = 0.85
"""What the clock of LARGE should be at least, as a part of that of SMALL."""
STEP = 1_000
BISECTIONS = 4
QUESTION = (__doc__ or "").splitlines()[0]


@dataclass(frozen=True)
class Run:
    """How each point is measured."""

    constants: str
    part: Part
    seed: int
    limit_seconds: float
    tile_size: int = TILE_SIZE

    def parameters(self, size: int | str) -> dict[str, Any]:
        """What tells a point from others, and how it was measured."""
        return {
            "subscriptions": size,
            "constants": self.constants,
            "part": self.part.name,
            "seed": self.seed,
            "limit_seconds": self.limit_seconds,
            "tile_size": self.tile_size,
        }

    def keep(self, figures: list[Figure]) -> None:
        merge("route", QUESTION, figures, key=("subscriptions", "constants", "part", "tile_size"))


def measure(size: int, run: Run) -> str:
    """Measure and write one point; what stopped it, or nothing."""
    name = f"{size:,} subscriptions, constants {SAID[run.constants]}"
    if run.tile_size != TILE_SIZE:
        name += f", tiles of {run.tile_size}"
    loaded = queries(size, CONSTANTS[run.constants])
    routed: Routed | None = None
    started = time.perf_counter()
    try:
        built = build(loaded, part=run.part, tile_size=run.tile_size)
    except DeviceError as error:  # nothing is known of it but that it is far too large
        return _told(name, _reason(error))
    seconds = time.perf_counter() - started
    netlist = synthesise(built.circuit)
    try:
        routed = route(netlist, run.part, seed=run.seed, limit_seconds=run.limit_seconds)
        stopped = routed.stopped
    except DeviceError as error:
        stopped = _reason(error)
    facts = {
        **run.parameters(size),
        "tiles": len(built.plan.tiles),
        "cells": netlist.cells,
        "stopped": stopped,
    }
    run.keep(_figures(name, facts, seconds, netlist, routed))
    return _told(name, stopped)


def _reason(error: DeviceError) -> str:
    return str(error).splitlines()[0]


def _told(name: str, stopped: str) -> str:
    if stopped:
        print(f"{name}: not routed: {stopped}", flush=True)
    return stopped


def _figures(
    name: str, facts: dict[str, Any], seconds: float, netlist: Netlist, routed: Routed | None
) -> list[Figure]:
    def figure(what: str, result: float, unit: str = "s") -> Figure:
        return Figure(f"{name}: {what}", [result], unit, parameters={**facts, "what": what})

    found = [
        figure("LUT4", netlist.cells["LUT4"], "LUT4"),
        figure("CCU2C", netlist.cells["CCU2C"], "CCU2C"),
        figure("flip-flops", netlist.cells["TRELLIS_FF"], "flip-flops"),
        figure("plan to Verilog", seconds),
        figure("synthesis", netlist.seconds),
    ]
    if routed:
        found.append(figure("place and route", routed.place_seconds + routed.route_seconds))
    if routed and routed.clock_mhz is not None:
        found.append(figure("clock", routed.clock_mhz, "MHz"))
    return found


def compare(run: Run) -> None:
    """Hold what has been measured, now or before, against the targets, and write that too."""
    found = [
        entry["parameters"] | {"result": entry["result"]}
        for entry in measured("route")
        if entry["parameters"].get("constants") == run.constants
        and entry["parameters"].get("part") == run.part.name
        and entry["parameters"].get("what") == "clock"
    ]
    if not found:
        return
    largest = max(point["subscriptions"] for point in found)
    same = [point for point in found if point["tile_size"] == run.tile_size]
    clocks = {point["subscriptions"]: point["result"] for point in same}
    said = f"constants {SAID[run.constants]}, {run.part.name}"
    figures = [
        Figure(
            f"{said}: largest routed set here",
            [largest],
            unit="subscriptions",
            target=LARGE,
            at_most=False,
            parameters=run.parameters("targets"),
        )
    ]
    if SMALL in clocks and LARGE in clocks:
        figures.append(
            Figure(
                f"{said}: clock of {LARGE:,} by that of {SMALL:,}",
                [clocks[LARGE] / clocks[SMALL]],
                unit="",
                target=KEPT_CLOCK,
                at_most=False,
                parameters=run.parameters("targets"),
            )
        )
    run.keep(figures)


def record_largest(run: Run) -> None:
    """Find the largest set that routes, and write it with what stops the next."""
    good, bad, stopped = search(lambda size: measure(size, run))
    said = f"constants {SAID[run.constants]}, {run.part.name}"
    facts = run.parameters("largest") | {"next_size": bad, "next_stopped": stopped}
    name = f"{said}: largest set routed in {run.limit_seconds:g} s"
    run.keep([Figure(name, [good], unit="subscriptions", parameters=facts)])


def search(stops: Callable[[int], str]) -> tuple[int, int, str]:
    """The largest size that nothing stops, the smallest that something does, and what that is."""
    good, bad = 0, STEP
    while not (why := stops(bad)):
        good, bad = bad, 2 * bad
    for _ in range(BISECTIONS):
        middle = (good + bad) // 2 // STEP * STEP
        if not good < middle < bad:
            break
        if found := stops(middle):
            bad, why = middle, found
        else:
            good = middle
    return good, bad, why


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--constants", nargs="+", choices=CONSTANTS, default=list(CONSTANTS))
    parser.add_argument("--part", default=DEFAULT_PART, help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600, metavar="SECONDS",
                        help="give up placing and routing a point after this")  # fmt: skip
    parser.add_argument("--tile-size", type=int, choices=TILE_SIZES, default=TILE_SIZE)
    parser.add_argument("--largest", action="store_true", help="search the largest set that routes")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    # So that nextpnr is ended too where `timeout` or a terminal that closes ends this.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: sys.exit(1))
    for constants in chosen.constants:
        run = Run(constants, part_named(chosen.part), chosen.seed, chosen.limit, chosen.tile_size)
        if chosen.largest:
            record_largest(run)
            continue
        for size in chosen.sizes:
            measure(size, run)
        compare(run)


if __name__ == "__main__":
    main()
