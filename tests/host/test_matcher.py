"""Every engine behind one matcher: the same answers, in the same order and type."""

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from event_tables import arrow_events
from hypothesis import HealthCheck, assume, given, settings
from strategies import bound, cases

import penstock
from penstock import DataError, DeviceError, QuerySet, Schema
from penstock.gen.expr import Subscription
from penstock.gen.normalise import TooManyDisjuncts
from penstock.host.device import MATCHES, SCORED_MATCHES
from penstock.sim import oracle

SCHEMA = Schema.of({"price": "DECIMAL(10,2)", "symbol": "STRING", "n": "INT", "m": "INT"})
TEXTS = {
    "z cheap": ("price < 10", 0),
    "a": ("symbol IN ('A', 'B') AND n >= 5", 5),
    "Z": ("n > m", 3),
    "no price": ("price IS NULL OR NOT (n = 5)", 0),
    "\u00e9": ("weight(symbol LIKE 'A%', 2) OR weight(n BETWEEN 1 AND 5, 7)", 1),
    "always": ("n = 1 OR n <> 1 OR n IS NULL", 0),
    "never": ("n < 1 AND n > 2", 9),
}
EVENTS = [
    {"price": Decimal("9.99"), "symbol": "A", "n": 5, "m": 4},
    {"price": Decimal(10), "symbol": "AB", "n": 6, "m": 7},
    {},
    {"symbol": "B", "n": 5},
    {"n": 2, "m": 1},
]
WANTED = [
    ["Z", "a", "always", "z cheap", "\u00e9"],
    ["always", "no price", "\u00e9"],
    ["always", "no price"],
    ["a", "always", "no price", "\u00e9"],
    ["Z", "always", "no price", "\u00e9"],
]
BEST = [
    [("\u00e9", 8), ("a", 5), ("Z", 3)],
    [("\u00e9", 3), ("always", 0), ("no price", 0)],
    [("always", 0), ("no price", 0)],
    [("\u00e9", 8), ("a", 5), ("always", 0)],
    [("\u00e9", 8), ("Z", 3), ("always", 0)],
]

# Not the simulated engine: it does not rank yet, and would compile a circuit for each of the
# query sets here, random ones too. tests/sim/test_simulated.py is its suite.
ENGINES = [engine for engine in penstock.ENGINES if engine != "simulated"]
pytestmark = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(scope="module")
def queries():
    made = QuerySet(SCHEMA)
    for id, (text, weight) in TEXTS.items():
        made.add(id, text, weight=weight)
    return made


@pytest.fixture
def matcher(engine, queries):
    with penstock.open(queries, engine=engine) as opened:
        yield opened


def table_of(events=EVENTS):
    return pa.Table.from_pylist(events, SCHEMA.to_arrow())


def sparse(events=EVENTS):
    pairs = [[(key, str(value)) for key, value in event.items()] for event in events]
    return pa.table({"attributes": pa.array(pairs, pa.map_(pa.string(), pa.string()))})


def scored(answer):
    return [
        [(match["id"], match["score"]) for match in row] for row in answer["matches"].to_pylist()
    ]


FORMS = {
    "dicts": lambda: EVENTS,
    "table": table_of,
    "batch": lambda: table_of().combine_chunks().to_batches()[0],
    "pandas": lambda: table_of().to_pandas(),
    "sparse": sparse,
    "chunks": lambda: pa.concat_tables([table_of().slice(0, 2), table_of().slice(2)]),
    "slice": lambda: table_of([{"n": 5}, *EVENTS, {"n": 1}]).slice(1, len(EVENTS)),
    "sparse slice": lambda: sparse([{"n": 5}, *EVENTS]).slice(1),
    "dictionary": lambda: table_of().set_column(
        1, "symbol", table_of()["symbol"].dictionary_encode()
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_matches_are_ids_in_order_whatever_the_form(matcher, form):
    answer = matcher.match(FORMS[form]())
    assert answer.schema == pa.schema([("event", pa.int64()), ("matches", MATCHES)])
    assert answer["event"].to_pylist() == list(range(len(EVENTS)))
    assert answer["matches"].to_pylist() == WANTED


@pytest.mark.parametrize("form", FORMS)
def test_best_come_first_and_equal_scores_by_id(matcher, form):
    answer = matcher.top_k(FORMS[form](), 3)
    assert answer.schema == pa.schema([("event", pa.int64()), ("matches", SCORED_MATCHES)])
    assert scored(answer) == BEST


def test_k_beyond_the_matches_gives_all(matcher):
    for k in (10, 10**6):
        assert [sorted(id for id, _ in best) for best in scored(matcher.top_k(EVENTS, k))] == WANTED
    assert [len(best) for best in scored(matcher.top_k(EVENTS, 1))] == [1] * 5


def test_weights_of_attributes_multiply_what_predicates_earn(matcher):
    for name in ("n", "N"):
        best = scored(matcher.top_k(EVENTS, 1, weights={name: 3, "price": 100}))
        assert best[0] == [("\u00e9", 22)]
    assert scored(matcher.top_k(EVENTS, 1, weights={"n": 0}))[0] == [("a", 5)]


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_at_least_one(matcher, k):
    with pytest.raises(ValueError, match=f"k must be at least 1, not {k}"):
        matcher.top_k(EVENTS, k)


def test_weights_must_be_of_attributes_and_not_negative(matcher):
    with pytest.raises(KeyError, match=r"unknown attribute 'pirce' in .*did you mean 'price'"):
        matcher.top_k(EVENTS, 1, weights={"pirce": 2})
    with pytest.raises(ValueError, match="must not be negative"):
        matcher.top_k(EVENTS, 1, weights={"price": -1})


@pytest.mark.parametrize(
    "events",
    [[], pa.table({}), table_of([]), sparse([]), pd.DataFrame({"n": []})],
    ids=["dicts", "nothing", "wide", "sparse", "pandas"],
)
def test_no_events_give_an_empty_table_of_the_same_type(matcher, events):
    assert matcher.match(events).schema.field("matches").type == MATCHES
    assert matcher.top_k(events, 2).schema.field("matches").type == SCORED_MATCHES
    assert matcher.match(events).num_rows == matcher.top_k(events, 2).num_rows == 0


def test_events_without_values_are_events(matcher):
    empty = pa.array([None, []], pa.map_(pa.string(), pa.int32()))
    for events in ([{}, {}], pa.table({"attributes": empty}), pa.table({"n": pa.nulls(2)})):
        assert matcher.match(events)["matches"].to_pylist() == [["always", "no price"]] * 2


def test_batches_are_joined_in_order(matcher, monkeypatch):
    monkeypatch.setattr(type(matcher._device), "batch_events", 2)
    many = EVENTS * 3
    seen = []
    for form in (many, table_of(many), sparse(many)):
        answer = matcher.match(form, progress=lambda *step: seen.append(step))
        assert answer["matches"].to_pylist() == WANTED * 3
        assert answer["event"].to_pylist() == list(range(15))
        assert scored(matcher.top_k(form, 3)) == BEST * 3
    assert seen[:8] == [("matching events", done, 15) for done in range(0, 15, 2)]


def test_error_in_a_later_batch_counts_events_from_the_start(matcher, monkeypatch):
    monkeypatch.setattr(type(matcher._device), "batch_events", 2)
    with pytest.raises(DataError, match=r"event 5 has an unknown attribute 'pric'\nhint: did you"):
        matcher.match(sparse([*EVENTS, {"pric": 1}]))


def test_what_does_not_fit_is_refused_and_the_matcher_goes_on(matcher):
    for events, message in [
        (pa.table({"zz": [1]}), "no column of the events"),
        (pa.table([pa.array([1]), pa.array([1])], names=["n", "N"]), "two columns for attribute"),
        (pa.table({"n": ["x"]}), "column 'n': 'x' does not fit INT"),
        ("n", "not as str"),
    ]:
        with pytest.raises(DataError, match=message):
            matcher.match(events)
    assert matcher.match(EVENTS)["matches"].to_pylist() == WANTED


def test_closed_matcher_answers_no_more(engine, queries):
    with penstock.open(queries, engine=engine) as matcher:
        pass
    matcher.close()
    for ask in (
        lambda: matcher.match(EVENTS),
        lambda: matcher.top_k(EVENTS, 1),
        lambda: matcher.counters,
    ):
        with pytest.raises(DeviceError, match=r"this matcher is closed; open it again"):
            ask()


def test_matcher_closes_its_device_once_even_on_an_error(engine, queries):
    closed = []

    class Device:
        def close(self):
            closed.append(engine)

    matcher = penstock.Matcher(queries, Device())
    with pytest.raises(KeyError), matcher:
        raise KeyError(engine)
    matcher.close()
    assert closed == [engine]


def test_software_counts_nothing(matcher):
    matcher.match(EVENTS)
    assert matcher.counters == {}


def test_changes_to_the_set_do_not_reach_an_open_matcher(engine):
    queries = QuerySet(SCHEMA)
    queries.add("x", "n = 1")
    with penstock.open(queries, engine=engine) as matcher:
        queries.remove("x")
        queries.add("y", "n = 1")
        assert matcher.match([{"n": 1}])["matches"].to_pylist() == [["x"]]


def test_empty_set_matches_nothing(engine):
    with penstock.open(QuerySet(SCHEMA), engine=engine) as matcher:
        assert matcher.match([{"n": 1}])["matches"].to_pylist() == [[]]
        assert matcher.top_k([{"n": 1}], 3)["matches"].to_pylist() == [[]]


def test_table_of_predicates_matches_as_text_does(engine):
    queries = QuerySet(SCHEMA)
    rows = [
        ("q", "n", ">=", ["5"], 2),
        ("q", "symbol", "IN", ["A", "B"], 0),
        ("r", "m", "IS NULL", [], 1),
    ]
    names = ("id", "attribute", "operator", "operands", "weight")
    queries.add_predicates(
        pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    )
    with penstock.open(queries, engine=engine) as matcher:
        assert scored(matcher.top_k(EVENTS, 5)) == [
            [("q", 2)],
            [],
            [("r", 1)],
            [("q", 2), ("r", 1)],
            [],
        ]


def test_unknown_engine_names_those_there_are(engine):
    with pytest.raises(DeviceError, match=f"unknown engine 'x'; the engines are .*{engine}"):
        penstock.open(QuerySet(SCHEMA), engine="x")


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(case=cases(texts=8, events=10))
def test_engine_answers_as_the_oracle_does(engine, case):
    queries = QuerySet(case.schema)
    for number, text in enumerate(case.texts):
        condition = bound(text, case.schema)
        if condition is not None:
            queries.insert(Subscription(f"q{number}", condition, number % 3))
    events = arrow_events(case)
    try:
        opened = penstock.open(queries, engine=engine)
    except TooManyDisjuncts:
        assume(False)
    with opened as matcher:
        assert matcher.match(events)["matches"].to_pylist() == [
            oracle.matches(queries, event) for event in case.events
        ]
        assert scored(matcher.top_k(events, 3)) == [
            oracle.top_k(queries, event, 3, {}) for event in case.events
        ]
