"""A saved set comes back as it was, changes included."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from log_texts import (
    LOG,
    NOON,
    SCHEMA,
    first_set,
    opened,
    state,
    table,
)

import penstock
from penstock import DataError, QuerySet, Schema
from penstock.gen.language.policy_statement import parse_policy
from penstock.gen.render import sql
from penstock.host.saved import changes


def test_every_type_of_value_comes_back_as_it_was(tmp_path: Path) -> None:
    types = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING",
             "DATE", "TIMESTAMP", "DECIMAL(38,10)", "DECIMAL(3,1)"]  # fmt: skip
    extremes = {
        "BOOLEAN": ["true", "false"], "TINYINT": ["-128", "127"], "SMALLINT": ["-32768", "32767"],
        "INT": ["-2147483648", "2147483647"], "BIGINT": [str(-(2**63)), str(2**63 - 1)],
        "FLOAT": ["nan", "-0.0", "1e-45", "inf"], "DOUBLE": ["nan", "-inf", "0.1", "5e-324"],
        "STRING": ["", "\0", "\U0001f600", "it's"], "DATE": ["0001-01-01", "9999-12-31"],
        "TIMESTAMP": ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"],
        "DECIMAL(38,10)": ["-" + "9" * 28 + ".0000000001", "0.0000000001"],
        "DECIMAL(3,1)": ["-99.9", "0"],
    }  # fmt: skip
    queries = QuerySet(penstock.Schema.of({f"a {of}": of for of in types}))
    attributes = [f"a {of}" for of in types]
    queries.add_predicates(
        pa.table(
            {
                "id": [f"q{n % 5}" for n in range(2 * len(types))],
                "attribute": attributes * 2,
                "operator": ["IN"] * len(types) + ["IS NULL", "NOT IN"] * (len(types) // 2),
                "operands": [extremes[of] for of in types]
                + [[] if n % 2 == 0 else extremes[of] for n, of in enumerate(types)],
                "weight": list(range(2 * len(types))),
            }
        )
    )
    with penstock.open(queries, engine="oracle") as matcher:
        matcher.save(tmp_path / "set")
    with opened(tmp_path / "set") as matcher:
        assert matcher.queries.schema == queries.schema
        # As text, in which NaN is equal to itself.
        assert [str(s) for s in matcher.queries] == [str(s) for s in queries]


def test_changes_since_the_save_are_there(folder: Path, states: list[dict[str, object]]) -> None:
    for _ in range(2):
        with opened(folder) as matcher:
            assert state(matcher) == states[-1]
    assert penstock.open(first_set(), engine="oracle").queries.schema == SCHEMA


def test_saving_again_starts_a_new_log(folder: Path, states: list[dict[str, object]]) -> None:
    with opened(folder) as matcher:
        matcher.save(folder)
        matcher.add("more", "n = 9")
        want = state(matcher)
    names = {file.name for file in folder.iterdir()}
    assert "changes-2.log" in names and LOG not in names and "texts-1.arrow" not in names
    with opened(folder) as matcher:
        assert state(matcher) == want == {**states[-1], "more": want["more"]}


def test_saving_elsewhere_leaves_the_first_as_it_is(
    folder: Path, tmp_path: Path, states: list[dict[str, object]]
) -> None:
    with opened(folder) as matcher:
        matcher.save(tmp_path / "deep" / "other")
        matcher.remove("until")
        with opened(folder) as first:  # no longer locked
            assert state(first) == states[-1]
    with opened(tmp_path / "deep" / "other") as matcher:
        assert "until" not in matcher.queries


def test_one_matcher_at_a_time_has_a_set_open(folder: Path) -> None:
    with opened(folder):
        with pytest.raises(DataError, match=r"copy.penstock is open in another matcher; close"):
            opened(folder)
        with (
            penstock.open(first_set()) as other,
            pytest.raises(DataError, match="is open in another"),
        ):
            other.save(folder)
    opened(folder).close()


def test_engine_that_cannot_be_opened_leaves_the_set_unlocked(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        penstock.open(folder, clock=lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    opened(folder).close()


def test_what_is_no_saved_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "none", tmp_path / "notes.txt"):
        with pytest.raises(DataError, match=r"is no saved set: matcher.save makes one"):
            penstock.open(path)
    with penstock.open(first_set()) as matcher:
        with pytest.raises(DataError, match=r"holds 'notes.txt', which is of no saved set"):
            matcher.save(tmp_path)
        with pytest.raises(DataError, match="cannot be written: "):
            matcher.save(tmp_path / "notes.txt")
        matcher.save(tmp_path / "new")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_expired_may_come_again_though_expiry_is_not_logged(tmp_path: Path) -> None:
    time = [NOON]
    with penstock.open(first_set(), clock=lambda: time[0]) as matcher:
        matcher.save(tmp_path / "set")
        matcher.add("x", "TRUE", expires=NOON + timedelta(seconds=1))
        time[0] += timedelta(seconds=2)
        assert "x" not in matcher.match([{}])["matches"].to_pylist()[0]
        time[0] -= timedelta(seconds=2)
        matcher.add("x", "n = 2")
        want = state(matcher)
    with opened(tmp_path / "set") as matcher:
        assert state(matcher) == want


def test_changes_are_the_same_bytes_for_the_same_change() -> None:
    queries: Callable[[], QuerySet] = first_set
    assert changes.added(queries(), NOON) == changes.added(queries(), NOON)
    assert table("a").equals(table("a"))


def test_a_policy_is_saved_with_the_set_and_holds_for_what_comes_later(tmp_path):
    """Owners keep their own conditions; row filters are put before them again."""
    schema = Schema.of({"n": "INT", "s": "STRING"}, stream="trades")
    policy = parse_policy(
        "CREATE POLICY FOR ann ON trades (n) WHERE s = 'A';"
        "CREATE POLICY FOR bob ON trades WHERE s LIKE '%B%';",
        "policy",
    )
    queries = QuerySet(schema, policy=policy)
    queries.add("one", "n > 1", owner="ann")
    queries.add_predicates(
        pa.table(
            {
                "id": ["t1", "t2", "t2"],
                "attribute": ["n", "n", "s"],
                "operator": [">", "<", "<>"],
                "operands": [["1"], ["9"], ["x"]],
                "owner": ["ann", "bob", "bob"],
                "expires": [None, NOON + timedelta(days=1), NOON + timedelta(days=1)],
            }
        )
    )
    events = [{"n": n, "s": s} for n in (0, 5) for s in ("A", "aBc", "C")]
    path = tmp_path / "rules.penstock"
    with penstock.open(queries, engine="oracle", clock=lambda: NOON) as matcher:
        matcher.save(path)
        matcher.add("two", "n < 1", owner="ann")
        before = matcher.match(events)
        assert matcher.queries["one"].own != matcher.queries["one"].condition
    for _ in range(2):
        with penstock.open(path, engine="oracle", clock=lambda: NOON) as matcher:
            assert matcher.match(events).equals(before)
            assert list(matcher.queries.owned_by("bob").to_pylist()) == ["t2"]
            assert {s.id: sql(s.own) for s in matcher.queries} == {
                "one": "n > 1", "t1": "n > 1", "t2": "n < 9 AND s <> 'x'", "two": "n < 1",
            }  # fmt: skip
            assert dict(map(reversed, matcher.queries.expiries())) == {
                "t2": NOON + timedelta(days=1)
            }
            with pytest.raises(penstock.QueryError, match="may not use attribute 's'"):
                matcher.add("three", "s = 'A'", owner="ann")
            matcher.save(path)
