"""Show the plan of a query set: what is shared, how it is encoded, what runs where."""

from __future__ import annotations

import argparse
from pathlib import Path

from penstock.cli.inputs import (
    add_encode,
    add_part,
    add_queries,
    add_spare,
    add_tile_size,
    add_top_k,
    read_queries,
)
from penstock.cli.printing import estimate_line, visible
from penstock.cli.progress import ProgressLine
from penstock.constraints.ecp5 import part_named
from penstock.gen.errors import DeviceError
from penstock.gen.estimate import estimate_of
from penstock.gen.explain import plan_svg, plan_text
from penstock.gen.passes import plan_of
from penstock.gen.tables import write_text
from penstock.host.software.outline import outline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_queries(parser)
    add_spare(parser)
    add_encode(parser)
    add_top_k(parser)
    add_tile_size(parser)
    add_part(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the plan as a picture")
    parser.add_argument(
        "--engine",
        choices=("simulated", "software"),
        default="simulated",
        help="whose plan: that of the circuit, or what the software engine makes of the set",
    )


def run(arguments: argparse.Namespace) -> int:
    part = part_named(arguments.part)
    if arguments.engine == "software":
        return _software(arguments)
    with ProgressLine() as progress:
        queries = read_queries(arguments, progress)
        plan = plan_of(
            queries,
            progress,
            spare=arguments.spare,
            encode=arguments.encode,
            k=arguments.top_k,
            tile_size=arguments.tile_size,
        )
    if arguments.svg:
        write_text(plan_svg(plan), arguments.svg)
    print(visible(plan_text(plan)))
    print(f"\n{estimate_line(estimate_of(plan), part)}")
    return 0


def _software(arguments: argparse.Namespace) -> int:
    if arguments.svg or arguments.spare or arguments.top_k or arguments.encode != "host":
        raise DeviceError(
            "--svg, --spare, --top-k and --encode are for the plan of a circuit\n"
            "hint: leave them out, or leave out --engine software"
        )
    with ProgressLine() as progress:
        text = outline(read_queries(arguments, progress), progress)
    print(visible(text))
    return 0
