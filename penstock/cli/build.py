"""Compile a query set to a circuit: Verilog, manifest, plan and an estimate of its area."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from penstock.cli.inputs import add_encode, add_queries, read_queries
from penstock.cli.printing import counted
from penstock.cli.progress import ProgressLine
from penstock.gen.errors import DeviceError
from penstock.gen.tables import make_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_queries(parser)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="where to write"
    )
    parser.add_argument(
        "--area", action="store_true", help="count LUTs with Yosys for an ECP5 (takes a while)"
    )
    add_encode(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(arguments: argparse.Namespace) -> int:
    try:
        from penstock.gen.build import area, build, write
    except ModuleNotFoundError as error:
        raise DeviceError(f"building needs {error.name}: pip install 'penstock[circuit]'") from None
    started = time.perf_counter()
    make_folder(arguments.output)  # if it cannot be made, then say so before the work
    with ProgressLine() as progress:
        queries = read_queries(arguments, progress)
        built = build(queries, progress, encode=arguments.encode)
        write(built, arguments.output)
        cells = area(built.circuit, progress) if arguments.area else {}
    summary = {
        "folder": str(arguments.output),
        "subscriptions": len(queries),
        "tiles": len(built.plan.tiles),
        "event_bits": built.event_bits,
        "verilog_bytes": len(built.circuit),
        "digest": built.manifest.digest,
        "area": cells,
        "seconds": round(time.perf_counter() - started, 3),
    }
    if arguments.json:
        print(json.dumps(summary))
        return 0
    print(
        f"{arguments.output}: {counted(len(queries), 'subscription')} in "
        f"{counted(len(built.plan.tiles), 'tile')}, {built.event_bits} bits per event, "
        f"{len(built.circuit):,} bytes of Verilog, {summary['seconds']:.1f} s"
    )
    if cells:
        print(f"area: {', '.join(f'{count:,} {cell}' for cell, count in cells.items())}")
    return 0
