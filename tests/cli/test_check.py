"""The command ``penstock check``: everything that is wrong, with places, for people and as JSON."""

import json
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest
from terminal import on_terminal, piped, plain

BROKEN = """CREATE STREAM trades (price DECIMAL(10,2), n INT);
CREATE SUBSCRIPTION typo ON trades WHERE pirce < 10;
CREATE SUBSCRIPTION fine ON trades WHERE n = 1;
CREATE SUBSCRIPTION `no [red]m[/]` ON trades WHERE m = 1;
"""


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.sql"
    path.write_text(BROKEN)
    return path


def test_good_file_is_summed_up(run, rules):
    summary = f"{rules}: 3 subscriptions on stream trades (3 attributes), 0 warnings\n"
    assert run("check", rules) == (0, summary, "")


def test_all_problems_are_shown_with_their_places(run, broken):
    code, out, err = run("check", broken)
    assert (code, err) == (1, "")
    assert (
        out
        == f"""\
error: {broken}:2:42: subscription 'typo': unknown attribute 'pirce' in stream 'trades'
  CREATE SUBSCRIPTION typo ON trades WHERE pirce < 10;
                                           ^^^^^
hint: did you mean 'price'? known: price, n
error: {broken}:4:52: subscription 'no [red]m[/]': unknown attribute 'm' in stream 'trades'
  CREATE SUBSCRIPTION `no [red]m[/]` ON trades WHERE m = 1;
                                                     ^
hint: known: price, n
{broken}: 2 problems, nothing loaded
"""
    )


def test_warnings_are_shown_and_leave_the_exit_code(run, tmp_path):
    path = tmp_path / "q.sql"
    path.write_text("CREATE STREAM s (n INT);\nCREATE SUBSCRIPTION x ON s WHERE n > 1 AND n < 0;")
    code, out, _ = run("check", path)
    assert code == 0
    assert out.startswith(f"warning: {path}:2:21: subscription 'x': can never match\n")
    assert out.endswith("1 subscription on stream s (1 attribute), 1 warning\n")


def test_json_has_every_problem_and_warning(run, broken, rules):
    code, out, _ = run("check", broken, "--json")
    report = json.loads(out)
    assert code == 1
    assert report | {"problems": None} == {
        "stream": None,
        "attributes": None,
        "subscriptions": 0,
        "problems": None,
        "warnings": [],
    }
    assert [problem["subscription"] for problem in report["problems"]] == ["typo", "no [red]m[/]"]
    assert report["problems"][0] == {
        "message": "unknown attribute 'pirce' in stream 'trades'",
        "subscription": "typo",
        "hint": "did you mean 'price'? known: price, n",
        "file": str(broken),
        "line": 2,
        "column": 42,
        "length": 5,
    }
    rules.write_text(rules.read_text() + "CREATE SUBSCRIPTION z ON trades WHERE n < n;")
    code, out, _ = run("check", rules, "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["stream"], report["attributes"], report["subscriptions"]) == ("trades", 3, 4)
    assert [(w["message"], w["line"]) for w in report["warnings"]] == [("can never match", 5)]


def test_json_is_an_object_even_for_a_file_that_cannot_be_read(run, tmp_path):
    code, out, err = run("check", tmp_path / "none.sql", "--json")
    assert (code, err) == (1, "")
    (problem,) = json.loads(out)["problems"]
    assert problem["message"] == f"there is no file '{tmp_path / 'none.sql'}'"
    assert run("check", tmp_path / "none.sql") == (1, "", f"penstock: {problem['message']}\n")


def test_table_of_predicates_is_checked(run, tmp_path):
    columns = {
        "id": ["x", "y"],
        "attribute": ["n", "m"],
        "operator": ["="] * 2,
        "operands": [[1]] * 2,
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "expressions.parquet")
    (tmp_path / "schema.sql").write_text("CREATE STREAM s (n INT)")
    code, out, err = run("check", tmp_path)
    assert (code, out) == (1, "")
    assert "row 2, subscription 'y': unknown attribute 'm'\nhint: " in err


def test_stream_and_schema_are_chosen(run, tmp_path):
    both = tmp_path / "both.sql"
    both.write_text("CREATE STREAM a (n INT); CREATE STREAM b (m INT, o INT);")
    code, _, err = run("check", both)
    assert code == 1
    assert "declares 2 streams; choose one: a, b" in err
    assert "on stream b (2 attributes)" in run("check", both, "--stream", "B")[1]
    (tmp_path / "q.csv").write_text("id,text\nx,m = 1\n")
    (tmp_path / "s.sql").write_text("CREATE STREAM s (m INT)")
    assert "needs a schema" in run("check", tmp_path / "q.csv")[2]
    assert run("check", tmp_path / "q.csv", "--schema", tmp_path / "s.sql")[0] == 0


def test_colours_are_for_terminals_only(broken):
    code, out = on_terminal("check", broken)
    assert code == 1
    assert "\x1b[1;31merror:" in out
    assert "no [red]m[/]" in out
    assert "\x1b" not in piped("check", broken).stdout


def test_control_characters_are_shown_not_obeyed(tmp_path):
    path = tmp_path / "q.sql"
    evil = "a\x1b[2Jb\u202ec\x07\x9b31m"
    path.write_text(f"CREATE STREAM s (n INT);\nCREATE SUBSCRIPTION `{evil}` ON s WHERE m = 1;")
    for options in ((), ("--json",)):
        _, out = on_terminal("check", path, *options)
        shown = plain(out)
        assert not any(character in shown for character in "\x1b\x07\x9b\u202e")
        assert "\x1b[2J" not in out
    assert json.loads(piped("check", path, "--json").stdout)["problems"][0]["subscription"] == evil


def test_progress_shows_on_a_terminal_when_it_lasts_and_leaves_no_trace(tmp_path):
    rows = 5_000
    columns = {"id": [f"q{n}" for n in range(rows)], "text": [f"n = {n}" for n in range(rows)]}
    pa.parquet.write_table(pa.table(columns), tmp_path / "q.parquet")
    (tmp_path / "schema.sql").write_text("CREATE STREAM s (n INT)")
    code = "from penstock.cli import main, progress; import sys; progress.PATIENCE_SECONDS = 0.1\n"
    code += "sys.exit(main.main(sys.argv[1:]))"
    impatient = [sys.executable, "-c", code]
    status, out = on_terminal("check", tmp_path / "q.parquet", command=impatient)
    assert status == 0
    assert "parsing subscriptions" in out or "checking subscriptions" in out
    assert "/5,000" in out
    assert (
        plain(out)
        .splitlines()[-1]
        .endswith("5,000 subscriptions on stream s (1 attribute), 0 warnings")
    )
    quiet = piped("check", tmp_path / "q.parquet", command=impatient)
    assert (quiet.stderr, quiet.stdout.count("\n")) == ("", 1)
