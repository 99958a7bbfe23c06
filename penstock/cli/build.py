"""Compile a query set to a circuit: Verilog, manifest, plan and an estimate of its area."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.inputs import (
    add_encode,
    add_part,
    add_queries,
    add_spare,
    add_tile_size,
    add_top_k,
    read_queries,
)
from penstock.cli.printing import counted, estimate_line
from penstock.cli.progress import ProgressLine
from penstock.constraints.ecp5 import Part, part_named
from penstock.gen.errors import DeviceError
from penstock.gen.tables import make_folder

if TYPE_CHECKING:  # these need Amaranth, whose absence `run` tells
    from penstock.gen.build import Build
    from penstock.gen.route import Routed
    from penstock.gen.synthesis import Netlist


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_queries(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="where to write"
    )
    add_part(parser)
    parser.add_argument(
        "--area", action="store_true", help="count its cells with Yosys (takes a while)"
    )
    parser.add_argument(
        "--route", action="store_true", help="place and route it with nextpnr (takes much longer)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="where placing begins (default: %(default)s)"
    )
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="give up placing and routing after this"
    )
    add_spare(parser)
    add_encode(parser)
    add_top_k(parser)
    add_tile_size(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(arguments: argparse.Namespace) -> int:
    try:
        from penstock.gen.build import build, write
        from penstock.gen.fit import check_cells
        from penstock.gen.route import route
        from penstock.gen.synthesis import synthesise
    except ModuleNotFoundError as error:
        raise DeviceError(f"building needs {error.name}: pip install 'penstock[circuit]'") from None
    started = time.perf_counter()
    part = part_named(arguments.part)
    make_folder(arguments.output)  # if it cannot be made, then say so before the work
    netlist, routed = None, None
    with ProgressLine() as progress:
        built = build(
            read_queries(arguments, progress),
            progress,
            part=part,
            spare=arguments.spare,
            encode=arguments.encode,
            k=arguments.top_k,
            tile_size=arguments.tile_size,
        )
        write(built, arguments.output)
        if arguments.area or arguments.route:
            netlist = synthesise(built.circuit, progress)
            check_cells(netlist.cells, part)
        if netlist and arguments.route:
            limit, seed = arguments.time_limit, arguments.seed
            routed = route(netlist, part, seed=seed, limit_seconds=limit, progress=progress)
    seconds = round(time.perf_counter() - started, 3)
    outcome = _Outcome(arguments.output, part, built, netlist, routed, seconds)
    print(json.dumps(outcome.as_json()) if arguments.json else "\n".join(outcome.lines()))
    return 0 if routed is None or routed.is_routed else 1


@dataclass(frozen=True, slots=True)
class _Outcome:
    folder: Path
    part: Part
    built: Build
    netlist: Netlist | None
    routed: Routed | None
    seconds: float

    @property
    def spare(self) -> int:
        table = self.built.plan.table
        return table.capacity if table else 0

    @property
    def ranked(self) -> int:
        """How many subscriptions the circuit ranks."""
        ranking = self.built.plan.ranking
        return len(ranking.entries) if ranking else 0

    def as_json(self) -> dict[str, Any]:
        estimate = self.built.estimate
        return {
            "folder": str(self.folder),
            "subscriptions": len(self.built.plan.entries),
            "tiles": len(self.built.plan.tiles),
            "spare": self.spare,
            "ranked": self.ranked,
            "event_bits": self.built.event_bits,
            "verilog_bytes": len(self.built.circuit),
            "digest": self.built.manifest.digest,
            "part": self.part.name,
            "estimate": {"LUT4": estimate.luts, "TRELLIS_FF": estimate.flip_flops},
            "area": self.netlist.cells if self.netlist else {},
            "route": asdict(self.routed) if self.routed else None,
            "seconds": self.seconds,
        }

    def lines(self) -> Iterator[str]:
        plan = self.built.plan
        table = f" and a table for {self.spare:,}" if self.spare else ""
        yield (
            f"{self.folder}: {counted(len(plan.entries), 'subscription')} in "
            f"{counted(len(plan.tiles), 'tile')}{table}, {self.built.event_bits} bits per event, "
            f"{len(self.built.circuit):,} bytes of Verilog, {self.seconds:.1f} s"
        )
        yield estimate_line(self.built.estimate, self.part)
        if self.netlist:
            cells = ", ".join(f"{count:,} {cell}" for cell, count in self.netlist.cells.items())
            yield f"area: {cells}"
        if self.routed:
            yield _route_line(self.routed)


def _route_line(routed: Routed) -> str:
    if not routed.is_routed:
        hint = "smaller tiles are easier to route, and take more area: see --tile-size"
        return f"not routed on {routed.part}: {routed.stopped}\nhint: {hint}"
    used = ", ".join(
        f"{count:,} of {available:,} {cell}"
        for cell, (count, available) in routed.used.items()
        if count
    )
    return (
        f"routed on {routed.part}: {routed.clock_mhz:.1f} MHz; placed in "
        f"{routed.place_seconds:.1f} s, routed in {routed.route_seconds:.1f} s; {used}"
    )
