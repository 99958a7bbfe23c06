"""The arguments that several commands share: which queries, which events."""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa

from penstock.constraints.ecp5 import DEFAULT_PART, PARTS
from penstock.engines import ENGINES
from penstock.gen.errors import DataError
from penstock.gen.load import load
from penstock.gen.passes.cluster import TILE_SIZE, TILE_SIZES
from penstock.gen.plan import ENCODERS, MOST_BEST
from penstock.gen.queryset import Progress, QuerySet
from penstock.gen.schema import Schema
from penstock.gen.tables import read_table


def add_queries(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queries", help="query file (.sql), table of queries, or folder")
    parser.add_argument("--schema", help="CREATE STREAM file, for tables without one beside them")
    parser.add_argument("--stream", help="which stream, where the file declares several")
    parser.add_argument("--policy", metavar="FILE", help="CREATE POLICY file: who may use what")


def add_events(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("events", help="events: .parquet, .arrow, .csv or .jsonl, wide or sparse")


def add_spare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spare",
        type=_count,
        default=0,
        metavar="N",
        help="leave room for N subscriptions that are added while events flow",
    )


def add_top_k(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--top-k",
        type=_k,
        metavar="K",
        help="let the circuit rank: it can send only the K best matches of an event",
    )


def add_tile_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tile-size",
        type=int,
        choices=TILE_SIZES,
        default=TILE_SIZE,
        help="subscriptions of a tile: fewer take more area and are easier to route "
        "(default: %(default)s)",
    )


def _k(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_BEST:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to {MOST_BEST}, not {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a whole number, not {text!r}")
    return int(text)


def add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine", choices=list(ENGINES), default="software", help="default: %(default)s"
    )


def add_part(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--part",
        default=DEFAULT_PART,
        metavar="PART",
        help=f"the FPGA: {', '.join(PARTS)} (default: %(default)s)",
    )


def add_encode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--encode",
        choices=ENCODERS,
        default="host",
        help="who makes codes of values, where the device can; default: %(default)s",
    )


def read_queries(arguments: argparse.Namespace, progress: Progress) -> QuerySet:
    """The query set; before the work of reading it, see that the events are there."""
    events = getattr(arguments, "events", None)
    if events is not None and not Path(events).exists():
        raise DataError(f"there is no file {events!r}")
    return load(
        arguments.queries,
        schema=arguments.schema,
        stream=arguments.stream,
        policy=arguments.policy,
        progress=progress,
    )


def read_events(arguments: argparse.Namespace, schema: Schema, progress: Progress) -> pa.Table:
    progress("reading the events", 0, 0)
    return read_table(Path(arguments.events), schema)
