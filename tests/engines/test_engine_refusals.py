"""What is wrong is refused by name on every engine, and the matcher goes on as it was."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from engine_list import ENGINES, EVENTS, OPTIONS, PREDICATES, answers, opened, wanted, wide

import penstock
from penstock import DataError, DeviceError, Matcher, QueryError


@pytest.fixture(scope="module")
def matcher(request: pytest.FixtureRequest) -> Iterator[Matcher]:
    with opened(request.param) as made:
        yield made


on_every_engine = pytest.mark.parametrize("matcher", ENGINES, indirect=True)

MAPS = pa.map_(pa.string(), pa.string())
BAD_EVENTS: dict[str, tuple[Any, str]] = {
    "no column known": (
        pa.table({"nn": [1]}),
        r"no column of the events \(nn\) .*did you mean 'n'",
    ),
    "column twice": (pa.table([[1], [1]], names=["n", "N"]), "two columns for attribute 'n'"),
    "text for INT": (pa.table({"n": ["x"]}), "column 'n': 'x' does not fit INT"),
    "too large": (pa.table({"n": [2**31]}), "column 'n': 2147483648 does not fit INT"),
    "float for DECIMAL": (pa.table({"price": [9.5]}), "'price' has values of Arrow type double"),
    "later event": (wide([*EVENTS, {}]).append_column("N", [[1] * 8]), "two columns for"),
    "unknown attribute": (
        pa.table({"m": pa.array([[], [("pric", "1")]], MAPS)}),
        "event 1 has an unknown attribute 'pric'\nhint: did you mean 'price'",
    ),
    "attribute twice": (
        pa.table({"m": pa.array([[("n", "1"), ("N", "1")]], MAPS)}),
        "event 0 has attribute 'n' twice",
    ),
    "value in a map": (
        pa.table({"m": pa.array([[("n", "one")]], MAPS)}),
        "attribute 'n': 'one' does not fit INT",
    ),
    "no events": (5, "not as int"),
}


def check(matcher: Matcher) -> None:
    assert answers(matcher.match(EVENTS)) == wanted(matcher, EVENTS)
    assert len(matcher.queries) == 13


@on_every_engine
@pytest.mark.parametrize("fault", BAD_EVENTS)
def test_bad_events_are_refused(matcher: Matcher, fault: str) -> None:
    events, message = BAD_EVENTS[fault]
    with pytest.raises(DataError, match=f"(?s){message}"):
        matcher.match(events)
    check(matcher)


BAD_CALLS: dict[str, tuple[Callable[[Matcher], object], type[Exception], str]] = {
    "only unknown": (
        lambda m: m.match(EVENTS, only=["a", "alwais", "x"]),
        KeyError,
        "no subscription 'alwais' among 13; did you mean 'always'",
    ),
    "only one id": (lambda m: m.match(EVENTS, only="a"), TypeError, "a list of strings, not 'a'"),
    "only a number": (lambda m: m.match(EVENTS, only=5), TypeError, "a list of strings, not 5"),
    "owner a list": (lambda m: m.match(EVENTS, owner=["a"]), TypeError, "an owner is a string"),
    "k 0": (lambda m: m.top_k(EVENTS, 0), ValueError, "k must be at least 1, not 0"),
    "k negative": (lambda m: m.top_k(EVENTS, -3), ValueError, "k must be at least 1, not -3"),
    "weights": (
        lambda m: m.top_k(EVENTS, 1, weights={"pric": 1}),
        KeyError,
        "unknown attribute 'pric' in .*did you mean 'price'",
    ),
    "id twice": (lambda m: m.add("a", "n = 1"), ValueError, "'a' is in the set already"),
    "ids twice": (
        lambda m: m.add_predicates(PREDICATES.set_column(0, "id", [["new", "new", "t2"]])),
        ValueError,
        "'t2' is in the set already",
    ),
    "bad text": (lambda m: m.add("x", "pric < 10"), QueryError, "unknown attribute 'pric'"),
    "bad table": (
        lambda m: m.add_predicates(PREDICATES.set_column(1, "attribute", [["n", "n", "q"]])),
        DataError,
        "unknown attribute 'q'",
    ),
    "no table": (
        lambda m: m.add_predicates(pa.table({"id": ["x"]}), source="file"),
        DataError,
        "file: a table of predicates needs the columns",
    ),
    "weight": (lambda m: m.add("x", "n = 1", weight=-1), ValueError, "a weight is a whole number"),
    "id a number": (lambda m: m.add(5, "n = 1"), TypeError, "an id is a string, not 5"),  # type: ignore[arg-type]
    "id no text": (lambda m: m.add("\ud800", "n = 1"), ValueError, "is no Unicode text"),
    "owner": (lambda m: m.add("x", "n = 1", owner=5), TypeError, "an owner is a string"),  # type: ignore[arg-type]
    "expiry": (
        lambda m: m.add("x", "n = 1", expires=datetime(2030, 1, 1)),  # noqa: DTZ001
        ValueError,
        "2030-01-01 00:00:00 names no zone",
    ),
    "unknown removed": (lambda m: m.remove("alwais"), KeyError, "did you mean 'always'"),
    "one of them unknown": (
        lambda m: m.remove_all(["always", "x"]),
        KeyError,
        "no subscription 'x' among 13",
    ),
    "where": (lambda m: m.where("x"), KeyError, "no subscription 'x' among 13"),
    "explain": (lambda m: m.explain(EVENTS, index=99, id="a"), IndexError, "no event 99"),
}


@on_every_engine
@pytest.mark.parametrize("fault", BAD_CALLS)
def test_bad_calls_are_refused(matcher: Matcher, fault: str) -> None:
    call, error, message = BAD_CALLS[fault]
    with pytest.raises(error, match=f"(?s){message}"):
        call(matcher)
    check(matcher)


@on_every_engine
def test_removing_an_id_that_is_named_twice_removes_it(matcher: Matcher) -> None:
    matcher.add("x", "TRUE")
    matcher.remove_all(["x", "x"])
    check(matcher)


@on_every_engine
def test_folder_that_cannot_be_written_is_refused(matcher: Matcher, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written: "):
        matcher.save(tmp_path / "file" / "set")
    check(matcher)


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_save_is_refused_and_the_next_works(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "set"
    with opened(engine) as matcher:
        matcher.save(path)
        content = (path / "texts-1.arrow").read_bytes()
        (path / "texts-1.arrow").write_bytes(content[:-9])
    with pytest.raises(DataError, match=r"texts-1.arrow is damaged: it has \d+ bytes, not \d+"):
        opened(engine, str(path))
    (path / "texts-1.arrow").write_bytes(content)
    with opened(engine, str(path)) as matcher:
        check(matcher)


@pytest.mark.parametrize("engine", ENGINES)
def test_closed_matcher_does_nothing_more(engine: str, tmp_path: Path) -> None:
    with opened(engine) as matcher:
        pass
    matcher.close()
    calls: list[Callable[[], object]] = [
        lambda: matcher.match(EVENTS),
        lambda: matcher.top_k(EVENTS, 1),
        lambda: matcher.add("x", "TRUE"),
        lambda: matcher.remove("a"),
        lambda: matcher.where("a"),
        lambda: matcher.save(tmp_path / "set"),
        lambda: matcher.counters,
        lambda: matcher.stats,
    ]
    for call in calls:
        with pytest.raises(DeviceError, match="this matcher is closed; open it again"):
            call()


@pytest.mark.parametrize("engine", [e for e in ENGINES if e.values[0] not in OPTIONS])
def test_engine_with_room_for_all_takes_no_number_of_spare_places(engine: str) -> None:
    with pytest.raises(DeviceError, match=f"engine '{engine}' has room for any number"):
        penstock.open(opened(engine).queries, engine=engine, spare=5)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e.values[0] not in OPTIONS])
def test_engine_that_ranks_without_a_circuit_takes_no_k_when_opened(engine: str) -> None:
    with pytest.raises(DeviceError, match=f"engine '{engine}' has no circuit that ranks; use "):
        penstock.open(opened(engine).queries, engine=engine, k=5)
