"""A set of predicates means the same as a table and as text."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import is_usable, pools, present, schemas, values_of

from penstock import QuerySet
from penstock.gen.expr import Constant
from penstock.gen.predicates import OPERATORS
from penstock.gen.render import constant, show
from penstock.gen.schema import arrow_type, quoted
from penstock.gen.types import DATE, STRING, TIMESTAMP
from penstock.sim import oracle


@st.composite
def predicate_sets(draw):
    """A schema, rows of predicates with values of the attributes' types, and events."""
    schema, around = draw(schemas()), draw(pools())
    kept = {a: usable(a.type, around) for a in schema}
    rows = []
    for number in range(draw(st.integers(1, 12))):
        attribute = draw(st.sampled_from(schema.attributes))
        operator = draw(st.sampled_from(OPERATORS))
        least, most = {"BETWEEN": (2, 2), "IN": (1, 3), "NOT IN": (1, 3)}.get(
            operator, (0, 0) if "NULL" in operator else (1, 1)
        )
        values = st.lists(st.sampled_from(kept[attribute]), min_size=least, max_size=most)
        id = f"q{draw(st.integers(0, number))}"
        rows.append((id, attribute, operator, draw(values)))
    values = st.tuples(*(st.none() | st.sampled_from(kept[a]) for a in schema))
    return schema, rows, draw(st.lists(values, min_size=8, max_size=8))


def usable(of, around):
    """The pool's values of a type, but for decimals that no text can say: 28 nines and more."""
    values = [value for value in values_of(of, around) if is_usable(of.key(value), of)]
    if not of.is_decimal:
        return values
    return [value for value in values if abs(value) < 10 ** (of.precision - of.scale)] or [
        Decimal()
    ]


def as_text(rows):
    """The subscriptions' conditions as SQL."""
    parts = {}
    for id, attribute, operator, values in rows:
        constants = [constant(Constant(attribute.type, value)) for value in values]
        joined = " AND ".join(constants) if operator == "BETWEEN" else ", ".join(constants)
        operands = f"({joined})" if operator.endswith("IN") else joined
        parts.setdefault(id, []).append(f"{quoted(attribute.name)} {operator} {operands}")
    return {id: " AND ".join(conditions) for id, conditions in parts.items()}


def as_table(rows, of=None):
    """The rows with operands as text or, where all are of one type, in its Arrow type."""
    if of is None:
        operands = [
            [value if a.type == STRING else show(value, a.type) for value in values]
            for _, a, _, values in rows
        ]
        operands = pa.array(operands, pa.list_(pa.string()))
    else:
        stored = {DATE: pa.int32(), TIMESTAMP: pa.int64()}.get(of, arrow_type(of))
        values = pa.array([v for row in rows for v in row[3]], stored).cast(arrow_type(of))
        ends = np.cumsum([0, *(len(row[3]) for row in rows)])
        operands = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)
    return pa.table(
        {
            "id": [id for id, *_ in rows],
            "attribute": [attribute.name for _, attribute, *_ in rows],
            "operator": [operator for _, _, operator, _ in rows],
            "operands": operands,
        }
    )


def answers(queries, events):
    return [oracle.matches(queries, present(event)) for event in events]


@pytest.mark.fuzz
@given(predicate_sets())
def test_table_and_text_answer_alike(drawn):
    schema, rows, events = drawn
    of = rows[0][1].type
    for chosen, typed in ((rows, None), ([row for row in rows if row[1].type == of], of)):
        from_text = QuerySet(schema)
        for id, text in as_text(chosen).items():
            from_text.add(id, text)
        from_table = QuerySet(schema)
        from_table.add_predicates(as_table(chosen, typed))
        assert [s.id for s in from_table] == [s.id for s in from_text]
        assert answers(from_table, events) == answers(from_text, events)
