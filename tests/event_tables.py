"""The events of random cases as Arrow has them."""

from collections.abc import Sequence

import pyarrow as pa
from strategies import Case

from penstock.gen.schema import arrow_type
from penstock.gen.types import DATE, TIMESTAMP, Type, Value


def arrow_events(case: Case) -> pa.Table:
    """A wide table: one column per attribute, in its Arrow type."""
    columns = {}
    for attribute in case.schema:
        values = [event.get(attribute.index) for event in case.events]
        columns[attribute.name] = column_of(values, attribute.type)
    return pa.table(columns)


def column_of(values: Sequence[Value | None], of: Type) -> pa.Array:
    """Values of a type in its Arrow type."""
    stored = {DATE: pa.int32(), TIMESTAMP: pa.int64()}.get(of, arrow_type(of))
    return pa.array(values, stored, from_pandas=False).cast(arrow_type(of))
