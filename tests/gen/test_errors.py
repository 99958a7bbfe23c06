"""What the language says about mistakes: the golden texts in ``tests/golden/errors``.

Each ``.sql`` file holds mistakes, the ``.txt`` beside it every word that is said about them.
After a change of wording, write the texts again and read what changed:

    GOLDEN=write pytest tests/gen/test_errors.py && git diff tests/golden
"""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.gen.errors import DataError, QueryError, nearest, place_at
from penstock.gen.language import parse
from penstock.gen.language.parse import MAX_NESTING
from penstock.gen.language.script import parse_schema, parse_script, parse_subscription
from penstock.gen.schema import Schema

GOLDEN = Path(__file__).parents[1] / "golden" / "errors"
FILES = sorted(GOLDEN.glob("*.sql"))
SCHEMA = Schema.of({"a": "INT", "live": "BOOLEAN", "map": "INT"}, stream="s")


def said(text: str, name: str) -> str:
    """All problems of a query file as one text."""
    return "\n\n".join(str(problem) for problem in parse_script(text, name).problems) + "\n"


def read(path: Path) -> str:
    return path.read_bytes().decode()  # as it is: no newline is translated


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mistakes_are_told_in_these_words(path: Path) -> None:
    got = said(read(path), path.name)
    expected = path.with_suffix(".txt")
    if os.environ.get("GOLDEN") == "write":
        expected.write_bytes(got.encode())
    assert got == read(expected)


def test_every_text_has_its_file() -> None:
    assert FILES
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_windows_line_ends_change_no_word(path: Path) -> None:
    text = read(path)
    assert said(text.replace("\n", "\r\n"), path.name) == said(text, path.name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_problem_has_a_place_that_its_line_shows(path: Path) -> None:
    lines = read(path).split("\n")
    for problem in parse_script(read(path), path.name).problems:
        place = problem.place
        assert place is not None
        line = lines[place.line - 1]
        assert line[place.skipped :].startswith(place.text)
        assert place.column - 1 < len(line)
        assert not line[place.column - 1].isspace()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_of_a_file_with_a_mistake_is_loaded(path: Path) -> None:
    with pytest.raises(QueryError) as caught:
        penstock.load(path)
    assert len(caught.value.problems) == len(parse_script(read(path), path.name).problems)


def test_all_bad_subscriptions_are_reported_and_the_good_are_not() -> None:
    path = GOLDEN / "several_bad_among_good.sql"
    with pytest.raises(QueryError) as caught:
        penstock.load(path)
    assert [problem.subscription for problem in caught.value.problems] == ["bad", "worse"]


def test_a_file_past_the_limit_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MAX_TEXT", 10)
    (problem,) = parse_script("CREATE STREAM s (a INT)", "big.sql").problems
    assert problem.message == "the text has 23 characters; at most 10 are read"
    assert problem.hint is not None and "Parquet" in problem.hint


def test_a_schema_takes_one_stream_and_nothing_else() -> None:
    for text in ("", "CREATE STREAM a (x INT); CREATE STREAM b (x INT)",
                 "CREATE STREAM a (x INT); CREATE SUBSCRIPTION q ON a WHERE TRUE"):  # fmt: skip
        with pytest.raises(QueryError, match="one CREATE STREAM statement is expected here"):
            parse_schema(text)


def test_a_file_without_streams_says_how_to_start(tmp_path: Path) -> None:
    path = tmp_path / "empty.sql"
    path.write_text("-- nothing yet\n")
    with pytest.raises((QueryError, DataError), match="no stream is declared") as caught:
        penstock.load(path)
    assert "CREATE STREAM" in str(caught.value)


@pytest.mark.parametrize("text", ["", " \n", "-- only a comment", "+"])
def test_an_empty_condition_is_missing(text: str) -> None:
    with pytest.raises(QueryError, match="a condition is missing here"):
        parse_subscription("q", text, SCHEMA, "text")


def test_two_conditions_are_one_too_many() -> None:
    with pytest.raises(QueryError, match="only one condition can stand here"):
        parse_subscription("q", "live; a = 1", SCHEMA, "text")


REPEATED = [
    "a = NOT ", "a BETWEEN 1 AND NOT ", "1 + ", "a = 1 + + ", "- 1 * ", "a -> ", "DATE ", "EXISTS ",
    "INTERVAL ", "f(", "CASE WHEN ", "a IN (", "a = ANY (", "(", "NOT ", "!", "a LIKE ", "a IS ",
    "a = 1 OR NOT (", "CAST(", "CAST(1 AS ARRAY<", "ARRAY<", "MAP<INT,", "STRUCT<a:", "a.", "@",
    "$", "{", "[", "SELECT ", "WITH a AS (", "x -> ", "a::", "'a' ", "`a` ", "a,", "a = 1 AND (",
]  # fmt: skip


@pytest.mark.parametrize("piece", REPEATED)
def test_no_nesting_breaks_the_parser(piece: str) -> None:
    for count in (MAX_NESTING - 2, 1000):
        for end in ("", "a = 1", "a = 1" + ")" * count, "INT" + ">" * count):
            with pytest.raises(QueryError):
                parse_subscription("q", piece * count + end + " =", SCHEMA, "text")


@pytest.mark.parametrize("tail", [" + 1", " * -1", "::INT", " DIV 1", " = 1", " IS NULL", " -> a"])
def test_no_chain_breaks_the_binder(tail: str) -> None:
    with pytest.raises(QueryError):
        parse_subscription("q", "a = 1" + tail * 3000, SCHEMA, "text")


def test_an_attribute_named_as_a_type_is_told_how_to_be_written() -> None:
    with pytest.raises(QueryError, match="stand in backquotes"):
        parse_subscription("q", "map < 5", SCHEMA, "text")
    parse_subscription("q", "`map` < 5", SCHEMA, "text")


PIECES = st.sampled_from(
    ["a", "live", "b", "1", "'x'", "1.5", "NULL", "TRUE", "=", "<", "<=>", "AND", "OR", "NOT", "(",
     ")", ",", "IN", "BETWEEN", "LIKE", "IS", "+", "-", "*", "/", "CAST(", "AS INT", "::", "DATE",
     "weight(", "CASE", "WHEN", "THEN", "END", "upper(", "?", "ESCAPE", "DISTINCT FROM", ".5", "5Y",
     "INTERVAL", "SELECT", "\n", "\t", "--", "/*", "*/", "`", "'", ".", ";", "EXISTS", "ANY"]
)  # fmt: skip


@pytest.mark.fuzz
@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_any_text_is_taken_or_refused_with_a_place(text: str) -> None:
    try:
        parse_subscription("q", text, SCHEMA, "text")
    except QueryError as error:
        for problem in error.problems:
            assert problem.place is not None
            assert problem.place.underlined()
            assert "sqlglot" not in str(problem)


@given(
    st.text(alphabet="a\n\t\r\u65e5\u0301 ", max_size=30), st.integers(0, 40), st.integers(0, 40)
)
def test_a_place_is_always_inside_its_line(text: str, start: int, length: int) -> None:
    place = place_at("text", text, start, start + length)
    shown, marks = place.underlined().rsplit("\n", 1)
    assert place.text in text and shown == f"  {place.text}"
    assert set(marks) <= set(" \t^") and "^" in marks


def test_nearest_names_come_first_and_few_are_listed() -> None:
    assert nearest("pirce", ["price", "qty"]) == "did you mean 'price'? known: price, qty"
    assert nearest("PRICE_", ["qty", "Price"]) == "did you mean 'Price'? known: qty, Price"
    assert nearest("x", []) == "there are none"
    many = nearest("none", [f"column{i}" for i in range(20)])
    assert many.endswith("column7, ... (20 in all)")
