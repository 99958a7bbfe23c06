"""Row filters in tables of predicates: as rows of their own where these can say the same."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from strategies import bound, cases

from penstock import QuerySet, Schema, parse_policy
from penstock.gen.expr import And, leaves_of
from penstock.gen.normalise import normalise
from penstock.gen.policed_table import policed
from penstock.gen.read_predicates import read_predicates
from penstock.gen.render import normal_text
from penstock.gen.row_filters import rows_of
from penstock.sim import oracle

SCHEMA = Schema.of(
    {"n": "INT", "s": "STRING", "d": "DECIMAL(10,2)", "f": "DOUBLE", "flag": "BOOLEAN",
     "day": "DATE", "at": "TIMESTAMP", "m": "INT", "r": "FLOAT"}
)  # fmt: skip


def rows_in(text):
    found = rows_of(bound(text, SCHEMA))
    if found is None:
        return None
    return [(row.attribute.name, row.operator, list(row.operands)) for row in found]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("n = 5", [("n", "IN", [5])]),
        ("n IN (5, 7)", [("n", "IN", [5, 7])]),
        ("n <> 5", [("n", "NOT IN", [5])]),
        ("n NOT IN (5, 7)", [("n", "NOT IN", [5, 7])]),
        ("n >= 5", [("n", ">=", [5])]),
        ("n < 5", [("n", "<", [5])]),
        ("n BETWEEN 5 AND 7 AND n <> 5 AND n > 5.5", [("n", ">=", [6]), ("n", "<", [8])]),
        ("n IS NULL", [("n", "IS NULL", [])]),
        ("n IS NOT NULL", [("n", "IS NOT NULL", [])]),
        ("n >= 2147483647", [("n", "IN", [2147483647])]),
        ("s LIKE 'A%'", [("s", ">=", ["A"]), ("s", "<", ["B"])]),
        ("s LIKE '%'", [("s", "IS NOT NULL", [])]),
        ("s = ''", [("s", "IN", [""])]),
        ("flag", [("flag", "IN", [True])]),
        ("f = CAST('NaN' AS DOUBLE)", [("f", "IN", [pytest.approx(float("nan"), nan_ok=True)])]),
        ("f = -0.0D", [("f", "IN", [0.0])]),
        ("day < DATE '1970-01-03'", [("day", "<", [2])]),
        ("at >= DATE '1970-01-01'", [("at", ">=", [0])]),
        ("n = 1 AND s < 'B'", [("n", "IN", [1]), ("s", "<", ["B"])]),
        ("NOT (n <> 1 OR s >= 'B')", [("n", "IN", [1]), ("s", "<", ["B"])]),
        ("TRUE", []),
        ("FALSE", None),
        ("n = 5 OR n IS NULL", None),
        ("n = 5 OR n > 7", None),
        ("n < 5 OR n > 7", None),
        ("n = 5 OR s = 'A'", None),
        ("s LIKE '%A%'", None),
        ("n = m", None),
    ],
)
def test_row_filter_as_rows(text, rows):
    assert rows_in(text) == rows


def one_of_each(schema, owners):
    """For each owner a table's subscription on each attribute: present or, each second, absent."""
    wanted = [(o, a) for o in owners for a in schema]
    return pa.table(
        {
            "id": [f"{owner} {attribute.index}" for owner, attribute in wanted],
            "attribute": [attribute.name for _, attribute in wanted],
            "operator": ["IS NOT NULL" if a.index % 2 else "IS NULL" for _, a in wanted],
            "operands": pa.array([[]] * len(wanted), pa.list_(pa.string())),
            "weight": [attribute.index for _, attribute in wanted],
            "owner": [owner for owner, _ in wanted],
        }
    )


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases(texts=8, events=12))
def test_table_under_a_policy_holds_for_what_filter_and_condition_hold_for(case):
    filters = {f"o{n}": t for n, t in enumerate(case.texts) if bound(t, case.schema) is not None}
    statements = [f"CREATE POLICY FOR {o} ON events WHERE {f}" for o, f in filters.items()]
    policy = parse_policy(";".join([*statements, "CREATE POLICY FOR DEFAULT ON events"]))
    rows = one_of_each(case.schema, [*filters, "other"])
    plain = read_predicates(rows, case.schema)
    table = policed(plain, policy.bind(case.schema))
    whole = table.is_whole(np.arange(len(plain)))
    # The same table, with nothing known of its filters: all that counts is in its rows.
    bare = replace(table, filters=(), filter_of=None)
    for index in range(len(plain)):
        unfiltered = plain.subscription(index)
        wanted = unfiltered.condition
        if unfiltered.owner in filters:
            wanted = And((bound(filters[unfiltered.owner], case.schema), wanted))
        conditions = [table.subscription(index).condition]
        if whole[index]:
            conditions.append(bare.subscription(index).condition)
        if unfiltered.owner in filters:
            event("in its rows" if whole[index] else "beyond its rows")
        for values in case.events:
            want = oracle.evaluate(wanted, values) is True
            for condition in conditions:
                assert (oracle.evaluate(condition, values) is True) is want, condition
                earned = oracle.score(condition, values, {})
                assert earned == (oracle.score(unfiltered.condition, values, {}) if want else None)


POLICY = parse_policy(
    """
    CREATE POLICY FOR acme ON events WHERE s LIKE 'A%' AND day IS NOT NULL;
    CREATE POLICY FOR globex ON events WHERE s LIKE '%A%';
    CREATE POLICY FOR initech ON events;
    """
)


def table_of(owners):
    return pa.table(
        {
            "id": [f"q{n // 2}" for n in range(2 * len(owners))],
            "attribute": ["n", "s"] * len(owners),
            "operator": [">", "<>"] * len(owners),
            "operands": [["5"], ["A"]] * len(owners),
            "weight": [3, 0] * len(owners),
            "owner": [owner for owner in owners for _ in range(2)],
        }
    )


def test_subscriptions_keep_their_order_and_what_is_simple_stays_in_the_table():
    queries = QuerySet(SCHEMA, policy=POLICY)
    queries.add_predicates(table_of(["initech", "globex", "acme", "globex", "acme"]))
    assert [s.id for s in queries] == ["q0", "q1", "q2", "q3", "q4"]
    assert [s.id for s in queries.singles] == ["q1", "q3"]
    ((table, kept),) = queries.tables
    assert [table.subscription(index).id for index in kept.tolist()] == ["q0", "q2", "q4"]
    assert queries["q0"].row_filter is None
    assert queries["q4"].row_filter == bound("s LIKE 'A%' AND day IS NOT NULL", SCHEMA)


def test_subscription_from_a_table_is_the_same_as_from_text():
    queries = QuerySet(SCHEMA, policy=POLICY)
    queries.add_predicates(table_of(["globex", "acme"]))
    for id, owner in (("q0", "globex"), ("q1", "acme")):
        queries.add("text", "weight(n > 5, 3) AND s <> 'A'", owner=owner)
        for same in ("condition", "own", "row_filter", "owner"):
            assert getattr(queries["text"], same) == getattr(queries[id], same)
        queries.remove("text")


def test_rows_of_a_filter_say_what_its_normal_form_says():
    queries = QuerySet(SCHEMA, policy=POLICY)
    queries.add_predicates(table_of(["acme", "acme"]))
    ((table, _),) = queries.tables
    bare = replace(table, filters=(), filter_of=None)
    for index in range(2):
        said, exact = bare.subscription(index), table.subscription(index)
        assert [leaf.weight for leaf in leaves_of(said.condition)] == [0, 0, 0, 3, 0]
        assert normal_text(normalise(said.condition)) == normal_text(normalise(exact.condition))


def test_empty_table_passes_any_policy():
    queries = QuerySet(SCHEMA, policy=POLICY)
    queries.add_predicates(table_of(["acme"]).slice(0, 0))
    assert len(queries) == 0
