"""What is said about wrong policies, and to those that want what theirs does not give.

In ``tests/golden/policies`` each ``.policy.sql`` is a policy file, the ``.sql`` of its name, if
there is one, the query file that is loaded with it, and the ``.txt`` every word said about them:

    GOLDEN=write pytest tests/gen/test_policy_errors.py && git diff tests/golden
"""

import os
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

import penstock
from penstock import DataError, QueryError, QuerySet, parse_policy
from penstock.gen.expr import Subscription
from penstock.gen.language.script import parse_subscription

GOLDEN = Path(__file__).parents[1] / "golden" / "policies"
FILES = sorted(GOLDEN.glob("*.policy.sql"))
SCHEMA = penstock.parse_schema("CREATE STREAM trades (symbol STRING, price INT, qty INT)")
POLICY = parse_policy(
    """
    CREATE POLICY FOR acme ON trades (symbol, price) WHERE qty > 5;
    CREATE POLICY FOR globex ON orders;
    """
)


def said(path, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    rules = Path(path.name.replace(".policy", ""))
    loads = partial(penstock.load, rules) if rules.exists() else penstock.load_policy
    argument = {"policy" if rules.exists() else "path": path.name}
    with pytest.raises(QueryError) as caught:
        loads(**argument)
    return "\n\n".join(map(str, caught.value.problems)) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mistakes_are_told_in_these_words(path, monkeypatch):
    got = said(path, monkeypatch)
    expected = path.with_name(path.name.replace(".policy.sql", ".txt"))
    if os.environ.get("GOLDEN") == "write":
        expected.write_text(got, encoding="utf-8")
    assert got == expected.read_text(encoding="utf-8")


def test_every_text_has_its_policy():
    assert FILES
    named = {path.stem for path in GOLDEN.iterdir()}
    assert named == {path.stem for path in FILES} | {p.name[: -len(".policy.sql")] for p in FILES}


def refused(use):
    """The messages of the problems, each after the id that it is about."""
    with pytest.raises(QueryError) as caught:
        use()
    return [(problem.subscription, problem.message) for problem in caught.value.problems]


NO_QTY = "owner 'acme' may not use attribute 'qty' of stream 'trades'"
NO_STREAM = "owner 'globex' may not subscribe to stream 'trades'"


@pytest.mark.parametrize(
    ("owner", "text", "message"),
    [
        ("acme", "qty = 3", NO_QTY),
        ("globex", "price = 3", NO_STREAM),
        ("", "price = 3", "under a policy every subscription needs an owner"),
    ],
)
def test_what_is_refused_is_refused_however_it_is_added(owner, text, message):
    queries = QuerySet(SCHEMA, policy=POLICY)
    bound = parse_subscription("q", text, SCHEMA, "text", owner=owner)
    attribute, _, value = text.split()
    rows = pa.table(
        {"id": ["q"], "attribute": [attribute], "operator": ["="], "operands": [[value]],
         "owner": [owner]}
    )  # fmt: skip
    for use in (
        lambda: queries.add("q", text, owner=owner),
        lambda: queries.insert(bound),
        lambda: queries.add_predicates(rows),
    ):
        assert refused(use) == [("q", message)]
    assert len(queries) == 0


@pytest.mark.parametrize("owner", ["DEFAULT", "default", "hooli"])
def test_default_is_for_owners_that_no_rule_names_on_any_stream(owner):
    text = "CREATE POLICY FOR globex ON orders; CREATE POLICY FOR DEFAULT ON trades (price);"
    queries = QuerySet(SCHEMA, policy=parse_policy(text))
    queries.add("theirs", "price = 3", owner=owner)
    assert refused(lambda: queries.add("q", "price = 3", owner="globex")) == [("q", NO_STREAM)]


def test_owner_called_default_is_written_in_quotes():
    text = "CREATE POLICY FOR 'DEFAULT' ON trades (symbol); CREATE POLICY FOR DEFAULT ON trades"
    queries = QuerySet(SCHEMA, policy=parse_policy(text))
    queries.add("theirs", "price = 3", owner="hooli")
    with pytest.raises(QueryError, match="owner 'DEFAULT' may not use attribute 'price'"):
        queries.add("q", "price = 3", owner="DEFAULT")


def test_table_of_texts_is_refused_with_its_rows(tmp_path):
    (tmp_path / "schema.sql").write_text(str(SCHEMA))
    file = tmp_path / "texts.csv"
    file.write_text("id,text,owner\na,price = 3,acme\nb,qty = 3,acme\nc,price = 3,\n")
    with pytest.raises(QueryError) as caught:
        penstock.load(file, policy=POLICY)
    assert [(p.subscription, p.place.source) for p in caught.value.problems] == [
        ("b", f"{file} row 2"),
        ("c", f"{file} row 3"),
    ]


def test_table_of_predicates_is_refused_once_for_each_owner_and_attribute():
    queries = QuerySet(SCHEMA, policy=POLICY)
    rows = {
        "id": ["a", "b", "b", "c", "d"],
        "attribute": ["price", "qty", "symbol", "qty", "QTY"],
        "operator": ["="] * 5,
        "operands": [["1"]] * 5,
        "owner": ["acme"] * 5,
    }
    assert refused(lambda: queries.add_predicates(pa.table(rows))) == [
        ("b", f"{NO_QTY} (3 times in this table)")
    ]
    rows["owner"] = ["acme", "globex", "globex", None, None]
    assert refused(lambda: queries.add_predicates(pa.table(rows))) == [
        ("b", NO_STREAM),
        ("c", "under a policy every subscription needs an owner (2 times in this table)"),
    ]
    assert refused(lambda: queries.add_predicates(pa.table(rows).drop_columns("owner"))) == [
        ("a", "under a policy every subscription needs an owner (4 times in this table)")
    ]


def test_condition_said_to_be_a_row_filter_is_not_taken_for_one():
    queries = QuerySet(SCHEMA, policy=POLICY)
    own = parse_subscription("q", "price = 3", SCHEMA, "text").condition
    forged = penstock.gen.expr.And((penstock.gen.expr.Always(True), own))
    claim = Subscription("q", forged, owner="acme", row_filter=penstock.gen.expr.Always(True))
    queries.insert(claim)
    honest = QuerySet(SCHEMA, policy=POLICY)
    honest.add("q", "price = 3", owner="acme")
    assert queries["q"] == honest["q"]


def test_policy_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(DataError, match=r"there is no file '.*nowhere\.sql'"):
        penstock.load_policy(tmp_path / "nowhere.sql")


def test_policy_that_does_not_fit_the_schema_is_refused_when_a_set_is_made():
    with pytest.raises(QueryError, match="unknown attribute 'colour'"):
        QuerySet(SCHEMA, policy=parse_policy("CREATE POLICY FOR acme ON trades (colour)"))


def test_text_that_is_not_even_tokens_is_told():
    with pytest.raises(QueryError, match="this quote is never closed"):
        parse_policy("CREATE POLICY FOR 'acme ON trades")
