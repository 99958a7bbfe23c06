"""Policies at work: on every engine an owner's answers are those inside its row filter."""

from random import Random

import pyarrow as pa
import pytest
from event_tables import arrow_events
from hypothesis import HealthCheck, assume, event, given, settings
from strategies import bound, cases

import penstock
from penstock import QuerySet, parse_policy
from penstock.gen.expr import And, Subscription
from penstock.gen.normalise import TooManyDisjuncts
from penstock.sim import oracle

OWNERS = ("acme", "globex", "initech")
SOFTWARE = ["reference", "oracle"]


def ids_and_scores(table):
    return [[(m["id"], m["score"]) for m in row] for row in table["matches"].to_pylist()]


def policed(case, filters):
    """The case's conditions, dealt out to owners with these filters, under a policy and by hand."""
    statements = (f"CREATE POLICY FOR {o} ON events WHERE {f}" for o, f in filters.items())
    queries = QuerySet(case.schema, policy=parse_policy(";\n".join(statements)))
    plain = []
    for number, text in enumerate(case.texts):
        owner = OWNERS[number % len(filters)]
        condition = bound(text, case.schema)
        if condition is not None:
            id = f"q{number:02}"
            queries.add(id, text, weight=number % 3, owner=owner)
            both = And((bound(filters[owner], case.schema), condition))
            plain.append(Subscription(id, both, number % 3, owner=owner))
    return queries, plain


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@pytest.mark.parametrize("engine", SOFTWARE)
@given(case=cases(texts=12, events=12))
def test_policed_set_answers_as_filter_and_condition_do(engine, case):
    found = [text for text in case.texts if bound(text, case.schema) is not None]
    assume(len(found) > 3)
    filters = dict(zip(OWNERS, found, strict=False))
    queries, plain = policed(case, filters)
    events = arrow_events(case)
    try:
        opened = penstock.open(queries, engine=engine)
    except TooManyDisjuncts:
        event("too many disjuncts")
        return
    with opened as matcher:
        matches = matcher.match(events)["matches"].to_pylist()
        assert matches == [oracle.matches(plain, values) for values in case.events]
        assert ids_and_scores(matcher.top_k(events, 3)) == [
            oracle.top_k(plain, values, 3, {}) for values in case.events
        ]
    for values, ids in zip(case.events, matches, strict=True):
        for id in ids:
            own = bound(filters[queries[id].owner], case.schema)
            assert oracle.evaluate(own, values) is True, "an owner sees what its filter hides"


SCHEMA = penstock.parse_schema(
    "CREATE STREAM trades (symbol STRING, price DECIMAL(10,2), quantity INT, venue STRING)"
)
POLICY = parse_policy(
    """
    CREATE POLICY FOR acme ON trades (symbol, price) WHERE symbol LIKE 'A%' AND quantity >= 100;
    CREATE POLICY FOR globex ON trades WHERE venue LIKE '%DARK%' OR venue IS NULL;
    CREATE POLICY FOR DEFAULT ON trades (symbol) WHERE price <> 5 AND quantity IS NOT NULL;
    """
)
TEXTS = {
    "acme": ["TRUE", "price < 10", "weight(symbol LIKE '%B', 4) OR price IS NULL", "symbol < 'B'"],
    "globex": ["TRUE", "NOT venue = 'XDARK'", "quantity > 100 AND weight(venue IS NULL, 2)"],
    "initech": ["TRUE", "symbol IN ('A', 'AB')", "symbol IS NULL"],
}
ROWS = pa.table(
    {
        "id": ["t1", "t1", "t2", "t3", "t4"],
        "attribute": ["price", "symbol", "venue", "symbol", "symbol"],
        "operator": ["<", "IN", "IS NULL", "IS NOT NULL", "<>"],
        "operands": [["10"], ["A", "AB"], [], [], ["A"]],
        "weight": [1, 2, 0, 0, 5],
        "owner": ["acme", "acme", "globex", "hooli", "acme"],
    }
)


def by_hand():
    """The same subscriptions without a policy, their filters written into them."""
    queries = QuerySet(SCHEMA)
    filters = {
        "acme": "symbol LIKE 'A%' AND quantity >= 100",
        "globex": "venue LIKE '%DARK%' OR venue IS NULL",
    }
    rest = "price <> 5 AND quantity IS NOT NULL"
    texts = {f"{owner} {n}": (owner, t) for owner in TEXTS for n, t in enumerate(TEXTS[owner])}
    texts |= {
        "t1": ("acme", "weight(price < 10, 1) AND weight(symbol IN ('A', 'AB'), 2)"),
        "t2": ("globex", "venue IS NULL"),
        "t3": ("hooli", "symbol IS NOT NULL"),
        "t4": ("acme", "weight(symbol <> 'A', 5)"),
    }
    for id, (owner, text) in texts.items():
        queries.add(id, f"({filters.get(owner, rest)}) AND ({text})", owner=owner)
    return queries


def under_policy():
    queries = QuerySet(SCHEMA, policy=POLICY)
    for owner, texts in TEXTS.items():
        for number, text in enumerate(texts):
            queries.add(f"{owner} {number}", text, owner=owner)
    queries.add_predicates(ROWS)
    return queries


def trades(count):
    rng = Random(11)
    values = (
        ["A", "AB", "B", "", "Ab", None], ["5", "5.01", "9.99", "10", None],
        [99, 100, 101, None], ["DARK", "XDARK1", "XNAS", "", None],
    )  # fmt: skip
    rows = zip(*([rng.choice(some) for _ in range(count)] for some in values), strict=True)
    return [dict(zip(("symbol", "price", "quantity", "venue"), row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("engine", "more"),
    [
        *((engine, {}) for engine in SOFTWARE),
        pytest.param("simulated", {"k": 4}, marks=pytest.mark.xdist_group("simulated")),
    ],
)
def test_engine_enforces_the_row_filters(engine, more):
    events = trades(300)
    with penstock.open(by_hand(), engine="oracle") as matcher:
        wanted = matcher.match(events)["matches"].to_pylist()
        best = ids_and_scores(matcher.top_k(events, 4))
    with penstock.open(under_policy(), engine=engine, **more) as matcher:
        assert matcher.match(events)["matches"].to_pylist() == wanted
        assert ids_and_scores(matcher.top_k(events, 4)) == best
    seen = {id for ids in wanted for id in ids}
    assert {"acme 0", "acme 2", "globex 0", "globex 2", "initech 1", "t1", "t2", "t3"} <= seen


def test_every_subscription_is_one_owners():
    queries = under_policy()
    owners = [*OWNERS, "hooli"]
    owned = {owner: queries.owned_by(owner).to_pylist() for owner in owners}
    assert owned["acme"] == ["acme 0", "acme 1", "acme 2", "acme 3", "t1", "t4"]
    together = [id for owner in owners for id in owned[owner]]
    assert sorted(together) == sorted(s.id for s in queries)
    assert queries.owned_by("").to_pylist() == []


def test_subscription_added_later_is_held_to_the_policy():
    queries = under_policy()
    with pytest.raises(penstock.QueryError, match="may not use attribute 'venue'"):
        queries.add("later", "venue = 'DARK'", owner="acme")
    queries.add("later", "price = 7", owner="acme")
    events = [{"symbol": s, "price": 7, "quantity": 100} for s in ("A", "B")]
    with penstock.open(queries) as matcher:
        assert ["later" in ids for ids in matcher.match(events)["matches"].to_pylist()] == [
            True,
            False,
        ]


def test_explanation_tells_the_policy_from_the_condition():
    events = [{"symbol": "B", "price": 7, "quantity": 100}]
    found = penstock.explain(under_policy(), events, index=0, id="acme 1")
    of_policy, own = found.condition.children
    assert not found.matched
    assert (of_policy.text, of_policy.verdict) == ("policy of 'acme'", False)
    assert [step.text for step in of_policy.children[0].children] == [
        "symbol LIKE 'A%'",
        "quantity >= 100",
    ]
    assert (own.text, own.verdict) == ("price < 10", True)


def test_filter_may_look_at_what_the_owner_may_not():
    queries = under_policy()
    with pytest.raises(penstock.QueryError, match="may not use attribute 'quantity'"):
        queries.add("more", "quantity >= 100", owner="acme")
    assert "quantity >= 100" in str(penstock.explain(queries, [{}], index=0, id="t1"))


def test_condition_outside_the_filter_is_warned_of():
    queries = QuerySet(SCHEMA, policy=POLICY)
    queries.add("outside", "symbol = 'B'", owner="acme")
    assert [w.message for w in queries.warnings()] == ["can never match"]
