"""Every engine gives the same answers, order included, whatever the form of the events."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from engine_list import (
    ENGINES,
    EVENTS,
    SCHEMA,
    TEXTS,
    answers,
    best,
    opened,
    rows,
    scored,
    sparse,
    wanted,
    wide,
    with_nan,
)

from penstock import Matcher
from penstock.host.device import MATCHES, NUMBERS, SCORED_MATCHES

FORMS: dict[str, Callable[[], Any]] = {
    "dicts": lambda: EVENTS,
    "wide": wide,
    "nan": with_nan,
    "sparse": sparse,
    "sparse slice": lambda: sparse([{"n": 5}, *EVENTS]).slice(1),
    "few columns": lambda: wide().select(["m", "n"]),
    "one wide event": lambda: wide(EVENTS[:1]),
    "nothing known": lambda: [{}, {}],
}


@pytest.fixture(scope="module")
def matcher(request: pytest.FixtureRequest) -> Iterator[Matcher]:
    with opened(request.param) as made:
        yield made


on_every_engine = pytest.mark.parametrize("matcher", ENGINES, indirect=True)


@on_every_engine
@pytest.mark.parametrize("form", FORMS)
def test_matches_are_those_of_the_definition_in_order_of_id(matcher: Matcher, form: str) -> None:
    events = FORMS[form]()
    answer = matcher.match(events)
    assert answer.schema == pa.schema([("event", pa.int64()), ("matches", MATCHES)])
    assert answer["event"].to_pylist() == list(range(len(rows(events))))
    assert answers(answer) == wanted(matcher, events)
    assert any(answers(answer))


@on_every_engine
@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_the_places_of_ids_among_all(matcher: Matcher, form: str) -> None:
    events = FORMS[form]()
    answer = matcher.match_numbers(events)
    assert answer.schema == pa.schema([("event", pa.int64()), ("matches", NUMBERS)])
    ids = sorted(matcher.queries.ids)
    assert [[ids[n] for n in row] for row in answers(answer)] == wanted(matcher, events)
    assert matcher.match_numbers([]).schema.field("matches").type == NUMBERS


@on_every_engine
@pytest.mark.parametrize("events", [[], pa.table({}), wide([]), sparse([])], ids=str)
def test_no_events_give_an_empty_table_of_the_same_type(matcher: Matcher, events: Any) -> None:
    assert matcher.match(events).schema.field("matches").type == MATCHES
    assert matcher.match(events).num_rows == 0
    assert matcher.match(events, only=["a"], owner="ann").num_rows == 0


@on_every_engine
def test_batches_of_any_size_are_joined_in_order(
    matcher: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = wanted(matcher, EVENTS) * 3
    for size in (1, 2, 5):
        monkeypatch.setattr(type(matcher._device), "batch_events", size)
        for form in (EVENTS * 3, wide(EVENTS * 3), sparse(EVENTS * 3)):
            assert answers(matcher.match(form)) == whole


@on_every_engine
def test_only_asks_some_ids_however_they_are_given(matcher: Matcher) -> None:
    rng = Random(3)
    ids = [subscription.id for subscription in matcher.queries]
    for size in (0, 1, 3, len(ids)):
        some = rng.sample(ids, size)
        forms = (some, some * 2, set(some), iter(some), pa.array(some, pa.string()))
        for only in forms:
            found = answers(matcher.match(sparse(), only=only))
            assert found == wanted(matcher, sparse(), set(some).__contains__)


@on_every_engine
def test_owners_see_their_own(matcher: Matcher) -> None:
    seen: set[str] = set()
    for owner in ("ann", "bob", "\u00e4nn", "", "nobody"):
        of = {id for id, (_, more) in TEXTS.items() if more.get("owner", "") == owner}
        of |= {"t1", "t2"} if owner == "" else set()
        found = answers(matcher.match(EVENTS, owner=owner))
        assert found == wanted(matcher, EVENTS, of.__contains__)
        seen.update(*found)
    assert seen == set().union(*answers(matcher.match(EVENTS)))


@on_every_engine
def test_owner_and_only_ask_what_both_ask(matcher: Matcher) -> None:
    found = answers(matcher.match(EVENTS, owner="ann", only=["always", "Z"]))
    assert found == [["always"]] * len(EVENTS)
    assert answers(matcher.match(EVENTS, owner="bob", only=["always"])) == [[]] * len(EVENTS)


@on_every_engine
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("k", [1, 2, 3, 100])
def test_best_come_first_and_equal_scores_by_id(matcher: Matcher, form: str, k: int) -> None:
    events = FORMS[form]()
    answer = matcher.top_k(events, k)
    assert answer.schema == pa.schema([("event", pa.int64()), ("matches", SCORED_MATCHES)])
    assert scored(answer) == best(matcher.queries, events, k, {})


@on_every_engine
def test_weights_of_attributes_multiply_what_predicates_earn(matcher: Matcher) -> None:
    for weights in ({"n": 3, "price": 100}, {"n": 0}, {"symbol": 7}):
        by_index = {SCHEMA[name].index: weight for name, weight in weights.items()}
        for k in (1, 2, 4):
            found = scored(matcher.top_k(EVENTS, k, weights=weights))
            assert found == best(matcher.queries, EVENTS, k, by_index)


@on_every_engine
def test_best_of_some_are_the_best_among_them(matcher: Matcher) -> None:
    asked = [matcher.queries[id] for id in ("no price", "always", "t2")]
    ids = [subscription.id for subscription in asked]
    for k in (1, 2, 5):
        assert scored(matcher.top_k(sparse(), k, only=ids)) == best(asked, sparse(), k, {})
    mine = [subscription for subscription in matcher.queries if subscription.owner == "ann"]
    assert scored(matcher.top_k(EVENTS, 2, owner="ann")) == best(mine, EVENTS, 2, {})
    assert scored(matcher.top_k(EVENTS, 2, only=[])) == [[]] * len(EVENTS)


@on_every_engine
def test_stats_count_what_was_answered(matcher: Matcher) -> None:
    before = matcher.stats
    found = answers(matcher.match(EVENTS))
    after = matcher.stats
    assert after.events - before.events == len(EVENTS)
    assert after.matches - before.matches == sum(map(len, found))
    assert after.seconds > before.seconds and after.rate > 0
    assert after.subscriptions == len(matcher.queries)


@on_every_engine
def test_every_subscription_lives_in_a_part_that_stats_counts(matcher: Matcher) -> None:
    places = [matcher.where(subscription.id) for subscription in matcher.queries]
    counts = {place: count for place, count in matcher.stats.places.items() if count}
    assert counts == {place: places.count(place) for place in set(places)}
