"""Match events against a query set, and show or save which queries match which event."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.text import Text

import penstock
from penstock.cli.inputs import (
    add_encode,
    add_engine,
    add_events,
    add_queries,
    read_events,
    read_queries,
)
from penstock.cli.printing import console, counted, print_json, visible
from penstock.cli.progress import ProgressLine
from penstock.gen.plan import MOST_BEST
from penstock.gen.tables import check_writable, write_table

EVENTS_SHOWN = 20
MATCHES_SHOWN = 12
"""Of each event; both only where a person reads, never in files or JSON."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_queries(parser)
    add_events(parser)
    add_engine(parser)
    add_encode(parser)
    parser.add_argument("--top", type=_positive, metavar="K", help="the K best, with scores")
    parser.add_argument(
        "-o", "--output", type=Path, help="save to a .parquet, .arrow or .jsonl file"
    )
    parser.add_argument(
        "--waves", type=Path, metavar="FILE", help="record the simulated circuit's signals as VCD"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per event")


def run(arguments: argparse.Namespace) -> int:
    started = time.perf_counter()
    if arguments.output:
        check_writable(arguments.output)
    with ProgressLine() as progress:
        queries = read_queries(arguments, progress)
        events = read_events(arguments, queries.schema, progress)
        with penstock.open(
            queries,
            engine=arguments.engine,
            waves=arguments.waves,
            encode=arguments.encode,
            k=_circuit_k(arguments),
            progress=progress,
        ) as matcher:
            if arguments.top:
                matches = matcher.top_k(events, arguments.top, progress=progress)
            else:
                matches = matcher.match(events, progress=progress)
            cycles = matcher.counters.get("cycles")
    if arguments.output:
        write_table(matches, arguments.output)
    if arguments.json:
        _print_json(matches)
    elif not arguments.output:
        _print_table(matches)
    found = pc.sum(pc.list_value_length(matches["matches"])).as_py() or 0
    clocked = f", {cycles:,} cycles" if cycles is not None else ""
    saved = f", saved to {arguments.output}" if arguments.output else ""
    print(
        f"{counted(len(queries), 'subscription')}, {counted(events.num_rows, 'event')}, "
        f"{counted(found, 'match', 'es')} in {time.perf_counter() - started:.2f} s "
        f"on engine {arguments.engine}{clocked}{saved}",
        file=sys.stderr,
    )
    return 0


def _circuit_k(arguments: argparse.Namespace) -> int | None:
    """How many of the best a circuit is to keep; beyond what circuits can, the host ranks."""
    is_ranked = arguments.engine == "simulated" and arguments.top and arguments.top <= MOST_BEST
    return arguments.top if is_ranked else None


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def _print_json(matches: pa.Table) -> None:
    for batch in matches.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            print_json(row)


def _print_table(matches: pa.Table) -> None:
    """A line per event; on a terminal broken where it ends, elsewhere left whole."""
    out = console()
    out.print("event  matches", style="bold")
    for row in matches.slice(0, EVENTS_SHOWN).to_pylist():
        text = Text(_listed(row["matches"]))
        lines = text.wrap(out, max(20, out.width - 7)) if out.is_terminal else [text]
        shown = "\n       ".join(line.plain.rstrip() for line in lines)
        out.print(f"{row['event']:<5}  {shown}".rstrip())
    rest = matches.num_rows - EVENTS_SHOWN
    if rest > 0:
        out.print(f"... and {counted(rest, 'event')} more; -o saves all, --json prints all")


def _listed(matches: list[str] | list[dict[str, object]]) -> str:
    rest = len(matches) - MATCHES_SHOWN
    more = [f"... and {rest:,} more"] if rest > 0 else []
    return ", ".join([*(_shown(match) for match in matches[:MATCHES_SHOWN]), *more])


def _shown(match: str | dict[str, object]) -> str:
    text = match if isinstance(match, str) else f"{match['id']} ({match['score']})"
    return visible(text, keep="")
