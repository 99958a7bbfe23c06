"""Explanations: the verdict of the whole and of each part, with the values that led to it."""

import dataclasses
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from event_tables import arrow_events
from hypothesis import HealthCheck, given, settings
from strategies import bound, cases

import penstock
from penstock import QuerySet, Schema, explain
from penstock.gen.expr import And, Not, Or, Subscription
from penstock.host.explain import REASONS_AT
from penstock.sim import oracle

SCHEMA = Schema.of({"price": "DECIMAL(10,2)", "symbol": "STRING", "n": "INT", "my col": "INT"})


def told(text, event):
    queries = QuerySet(SCHEMA)
    queries.add("q", text)
    return str(explain(queries, [event], index=0, id="q"))


@pytest.mark.parametrize(
    ("text", "event", "lines"),
    [
        (
            "price < 10",
            {"price": Decimal("9.99")},
            """q: event 0 matches
        |  ✓ price < 10                                      holds: price = 9.99""",
        ),
        (
            "price < 10 AND symbol = 'A'",
            {"price": Decimal(12), "symbol": "A"},
            """q: event 0 does not match
        |  ✗ AND                                             does not hold
        |    ✗ price < 10                                    does not hold: price = 12.00
        |    ✓ symbol = 'A'                                  holds: symbol = 'A'""",
        ),
        (
            "n = 1 OR symbol = 'A'",
            {"n": 2},
            """q: event 0 does not match
        |  ? OR                                              unknown
        |    ✗ n = 1                                         does not hold: n = 2
        |    ? symbol = 'A'                                  unknown: symbol is absent""",
        ),
        (
            "NOT (n = 1 OR symbol IS NULL)",
            {"n": 2, "symbol": "it's\n"},
            """q: event 0 matches
        |  ✓ NOT                                             holds
        |    ✗ OR                                            does not hold
        |      ✗ n = 1                                       does not hold: n = 2
        |      ✗ symbol IS NULL                              does not hold: symbol = 'it\\'s\\n'""",
        ),
        (
            "NOT n = 1",
            {},
            """q: event 0 does not match
        |  ? NOT (n = 1)                                     unknown: n is absent""",
        ),
        (
            "n < `my col` AND TRUE",
            {"n": 1, "my col": 2},
            """q: event 0 matches
        |  ✓ AND                                             holds
        |    ✓ n < `my col`                                  holds: n = 1, `my col` = 2
        |    ✓ TRUE                                          holds""",
        ),
        (
            "NOT FALSE",
            {},
            """q: event 0 matches
        |  ✓ NOT (FALSE)                                     holds""",
        ),
        (
            "n < n",
            {"n": 1},
            """q: event 0 does not match
        |  ✗ n < n                                           does not hold: n = 1""",
        ),
        (
            "symbol IN ('a rather long string', 'and another one of them')",
            {"symbol": "x"},
            """q: event 0 does not match
        |  ✗ symbol IN ('a rather long string', 'and another one of them')
        |                                                    does not hold: symbol = 'x'""",
        ),
    ],
)
def test_text_shows_each_part_with_its_values(text, event, lines):
    assert told(text, event).splitlines() == [
        line.strip().removeprefix("|") for line in lines.splitlines()
    ]


def test_reasons_stand_in_one_column():
    text = told("n = 1 AND (symbol = 'A' OR NOT (n = 2 AND n = 3))", {"n": 1})
    reasons = [re.search("  (holds|unknown|does not hold)", line) for line in text.splitlines()[1:]]
    assert {reason.start() for reason in reasons} == {REASONS_AT}


def test_only_the_event_at_the_index_is_read():
    queries = QuerySet(SCHEMA)
    queries.add("q", "n = 1")
    pairs = [[("zz", "1")], [("n", "1")], [("n", "x")]]
    events = pa.table({"attributes": pa.array(pairs, pa.map_(pa.string(), pa.string()))})
    explanation = explain(queries, events, index=1, id="q")
    assert (explanation.id, explanation.event, explanation.matched) == ("q", 1, True)
    with pytest.raises(penstock.DataError, match="event 0 has an unknown attribute 'zz'"):
        explain(queries, events, index=0, id="q")


@pytest.mark.parametrize("index", [-1, 2, 10**12])
def test_index_out_of_range_says_how_many_events_there_are(index):
    queries = QuerySet(SCHEMA)
    queries.add("q", "n = 1")
    with pytest.raises(IndexError, match=f"there is no event {index}; there are 2, from 0 on"):
        explain(queries, [{}, {}], index=index, id="q")


def test_unknown_id_has_a_hint():
    queries = QuerySet(SCHEMA)
    queries.add("cheap", "n = 1")
    with pytest.raises(KeyError, match=r"no subscription 'chaep' among 1; did you mean 'cheap'"):
        explain(queries, [{}], index=0, id="chaep")


def test_matcher_explains_too():
    queries = QuerySet(SCHEMA)
    queries.add("q", "n = 1")
    with penstock.open(queries) as matcher:
        explanation = matcher.explain([{"n": 1}], index=0, id="q")
    assert explanation == explain(queries, [{"n": 1}], index=0, id="q")
    assert dataclasses.asdict(explanation)["condition"] == {
        "text": "n = 1",
        "verdict": True,
        "values": "n = 1",
        "children": (),
    }


def checked(step, node, event):
    """Every part of the explanation has the oracle's verdict."""
    assert step.verdict is oracle.evaluate(node, event), step
    if isinstance(node, And | Or):
        for child, part in zip(step.children, node.children, strict=True):
            checked(child, part, event)
    elif isinstance(node, Not) and step.children:
        checked(step.children[0], node.child, event)


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases(texts=6, events=5))
def test_verdicts_are_the_oracle_s(case):
    queries = QuerySet(case.schema)
    for text in dict.fromkeys(case.texts):
        condition = bound(text, case.schema)
        if condition is not None:
            queries.insert(Subscription(text, condition))
    events = arrow_events(case)
    for index, event in enumerate(case.events):
        for subscription in queries:
            explanation = explain(queries, events, index=index, id=subscription.id)
            assert explanation.matched is (oracle.evaluate(subscription.condition, event) is True)
            checked(explanation.condition, subscription.condition, event)
            assert str(explanation)
