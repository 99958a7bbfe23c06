"""The events of a random case as a wide Arrow table."""

import pyarrow as pa
from strategies import Case

from penstock.gen.schema import arrow_type
from penstock.gen.types import DATE, TIMESTAMP


def arrow_events(case: Case) -> pa.Table:
    """One column per attribute, in its Arrow type."""
    columns = {}
    for attribute in case.schema:
        of = attribute.type
        stored = {DATE: pa.int32(), TIMESTAMP: pa.int64()}.get(of, arrow_type(of))
        values = [event.get(attribute.index) for event in case.events]
        columns[attribute.name] = pa.array(values, stored).cast(arrow_type(of))
    return pa.table(columns)
