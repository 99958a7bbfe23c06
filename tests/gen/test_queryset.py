"""Query sets: subscriptions by id, from text, from nodes or from tables, in order."""

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from penstock import DataError, QueryError, QuerySet, Schema
from penstock.gen.expr import MAX_WEIGHT, And, Subscription

SCHEMA = Schema.of({"price": "DECIMAL(10,2)", "symbol": "STRING", "n": "INT"}, stream="trades")


def predicates(*rows):
    id, attribute, operator, operands = zip(*rows, strict=True)
    return pa.table(
        {"id": id, "attribute": attribute, "operator": operator, "operands": list(operands)}
    )


@pytest.fixture
def queries():
    made = QuerySet(SCHEMA)
    made.add("cheap", "price < 10", weight=3)
    made.add_predicates(predicates(("t1", "n", "=", [1]), ("t2", "n", ">", [2])))
    made.add("named", "symbol = 'A' AND n = 1")
    return made


def test_order_is_that_of_adding_whatever_the_form(queries):
    assert [subscription.id for subscription in queries] == ["cheap", "t1", "t2", "named"]
    assert len(queries) == 4


def test_subscription_is_found_by_its_id(queries):
    assert queries["cheap"].weight == 3
    assert isinstance(queries["named"].condition, And)
    assert queries["t2"] == next(s for s in queries if s.id == "t2")
    assert "t1" in queries
    assert "T1" not in queries
    assert None not in queries


def test_ids_are_any_text():
    queries = QuerySet(SCHEMA)
    ids = ["", " ", "a\nb", "\u00e9", "[bold]", "x" * 10_000, "\0"]
    for id in ids:
        queries.add(id, "n = 1")
    assert [subscription.id for subscription in queries] == ids


def test_removed_subscription_is_gone_and_its_id_is_free(queries):
    queries.remove("t1")
    queries.remove("cheap")
    assert [subscription.id for subscription in queries] == ["t2", "named"]
    queries.add("t1", "n = 5")
    assert [subscription.id for subscription in queries] == ["t2", "named", "t1"]
    queries.add_predicates(predicates(("cheap", "n", "=", [7])))
    assert queries["cheap"] != queries["t1"]


def test_unknown_id_is_a_key_error_with_a_hint(queries):
    for use in (queries.__getitem__, queries.remove):
        with pytest.raises(KeyError, match="no subscription 'chep' among 4; did you mean 'cheap'"):
            use("chep")


def test_unknown_id_in_a_large_set_lists_nothing():
    queries = QuerySet(SCHEMA)
    for number in range(10_001):
        queries.insert(Subscription(f"q{number}", And(())))
    with pytest.raises(KeyError, match=r"no subscription 'q' among 10001\W*$"):
        queries["q"]


def test_text_that_is_wrong_names_subscription_and_place(queries):
    with pytest.raises(QueryError) as caught:
        queries.add("typo", "pirce < 10 AND\n  symbl = 'A'")
    assert {problem.subscription for problem in caught.value.problems} == {"typo"}
    first = caught.value.problems[0]
    assert str(first.place) == "<text>:1:1"
    assert "unknown attribute 'pirce'" in first.message
    assert "price" in first.hint
    assert "typo" not in queries


def test_id_that_is_taken_is_refused_and_the_first_stays(queries):
    for id in ("cheap", "t1"):
        before = queries[id]
        with pytest.raises(ValueError, match=f"subscription '{id}' is in the set already"):
            queries.add(id, "n = 9")
        assert queries[id] == before


@pytest.mark.parametrize("weight", [-1, MAX_WEIGHT + 1, 1.5, "3", None])
def test_weight_must_be_a_whole_number_in_range(queries, weight):
    with pytest.raises(ValueError, match=rf"from 0 to {MAX_WEIGHT}, not {weight!r}"):
        queries.add("w", "n = 1", weight=weight)
    assert "w" not in queries


def test_weight_may_be_the_least_and_the_greatest(queries):
    queries.add("least", "n = 1", weight=0)
    queries.add("most", "n = 1", weight=MAX_WEIGHT)
    assert (queries["least"].weight, queries["most"].weight) == (0, MAX_WEIGHT)


def test_id_that_is_no_string_is_a_type_error(queries):
    with pytest.raises(TypeError, match="an id is a string, not 7"):
        queries.add(7, "n = 1")


def test_table_whose_ids_are_taken_adds_nothing(queries):
    clashing = predicates(("new", "n", "=", [1]), ("t2", "n", "=", [1]))
    with pytest.raises(DataError, match=r"more\.parquet: subscription 't2' is in the set already"):
        queries.add_predicates(clashing, source="more.parquet")
    assert "new" not in queries
    assert len(queries) == 4


def test_several_tables_keep_their_subscriptions_apart(queries):
    for start in (100, 200, 300):
        rows = [(f"q{number}", "n", "=", [number]) for number in range(start, start + 3)]
        queries.add_predicates(predicates(*rows))
    for number in (100, 102, 200, 301):
        assert queries[f"q{number}"].condition.right.value == number


def test_empty_table_adds_nothing_and_harms_nothing(queries):
    queries.add_predicates(predicates(("x", "n", "=", [1])).slice(0, 0))
    queries.add_predicates(predicates(("x", "n", "=", [8])))
    assert len(queries) == 5
    assert queries["x"].condition.right.value == 8


def test_repr_tells_size_and_stream(queries):
    assert repr(queries) == "QuerySet(4 subscriptions on trades)"


def test_warnings_name_what_always_or_never_matches_and_where(queries):
    queries.add("never", "n > 5 AND n < 3")
    queries.add("always", "n = 1 OR n <> 1 OR n IS NULL")
    queries.add_predicates(predicates(("none", "n", "=", [1]), ("none", "n", "=", [2])))
    found = queries.warnings()
    assert [(w.subscription, w.message) for w in found] == [
        ("never", "can never match"),
        ("always", "matches every event"),
        ("none", "can never match"),
    ]
    assert [str(w.place) for w in found] == ["<text>:1:1", "<text>:1:1", "None"]
    assert found[0].place.text == "n > 5 AND n < 3"


def test_warnings_report_progress():
    queries = QuerySet(SCHEMA)
    queries.add_predicates(predicates(*((f"q{n}", "n", "=", [n]) for n in range(2500))))
    seen = []
    assert queries.warnings(lambda *step: seen.append(step)) == []
    assert seen == [("checking subscriptions", done, 2500) for done in (0, 1000, 2000)]


def test_singles_and_tables_hold_what_is_still_in_the_set(queries):
    names = [subscription.id for subscription in queries]
    removed = "t1"
    queries.remove(removed)
    kept = [table.subscription(int(row)).id for table, rows in queries.tables for row in rows]
    assert removed not in kept
    assert sorted([*kept, *(s.id for s in queries.singles)]) == sorted(set(names) - {removed})


NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_copies_change_by_themselves(queries):
    copy = queries.copy()
    before = list(queries)
    copy.remove("t1")
    copy.add("more", "n = 5")
    copy.add_predicates(predicates(("t9", "n", "=", [9])))
    assert list(queries) == before
    queries.add_predicates(predicates(("t8", "n", "=", [8])))
    assert [s.id for s in copy] == ["cheap", "t2", "named", "more", "t9"]
    assert copy["t9"].condition.right.value == 9 and queries["t8"].condition.right.value == 8
    assert len(queries.empty()) == 0 and queries.empty().schema is queries.schema


def test_sets_are_extended_by_others_whatever_their_form(queries):
    other = QuerySet(SCHEMA)
    other.add_predicates(predicates(("u1", "n", "=", [1]), ("u2", "n", "=", [2])))
    other.add("late", "price > 3")
    other.remove("u1")
    other.add_predicates(predicates(("u3", "n", "=", [3])))
    queries.remove("t1")
    wanted = [*queries, *other]
    queries.extend(other)
    assert list(queries) == wanted
    queries.add_predicates(predicates(("u4", "n", "=", [4])))
    assert list(queries)[:-1] == wanted and queries["u4"].condition.right.value == 4
    assert [table.subscription(n).id for table, kept in queries.tables for n in kept] == [
        "t2", "u2", "u3", "u4"
    ]  # fmt: skip


def test_nothing_is_added_of_a_set_with_an_id_that_is_there(queries):
    other = QuerySet(SCHEMA)
    other.add("new", "n = 1")
    other.add("t2", "n = 1")
    before = list(queries)
    with pytest.raises(ValueError, match="subscription 't2' is in the set already"):
        queries.extend(other)
    (table, _) = queries.tables[0]
    with pytest.raises(ValueError, match="subscription 't1' is in the set already"):
        queries.insert_table(table)
    assert list(queries) == before


def test_owners_and_expiries_are_those_given(queries):
    later = NOON.astimezone(timezone(timedelta(hours=3)))
    queries.add("mine", "n = 1", owner="ann", expires=later)
    queries.add("also", "n = 2", owner="ann")
    assert queries["mine"].owner == "ann" and queries["cheap"].owner == ""
    assert queries["mine"].expires == NOON and queries["mine"].expires.tzinfo is UTC
    assert queries.owned_by("ann").to_pylist() == ["also", "mine"]
    assert queries.owned_by("").to_pylist() == ["cheap", "named", "t1", "t2"]
    assert queries.owned_by("bob").to_pylist() == []
    assert list(queries.expiries()) == [(NOON, "mine")]


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"owner": None}, TypeError, "an owner is a string, not None"),
        ({"expires": "2026-03-02"}, TypeError, "a time is a datetime, not '2026-03-02'"),
        ({"expires": NOON.replace(tzinfo=None)}, ValueError, "2026-03-02 12:00:00 names no zone"),
        (
            {"expires": datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))},
            ValueError,
            "is out of range: the years go from 1 to 9999",
        ),
    ],
)
def test_owner_or_expiry_that_is_none_is_refused(queries, more, error, message):
    with pytest.raises(error, match=message):
        queries.add("x", "n = 1", **more)
    assert "x" not in queries


def test_parts_have_the_subscriptions_between_them_by_id(queries):
    queries.add("\U0001f600", "n = 1")
    queries.add("\uffff", "n = 1", owner="ann", expires=datetime(2030, 1, 1, tzinfo=UTC))
    queries.remove("t1")
    for count in (1, 2, 3, 8):
        parts = queries.split(count)
        assert [id for part in parts for id in sorted(part.ids)] == sorted(queries.ids)
        assert len(parts) == count and {len(part) for part in parts} <= {5 // count, 5 // count + 1}
        for part in parts:
            assert [*part.ids] == [id for id in queries.ids if id in part.ids]
            assert [*part] == [queries[id] for id in part.ids]
    first, second = queries.split(2)
    assert [*first.ids] == ["cheap", "named"] and [*second.ids] == ["t2", "\U0001f600", "\uffff"]
    assert [rows.tolist() for _, rows in first.tables] == [[]]
    assert [rows.tolist() for _, rows in second.tables] == [[1]]
    assert [single.id for single in second.singles] == ["\U0001f600", "\uffff"]
    assert second.owned_by("ann").to_pylist() == ["\uffff"] and len([*second.expiries()]) == 1


def test_parts_change_by_themselves(queries):
    first, second = queries.split(2)
    first.add_predicates(predicates(("t1", "n", "=", [5]), ("t9", "n", "=", [9])))
    second.remove("t2")
    assert first["t1"] != queries["t1"] and "t9" not in queries
    assert "t2" in queries and [*second] == [queries["t1"]]
    with pytest.raises(ValueError, match="split into 1 or more, not 0"):
        queries.split(0)
