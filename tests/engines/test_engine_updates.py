"""Subscriptions come, go and expire between batches, on every engine as by the definition."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from engine_list import (
    ENGINES,
    EVENTS,
    NOON,
    answers,
    best,
    opened,
    query_set,
    scored,
    sparse,
    wanted,
)

from penstock import Matcher

SECOND = timedelta(seconds=1)
MORE_TEXTS = (
    "n = 5",
    "n > 1 AND symbol <> 'A'",
    "n < m OR symbol LIKE '%B'",
    "d = 0 OR d > 1e300",
    "price <= 9.99 AND (n = 5 OR n = 6)",
    "symbol IS NULL",
    "NOT (n BETWEEN 2 AND 5)",
    "symbol <=> NULL",
    "TRUE",
    "n IN (2, 5, 6) OR m IN (1, 7)",
)


class Hands:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def matcher(engine: str, hands: Hands) -> Iterator[Matcher]:
    with opened(engine, clock=hands) as made:
        yield made


def check(matcher: Matcher) -> None:
    """All of it as the definition says, in both forms of events."""
    for events in (EVENTS, sparse()):
        assert answers(matcher.match(events)) == wanted(matcher, events)
    ids = sorted(matcher.queries.ids)
    numbers = answers(matcher.match_numbers(EVENTS))
    assert [[ids[n] for n in row] for row in numbers] == wanted(matcher, EVENTS)
    for k in (2, 4):
        assert scored(matcher.top_k(EVENTS, k)) == best(matcher.queries, EVENTS, k, {})
    places = [matcher.where(subscription.id) for subscription in matcher.queries]
    counts = {place: count for place, count in matcher.stats.places.items() if count}
    assert counts == {place: places.count(place) for place in set(places)}


def test_what_is_added_matches_from_the_next_batch_on(matcher: Matcher) -> None:
    for text in MORE_TEXTS:
        matcher.add(text, text, weight=4)
        assert matcher.queries[text].weight == 4
        check(matcher)
    found = {id for ids in answers(matcher.match(EVENTS)) for id in ids}
    assert found >= set(MORE_TEXTS)


def test_what_is_removed_matches_no_more_and_may_come_again(matcher: Matcher) -> None:
    for number, id in enumerate([subscription.id for subscription in matcher.queries]):
        matcher.remove(id)
        assert id not in matcher.queries
        if number % 3 == 0:
            check(matcher)
    assert answers(matcher.match(EVENTS)) == [[]] * len(EVENTS)
    matcher.add("a", "n = 2")
    check(matcher)
    assert ["a"] in answers(matcher.match(EVENTS))


def test_random_changes_answer_as_the_definition(matcher: Matcher) -> None:
    rng = Random(23)
    for turn in range(60):
        ids = [subscription.id for subscription in matcher.queries]
        if ids and rng.random() < 0.45:
            matcher.remove_all(rng.sample(ids, min(len(ids), rng.choice([1, 1, 3]))))
        else:
            parts = rng.sample(MORE_TEXTS, rng.choice([1, 2]))
            text = rng.choice([" AND ", " OR "]).join(f"({part})" for part in parts)
            matcher.add(f"q{turn}", text, weight=rng.randrange(5))
        check(matcher)


def test_tables_of_predicates_come_whole(matcher: Matcher) -> None:
    count = 40
    table = pa.table(
        {
            "id": [f"row{n:02}" for n in range(count)],
            "attribute": ["n", "m"] * (count // 2),
            "operator": [">="] * count,
            "operands": [[str(n - 3)] for n in range(count)],
            "weight": list(range(count)),
        }
    )
    matcher.add_predicates(table)
    check(matcher)
    matcher.remove_all(table["id"].slice(0, 25))
    check(matcher)
    matcher.add_predicates(table.slice(0, 5))
    check(matcher)


def test_set_that_was_opened_stays_as_it_was(engine: str) -> None:
    queries = query_set()
    before = list(queries)
    with opened(engine, queries) as matcher:
        matcher.remove("a")
        matcher.add("b", "TRUE")
        queries.remove("always")
        queries.add("new", "TRUE")
        check(matcher)
        assert "b" not in queries and "new" not in matcher.queries
    queries.remove("new")
    assert list(queries) == [subscription for subscription in before if subscription.id != "always"]


def test_expired_subscriptions_match_no_more(matcher: Matcher, hands: Hands) -> None:
    matcher.add("soon", "TRUE", expires=NOON + SECOND)
    matcher.add("later", "TRUE", expires=NOON + 2 * SECOND, owner="ann")
    matcher.add("past", "TRUE", expires=NOON)
    found = answers(matcher.match(EVENTS))
    assert all("soon" in ids and "later" in ids and "past" not in ids for ids in found)
    hands.time = NOON + SECOND - timedelta(microseconds=1)
    assert all("soon" in ids for ids in answers(matcher.match(EVENTS, only=["soon"])))
    hands.time = NOON + SECOND
    check(matcher)
    assert "soon" not in matcher.queries and "later" in matcher.queries
    hands.time = NOON + 5 * SECOND
    assert all("later" not in ids for ids in answers(matcher.match(EVENTS, owner="ann")))
    check(matcher)
    hands.time = NOON  # set back: what has expired stays away
    matcher.add("soon", "TRUE", expires=NOON + 2 * SECOND)
    assert all("soon" not in ids for ids in answers(matcher.match(EVENTS)))


def test_what_comes_again_with_another_time_expires_at_that(matcher: Matcher, hands: Hands) -> None:
    matcher.add("x", "TRUE", expires=NOON + SECOND)
    matcher.remove("x")
    matcher.add("x", "TRUE", expires=NOON + 3 * SECOND)
    hands.time = NOON + 2 * SECOND
    assert answers(matcher.match(EVENTS, only=["x"])) == [["x"]] * len(EVENTS)
    matcher.remove("x")
    matcher.add("x", "TRUE")
    hands.time = NOON + 9 * SECOND
    assert answers(matcher.match(EVENTS, only=["x"])) == [["x"]] * len(EVENTS)
    check(matcher)


def test_what_has_expired_when_a_set_is_opened_is_not_there(engine: str, hands: Hands) -> None:
    hands.time = datetime.max.replace(tzinfo=NOON.tzinfo)
    with opened(engine, clock=hands) as matcher:
        assert "Z" not in matcher.queries
        check(matcher)


def between_batches(
    matcher: Matcher, monkeypatch: pytest.MonkeyPatch, change: Callable[[int], None]
) -> dict[str, Any]:
    """Arguments for a match of one event per batch, with changes before each of them."""
    monkeypatch.setattr(type(matcher._device), "batch_events", 1)
    return {"progress": lambda stage, done, total: change(done)}


def test_changes_between_the_batches_of_a_call_reach_what_it_asks(
    matcher: Matcher, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    matcher.add("mine", "TRUE", owner="cy")
    matcher.add("short", "TRUE", owner="cy", expires=NOON + SECOND)

    def change(event: int) -> None:
        if event == 1:
            matcher.add("more", "TRUE", owner="cy")
        if event == 2:
            matcher.remove("mine")
        if event == 3:
            hands.time = NOON + SECOND

    more = between_batches(matcher, monkeypatch, change)
    assert answers(matcher.match([{}] * 4, owner="cy", **more)) == [
        ["mine", "short"],
        ["mine", "more", "short"],
        ["more", "short"],
        ["more"],
    ]
    matcher.add("mine", "TRUE", owner="cy")
    matcher.remove("more")
    assert answers(matcher.match([{}] * 4, only=["mine", "always"], **more)) == [
        ["always", "mine"],
        ["always", "mine"],
        ["always"],
        ["always"],
    ]


def test_threads_may_match_while_another_changes_the_set(matcher: Matcher) -> None:
    before = answers(matcher.match(EVENTS))
    after = [sorted([*ids, "x", "y"]) for ids in before]
    done, wrong = Event(), []

    def match() -> None:
        while not done.is_set():
            for only in (None, ["always", "a"]):
                found = answers(matcher.match(EVENTS, only=only))
                if only and any("always" not in ids for ids in found):
                    wrong.append(found)
                if not only and found not in (before, after):
                    wrong.append(found)

    threads = [Thread(target=match) for _ in range(2)]
    for thread in threads:
        thread.start()
    added = matcher.queries.empty()
    added.add("x", "TRUE")
    added.add("y", "TRUE")
    try:
        for _ in range(30):
            matcher._add(added)  # two in one update: a batch sees both or none
            matcher.remove_all(["x", "y"])
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong
    check(matcher)


def test_saved_set_is_opened_as_it_was_last(engine: str, hands: Hands, tmp_path: Path) -> None:
    path = tmp_path / "rules.penstock"
    with opened(engine, clock=hands) as matcher:
        matcher.save(path)
        matcher.remove("a")
        matcher.add("b", "n < 6", weight=7, owner="ann", expires=NOON + SECOND)
        want = answers(matcher.match(EVENTS))
    with opened(engine, str(path), clock=hands) as matcher:
        assert answers(matcher.match(EVENTS)) == want
        check(matcher)
        hands.time = NOON + SECOND
        check(matcher)
        matcher.save(path)
    with opened(engine, str(path), clock=hands) as matcher:
        assert "b" not in matcher.queries and "a" not in matcher.queries
        check(matcher)
