"""Read a query file and report everything that is wrong with it."""

from __future__ import annotations

import argparse
from typing import Any

from penstock.cli.inputs import add_queries, read_queries
from penstock.cli.printing import console, counted, print_json, visible
from penstock.cli.progress import ProgressLine
from penstock.gen.errors import DataError, Problem, QueryError
from penstock.gen.queryset import QuerySet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_queries(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    problems: tuple[Problem, ...] = ()
    warnings: list[Problem] = []
    queries: QuerySet | None = None
    try:
        with ProgressLine() as progress:
            queries = read_queries(arguments, progress)
            warnings = queries.warnings(progress)
    except QueryError as error:
        problems = error.problems
    except DataError as error:
        if not arguments.json:
            raise
        problems = (Problem(str(error)),)  # who reads JSON gets an object, whatever is wrong
    if arguments.json:
        print_json(_report(queries, problems, warnings))
    else:
        _show(arguments.queries, queries, problems, warnings)
    return 1 if problems else 0


def _show(
    path: str, queries: QuerySet | None, problems: tuple[Problem, ...], warnings: list[Problem]
) -> None:
    out = console()
    for problem in problems:
        out.print("error:", style="bold red", end=" ")
        out.print(visible(str(problem)))
    for warning in warnings:
        out.print("warning:", style="bold yellow", end=" ")
        out.print(visible(str(warning)))
    if queries is None:
        summary = f"{path}: {counted(len(problems), 'problem')}, nothing loaded"
    else:
        schema = queries.schema
        summary = (
            f"{path}: {counted(len(queries), 'subscription')} on stream {schema.stream} "
            f"({counted(len(schema), 'attribute')}), {counted(len(warnings), 'warning')}"
        )
    out.print(visible(summary))


def _report(
    queries: QuerySet | None, problems: tuple[Problem, ...], warnings: list[Problem]
) -> dict[str, Any]:
    return {
        "stream": queries.schema.stream if queries is not None else None,
        "attributes": len(queries.schema) if queries is not None else None,
        "subscriptions": len(queries) if queries is not None else 0,
        "problems": [_as_json(problem) for problem in problems],
        "warnings": [_as_json(warning) for warning in warnings],
    }


def _as_json(problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "message": problem.message,
        "subscription": problem.subscription,
        "hint": problem.hint,
        "file": place.source if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "length": place.length if place else None,
    }
