"""Write a workload of expressions and events to a folder."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import fields
from typing import Any

PRESET_NAMES = ("uni", "zipf", "dense")

OPTIONS: dict[str, tuple[type, str]] = {
    "expressions": (int, "number of expressions"),
    "attributes": (int, "number of attributes in the schema"),
    "cardinality": (int, "values per attribute, from 0"),
    "predicates": (int, "mean predicates per expression"),
    "predicate_spread": (int, "most that an expression differs from that mean"),
    "pairs": (int, "mean attributes per event"),
    "pair_spread": (int, "most that an event differs from that mean"),
    "attribute_distribution": (str, "uniform, zipf or zipf:EXPONENT"),
    "value_distribution": (str, "uniform, zipf or zipf:EXPONENT"),
    "in_length": (int, "values per IN or NOT IN list"),
    "match_rate": (float, "fraction of the expressions that an average event matches"),
    "max_weight": (int, "predicate weights from 1 to this; 0 for none"),
    "events": (int, "number of events"),
    "seed": (int, "same seed and options, same data"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add every field of a workload's spec as an option, and where to write it."""
    from penstock.sim.workload import WorkloadSpec

    defaults = {field.name: field.default for field in fields(WorkloadSpec)}
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="where to write")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument(
        "--preset", choices=PRESET_NAMES, help="start from a known workload; other options override"
    )
    for name, (kind, text) in OPTIONS.items():
        default = defaults[name]
        shown = "whatever comes" if default is None else default
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=kind, help=f"{text} (default: {shown})"
        )
    parser.add_argument(
        "--operators",
        type=operator_weights,
        metavar="MIX",
        help="weights such as '=:2, <:1, IN:0.5'; operators left out do not occur "
        "(default: all nine alike)",
    )


def operator_weights(text: str) -> dict[str, float]:
    """``'=:2, NOT IN:1'`` as weights by operator; a bare operator weighs 1."""
    weights = {}
    for part in text.split(","):
        operator, _, weight = part.partition(":")
        try:
            weights[operator.strip()] = float(weight or 1)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{part.strip()!r} is not OPERATOR:WEIGHT, such as '=:2'"
            ) from None
    return weights


def run(args: argparse.Namespace) -> int:
    """Generate, write, and say what was written."""
    from penstock.cli.progress import ProgressLine
    from penstock.sim.workload import PRESETS, WorkloadSpec, write

    chosen: dict[str, Any] = dict(PRESETS[args.preset]) if args.preset else {}
    for name in (*OPTIONS, "operators"):
        if getattr(args, name) is not None:
            chosen[name] = getattr(args, name)
    spec = WorkloadSpec(**chosen)
    started = time.perf_counter()
    with ProgressLine() as progress:  # on stderr: what --json prints stays one object
        summary = write(spec, args.output, progress=progress)
    seconds = time.perf_counter() - started
    if args.json:
        print(json.dumps({**summary, "folder": args.output, "seconds": round(seconds, 3)}))
        return 0
    wanted = "" if spec.match_rate is None else f" (wanted {spec.match_rate:.3g})"
    print(
        f"{args.output}: {summary['expressions']:,} expressions "
        f"({summary['predicates']:,} predicates), {summary['events']:,} events, "
        f"{seconds:.1f} s\n"
        f"achieved match rate {summary['achieved_match_rate']:.3g}{wanted}, seed {spec.seed}"
    )
    return 0
