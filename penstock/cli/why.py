"""Explain why an event does or does not match a subscription."""

from __future__ import annotations

import argparse
import dataclasses

import penstock
from penstock.cli.inputs import add_events, add_queries, read_events, read_queries
from penstock.cli.printing import print_json, visible
from penstock.cli.progress import ProgressLine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_queries(parser)
    add_events(parser)
    parser.add_argument("--event", type=int, required=True, help="which event, counted from 0")
    parser.add_argument("--id", required=True, help="which subscription")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    with ProgressLine() as progress:
        queries = read_queries(arguments, progress)
        events = read_events(arguments, queries.schema, progress)
    try:
        explanation = penstock.explain(queries, events, index=arguments.event, id=arguments.id)
    except IndexError as error:
        raise ValueError(str(error)) from None
    if arguments.json:
        print_json(dataclasses.asdict(explanation))
    else:
        print(visible(str(explanation)))
    return 0
