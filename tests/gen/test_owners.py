"""Owners and expiry: in statements, in calls and in tables, kept by the query set."""

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import penstock
from penstock import DataError, QuerySet, Schema
from penstock.gen.expr import Always, Subscription
from penstock.gen.language.script import parse_script

SCHEMA = Schema.of({"n": "INT", "s": "STRING"}, stream="trades")
NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)


def declared(clauses):
    script = parse_script(f"{SCHEMA}; CREATE SUBSCRIPTION q ON trades {clauses} WHERE n = 1", "x")
    assert not script.problems
    return script.subscriptions["trades"]["q"]


@pytest.mark.parametrize(
    ("clauses", "weight", "owner", "expires"),
    [
        ("", 0, "", None),
        ("OWNER acme", 0, "acme", None),
        ("OWNER 'it''s \\u0041'", 0, "it's A", None),
        ("OWNER `acme corp`", 0, "acme corp", None),
        ("owner Weight weight 3", 3, "Weight", None),
        ("EXPIRES '2027'", 0, "", NEW_YEAR),
        ("EXPIRES '2027-01-01T01:00:00+01:00' WEIGHT 2 OWNER a", 2, "a", NEW_YEAR),
        ("WEIGHT 2 OWNER a EXPIRES '2026-12-31 19:00:00-05:00'", 2, "a", NEW_YEAR),
        ('OWNER "a" EXPIRES "2027-01-01" WEIGHT 0', 0, "a", NEW_YEAR),
        ("EXPIRES '1969-12-31 23:59:59.9999999'", 0, "",
         datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
        ("EXPIRES '0001-01-01'", 0, "", datetime.min.replace(tzinfo=UTC)),
        ("EXPIRES '9999-12-31 23:59:59.999999'", 0, "", datetime.max.replace(tzinfo=UTC)),
    ],
)  # fmt: skip
def test_clauses_come_in_any_order(clauses, weight, owner, expires):
    made = declared(clauses)
    assert (made.weight, made.owner, made.expires) == (weight, owner, expires)
    assert expires is None or made.expires.tzinfo is UTC


def test_expiry_is_the_same_in_any_zone_and_kept_in_utc():
    queries = QuerySet(SCHEMA)
    there = NEW_YEAR.astimezone(timezone(timedelta(hours=-5)))
    queries.add("q", "n = 1", expires=there)
    assert queries["q"].expires == NEW_YEAR
    assert queries["q"].expires.tzinfo is UTC


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"expires": NEW_YEAR.replace(tzinfo=None)},
            ValueError,
            r"2027-01-01 00:00:00 names no zone\nhint: .*replace\(tzinfo=timezone\.utc\)",
        ),
        ({"expires": "2027-01-01"}, TypeError, "a time is a datetime, not '2027-01-01'"),
        ({"expires": NEW_YEAR.date()}, TypeError, "a time is a datetime"),
        (
            {"expires": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))},
            ValueError,
            "out of range: the years go from 1 to 9999",
        ),
        ({"owner": None}, TypeError, "an owner is a string, not None"),
        ({"owner": 7}, TypeError, "an owner is a string, not 7"),
    ],
)
def test_wrong_owner_or_expiry_is_refused(given, error, message):
    queries = QuerySet(SCHEMA)
    with pytest.raises(error, match=message):
        queries.add("q", "n = 1", **given)
    with pytest.raises(error, match=message):
        queries.insert(Subscription("q", Always(True), **given))
    assert len(queries) == 0


def predicates(**columns):
    """Three subscriptions, the first of two rows."""
    return pa.table(
        {
            "id": ["a", "b", "a", "c"],
            "attribute": ["n", "n", "s", "n"],
            "operator": ["=", "=", "IS NULL", "="],
            "operands": [["1"], ["2"], [], ["3"]],
            **columns,
        }
    )


def texts(**columns):
    return pa.table({"id": ["a", "b", "c"], "text": ["n = 1 AND s IS NULL", "n = 2", "n = 3"],
                     **columns})  # fmt: skip


def load(table, tmp_path, suffix=".parquet"):
    (tmp_path / "schema.sql").write_text(str(SCHEMA))
    path = tmp_path / f"queries{suffix}"
    if suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path)
    return penstock.load(path)


def test_tables_of_both_forms_have_owners_and_expiry(tmp_path):
    from_rows = load(
        predicates(owner=["x", None, "x", "y"], expires=[NEW_YEAR, None, NEW_YEAR, None]), tmp_path
    )
    from_texts = load(texts(owner=["x", None, "y"], expires=[NEW_YEAR, None, None]), tmp_path)
    for queries in (from_rows, from_texts):
        found = [(s.id, s.owner, s.expires) for s in queries]
        assert found == [("a", "x", NEW_YEAR), ("b", "", None), ("c", "y", None)]
        assert queries.owned_by("x").to_pylist() == ["a"]
        assert queries.owned_by("").to_pylist() == ["b"]
        assert list(queries.expiries()) == [(NEW_YEAR, "a")]


def test_expiry_in_a_csv_file_is_text(tmp_path):
    times = ["2027-01-01T01:00:00+01:00", None, "2027"]
    queries = load(texts(owner=["1", "", "x"], expires=times), tmp_path, ".csv")
    assert [s.owner for s in queries] == ["1", "", "x"]
    assert sorted(queries.expiries()) == [(NEW_YEAR, "a"), (NEW_YEAR, "c")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"owner": ["x", "y", "y", "z"]},
            "row 3, subscription 'a': column owner has 'y' here and 'x' in row 1; "
            "all rows of one id have the same",
        ),
        ({"owner": ["x", "y", None, "z"]}, "row 3, subscription 'a': column owner has"),
        ({"expires": ["2027", None, "2028", None]}, "row 3, subscription 'a': column expires has"),
        ({"expires": [None, None, "2028", None]}, "row 3, subscription 'a': column expires has"),
    ],
)
def test_rows_of_one_id_must_agree(columns, message):
    queries = QuerySet(SCHEMA)
    with pytest.raises(DataError, match=message):
        queries.add_predicates(predicates(**columns))
    assert len(queries) == 0


def test_rows_that_say_one_time_in_two_ways_agree():
    queries = QuerySet(SCHEMA)
    queries.add_predicates(
        predicates(expires=["2027", None, "2027-01-01T01:00:00+01:00", "2026-01-01"])
    )
    assert queries["a"].expires == NEW_YEAR


@pytest.mark.parametrize("form", [predicates, texts])
@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([0], pa.timestamp("us")), r"names? no zone\nhint: .*tz='UTC'"),
        (pa.array([2**62], pa.timestamp("us", "UTC")), "row 1: this time is out of range"),
        (pa.array([-(2**62)], pa.timestamp("us", "UTC")), "row 1: this time is out of range"),
        (pa.array(["soon"]), "'soon' is not a timestamp"),
        (pa.array([5]), "has values of Arrow type int64, but is TIMESTAMP"),
    ],
)
def test_column_that_holds_no_times_is_refused(form, column, message, tmp_path):
    repeated = pa.concat_arrays([column] * form().num_rows)
    with pytest.raises(DataError, match=f"column expires.*{message}"):
        load(form(expires=repeated), tmp_path)


def test_column_of_nulls_is_no_owner_and_never():
    queries = QuerySet(SCHEMA)
    queries.add_predicates(predicates(owner=pa.nulls(4), expires=pa.nulls(4)))
    assert [(s.owner, s.expires) for s in queries] == [("", None)] * 3
    assert queries.owned_by("").to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["owner", "expires"])
def test_column_that_is_there_twice_is_refused(name, tmp_path):
    column = pa.array(["2027"] * 3)
    twice = texts().append_column(name, column).append_column(name, column)
    with pytest.raises(DataError, match=f"has the column {name} twice"):
        load(twice, tmp_path, ".csv")
    column = pa.array(["2027"] * 4)
    twice = predicates().append_column(name, column).append_column(name, column)
    with pytest.raises(DataError, match=f"there twice: {name}"):
        QuerySet(SCHEMA).add_predicates(twice)


def test_owned_ids_are_in_order_whatever_their_form():
    queries = QuerySet(SCHEMA)
    queries.add("z", "n = 1", owner="x")
    queries.add_predicates(predicates(owner=["x", "y", "x", "x"]))
    queries.add("B", "n = 1", owner="x", expires=NEW_YEAR)
    queries.add("free", "n = 1")
    assert queries.owned_by("x").to_pylist() == ["B", "a", "c", "z"]
    queries.remove("c")
    assert queries.owned_by("x").to_pylist() == ["B", "a", "z"]
    assert queries.owned_by("nobody").to_pylist() == []
    assert queries.owned_by("nobody").type == pa.string()


def test_removed_subscription_expires_no_more():
    queries = QuerySet(SCHEMA)
    queries.add("q", "n = 1", expires=NEW_YEAR)
    queries.add_predicates(predicates(expires=["2027"] * 4))
    queries.remove("a")
    queries.remove("q")
    assert sorted(queries.expiries()) == [(NEW_YEAR, "b"), (NEW_YEAR, "c")]
