"""The command ``penstock match``: shown, saved or as JSON, the same matches."""

import json
import subprocess

import pyarrow as pa
import pyarrow.parquet
import pytest
from terminal import COMMAND, USUAL, on_terminal, piped, plain

import penstock
from penstock.cli import match
from penstock.gen.tables import read_table

MATCHES = [["cheap", "watched"], ["absent"], ["watched"]]
BEST = [[("watched", 3)], [("absent", 0)], [("watched", 3)]]
# The simulated engine compiles a circuit for every query set: see tests/sim/test_simulated.py.
ENGINES = [engine for engine in penstock.ENGINES if engine != "simulated"]


@pytest.mark.parametrize("engine", ENGINES)
def test_matches_are_a_line_per_event_and_a_summary_on_stderr(run, rules, events, engine):
    code, out, err = run("match", rules, events, "--engine", engine)
    assert code == 0
    assert out == "event  matches\n0      cheap, watched\n1      absent\n2      watched\n"
    assert err.startswith("3 subscriptions, 3 events, 4 matches in ")
    assert err.endswith(f" s on engine {engine}\n")


def test_one_is_not_several(run, tmp_path):
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (n INT); CREATE SUBSCRIPTION x ON s WHERE n=1;"
    )
    (tmp_path / "e.csv").write_text("n\n1\n")
    _, _, err = run("match", tmp_path / "q.sql", tmp_path / "e.csv")
    assert err.startswith("1 subscription, 1 event, 1 match in ")


def test_top_shows_scores(run, rules, events):
    code, out, _ = run("match", rules, events, "--top", "1")
    assert code == 0
    assert out.splitlines()[1:] == ["0      watched (3)", "1      absent (0)", "2      watched (3)"]
    assert run("match", rules, events, "--top", "99999999999")[0] == 0


def test_json_is_an_object_per_event(run, rules, events):
    code, out, err = run("match", rules, events, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, rows) == (0, [{"event": n, "matches": ids} for n, ids in enumerate(MATCHES)])
    assert "4 matches" in err
    rows = [
        json.loads(line)
        for line in run("match", rules, events, "--json", "--top", "1")[1].splitlines()
    ]
    assert [[(m["id"], m["score"]) for m in row["matches"]] for row in rows] == BEST


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".jsonl", ".JSONL"])
def test_output_is_saved_and_not_shown(run, rules, events, tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    code, out, err = run("match", rules, events, "-o", path)
    assert (code, out) == (0, "")
    assert err.endswith(f", saved to {path}\n")
    assert read_table(path)["matches"].to_pylist() == MATCHES
    assert run("match", rules, events, "-o", path, "--top", "1", "--json")[1].count("\n") == 3
    saved = read_table(path)["matches"].to_pylist()
    assert [[(m["id"], m["score"]) for m in row] for row in saved] == BEST


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.csv", "results are written as .arrow, .feather, .jsonl, .parquet files"),
        ("out", "results are written as"),
        ("none/out.jsonl", "cannot be written: there is no folder"),
        ("folder.jsonl", "cannot be written: Is a directory"),
    ],
)
def test_output_that_cannot_be_written_is_refused_before_any_work(
    run, rules, events, tmp_path, monkeypatch, name, message
):
    (tmp_path / "folder.jsonl").mkdir()
    monkeypatch.setattr(match, "read_queries", None)
    code, out, err = run("match", rules, events, "-o", tmp_path / name)
    assert (code, out) == (1, "")
    assert message in err


def test_folder_without_permission_is_refused_before_any_work(run, rules, events, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setattr(match, "read_queries", None)
    code, _, err = run("match", rules, events, "-o", rules.parent / "out.jsonl")
    assert (code, err) == (
        1,
        f"penstock: {rules.parent / 'out.jsonl'} cannot be written: Permission denied\n",
    )


def test_missing_events_are_noticed_before_the_queries_are_read(run, tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.cli.inputs.load", None)
    code, _, err = run("match", tmp_path / "rules.sql", tmp_path / "none.csv")
    assert (code, err) == (1, f"penstock: there is no file '{tmp_path / 'none.csv'}'\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.txt", "n\n1\n", "e.txt: tables are .arrow, .csv,"),
        ("e.csv", "", "e.csv cannot be read as csv: Empty CSV file"),
        ("e.csv", "pric\n1\n", "no column of the events (pric) is an attribute of stream 'trades'"),
        ("e.csv", "n\nx\n", "column 'n': 'x' does not fit INT"),
        ("e.jsonl", "{", "e.jsonl cannot be read as jsonl"),
    ],
)
def test_events_that_do_not_fit_are_refused(run, rules, tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    code, out, err = run("match", rules, tmp_path / name)
    assert (code, out) == (1, "")
    assert message in err


def test_problems_of_the_queries_are_told(run, rules, events):
    rules.write_text(rules.read_text().replace("price < 10", "pirce < 10"))
    code, out, err = run("match", rules, events)
    assert (code, out) == (1, "")
    assert f"penstock: {rules}:2:43: subscription 'cheap': unknown attribute 'pirce'" in err


def test_header_alone_is_no_event(run, rules, events):
    events.write_text("n\n")
    code, out, err = run("match", rules, events)
    assert (code, out) == (0, "event  matches\n")
    assert "0 events, 0 matches" in err


def test_sparse_events_and_predicates_match(run, tmp_path):
    assert (
        run(
            "generate",
            "--expressions",
            "300",
            "--events",
            "30",
            "-o",
            tmp_path,
            "--match-rate",
            "0.05",
        )[0]
        == 0
    )
    answers = {}
    for engine in ENGINES:
        code, out, _ = run(
            "match", tmp_path, tmp_path / "events.parquet", "--json", "--engine", engine
        )
        answers[engine] = (code, out)
    assert answers["oracle"][0] == 0
    assert len(set(answers.values())) == 1
    assert any(json.loads(line)["matches"] for line in answers["oracle"][1].splitlines())


@pytest.fixture
def many(tmp_path):
    """100 subscriptions with long ids that match all of 50 events."""
    ids = [f"subscription_{n:03}_with_a_rather_long_name" for n in range(100)]
    table = pa.table({"id": ids, "text": ["n = 1"] * 100})
    pa.parquet.write_table(table, tmp_path / "q.parquet")
    (tmp_path / "schema.sql").write_text("CREATE STREAM s (n INT)")
    (tmp_path / "e.csv").write_text("n\n" + "1\n" * 50)
    return tmp_path / "q.parquet", tmp_path / "e.csv"


def test_long_answers_are_cut_for_people_and_whole_in_json(run, many):
    _, out, _ = run("match", *many)
    lines = out.splitlines()
    assert len(lines) == 1 + match.EVENTS_SHOWN + 1
    assert lines[1].endswith("subscription_011_with_a_rather_long_name, ... and 88 more")
    assert lines[-1] == "... and 30 events more; -o saves all, --json prints all"
    _, out, _ = run("match", *many, "--json")
    assert [len(json.loads(line)["matches"]) for line in out.splitlines()] == [100] * 50


def test_lines_fit_the_terminal_and_stay_whole_in_a_pipe(many):
    _, out = on_terminal("match", *many)
    lines = plain(out).splitlines()
    assert max(map(len, lines)) <= 80
    lines = lines[lines.index("event  matches") :]  # a slow machine shows progress first
    assert lines[1].startswith("0      subscription_000")
    assert lines[2].startswith("       subscription_001")
    assert "\x1b[1mevent  matches\x1b[0m" in out
    answer = piped("match", *many)
    assert "\x1b" not in answer.stdout + answer.stderr
    assert len(answer.stdout.splitlines()) == 22


def test_id_wider_than_the_terminal_is_broken(tmp_path):
    long, wide = "x" * 200, "\u8a9e" * 60
    (tmp_path / "q.csv").write_text(f"id,text\n{long},n = 1\n{wide},n = 1\n")
    (tmp_path / "schema.sql").write_text("CREATE STREAM s (n INT)")
    (tmp_path / "e.csv").write_text("n\n1\n")
    code, out = on_terminal("match", tmp_path / "q.csv", tmp_path / "e.csv", columns=40)
    assert code == 0
    assert plain(out).count("x") == 200
    assert plain(out).count("\u8a9e") == 60


def test_control_characters_and_markup_in_ids_are_shown_not_obeyed(tmp_path):
    evil = "a\x1b[2J[bold]b[/]\nc\u202e\x9b:smile:"
    pa.parquet.write_table(pa.table({"id": [evil], "text": ["n = 1"]}), tmp_path / "q.parquet")
    (tmp_path / "schema.sql").write_text("CREATE STREAM s (n INT)")
    (tmp_path / "e.csv").write_text("n\n1\n")
    argv = ("match", tmp_path / "q.parquet", tmp_path / "e.csv")
    assert "a\u241b[2J[bold]b[/]\u240ac\ufffd\ufffd:smile:" in on_terminal(*argv)[1]
    code, out = on_terminal(*argv, "--json")
    assert code == 0
    answers = out[out.index("{") :]  # what may stand before them is progress, on a slow machine
    assert answers.isascii()
    assert "\x1b" not in answers
    assert json.loads(piped(*argv, "--json").stdout)["matches"] == [evil]


def test_reader_that_stops_early_is_no_error(rules, events):
    events.write_text("price,symbol,n\n" + "9.99,AB,1\n" * 20_000)
    argv = [*COMMAND, "match", str(rules), str(events), "--json"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=USUAL
    ) as command:
        assert json.loads(command.stdout.readline())["matches"] == ["cheap", "watched"]
        command.stdout.close()
        assert command.stderr.read() == ""
        assert command.wait(timeout=60) == 0


def test_progress_goes_through_the_stages(run, tmp_path, monkeypatch):
    seen = []

    class Recorder:
        def __call__(self, stage, done, total):
            seen.append(stage)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            seen.append("end")

    monkeypatch.setattr(match, "ProgressLine", Recorder)
    run("generate", "--expressions", "50", "--events", "30", "-o", tmp_path)
    argv = ("match", tmp_path, tmp_path / "events.parquet", "--engine", "reference")
    assert run(*argv, "--top", "2")[0] == 0
    assert list(dict.fromkeys(seen)) == [
        "reading the file",
        "checking predicates",
        "reading the events",
        "normalising subscriptions",
        "growing the tree",
        "matching events",
        "end",
    ]
