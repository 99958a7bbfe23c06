"""The software engine beside the definition, in whatever layout."""

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from event_tables import column_of
from strategies import Case, bound

from penstock.gen.expr import Subscription
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.host.columns import Column
from penstock.host.events import Batch
from penstock.host.software import grid, grouping
from penstock.host.software.cost import Cost
from penstock.host.software.device import SoftwareDevice
from penstock.sim import oracle

LAYOUTS = ("flat", "coarse", "literals", "blocks", "single")
"""All in blocks for every event, where rows may be coarse, so that boxes or else literals decide;
in blocks that events are led to; or one by one."""


@contextmanager
def laid_out(layout: str):
    """Leave nothing to the cost: whatever is indexed meanwhile gets this layout."""
    is_coarse = layout in ("coarse", "literals")
    height, fewest = (8, 3) if is_coarse else (grid.HEIGHT, grid.FEWEST)
    most_fields = 0 if layout == "literals" else grid.MOST_FIELDS
    least = 1 if layout == "blocks" else 10**9
    with (
        patch.object(Cost, "is_flat", property(lambda _: layout == "flat" or is_coarse)),
        patch.multiple(grid, HEIGHT=height, FEWEST=fewest, MOST_FIELDS=most_fields),
        patch.object(grouping, "LEAST", least),
    ):
        yield


def set_of(case: Case, first: int = 0) -> QuerySet:
    """The texts of a case that the language takes, each with an id of its own."""
    queries = QuerySet(case.schema)
    for number, text in enumerate(case.texts):
        condition = bound(text, case.schema)
        if condition is not None:
            # Ids in another order than the subscriptions.
            queries.insert(Subscription(f"q{(first + number) * 7 % 100:02}", condition, number % 3))
    return queries


def batch_of(events: Sequence[dict[int, Any]], schema: Schema, *, sparse: bool) -> Batch:
    """Events by attribute index, with a column each, or as entries of those that are there."""
    columns = {}
    for attribute in schema:
        values = [event.get(attribute.index) for event in events]
        rows = [row for row, value in enumerate(values) if value is not None]
        if sparse and rows:
            present = column_of([values[row] for row in rows], attribute.type)
            columns[attribute.index] = Column(present, np.array(rows))
        elif not sparse:
            columns[attribute.index] = Column(column_of(values, attribute.type), None)
    return Batch(schema, len(events), columns)


def wanted(queries: QuerySet, events: Sequence[dict[int, Any]]) -> list[list[str]]:
    asked = list(queries)
    return [oracle.matches(asked, event) for event in events]


def best(queries: QuerySet, events: Sequence[dict[int, Any]], k: int, weights: dict[int, int]):
    asked = list(queries)
    return [oracle.top_k(asked, event, k, weights) for event in events]


def scored(found: pa.Array) -> list[list[tuple[str, int]]]:
    return [[(match["id"], match["score"]) for match in row] for row in found.to_pylist()]


def opened(queries: QuerySet, **more: Any) -> SoftwareDevice:
    return SoftwareDevice(queries, **more)
