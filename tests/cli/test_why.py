"""The command ``penstock why``: one event, one subscription, predicate by predicate."""

import json

import pytest
from terminal import on_terminal, piped


def test_explanation_is_printed(run, rules, events):
    assert run("why", rules, events, "--event", "1", "--id", "watched") == (
        0,
        "watched: event 1 does not match\n"
        "  ✗ AND                                             does not hold\n"
        "    ✗ symbol LIKE 'A%'                              does not hold: symbol = 'B'\n"
        "    ? n >= 1                                        unknown: n is absent\n",
        "",
    )


def test_json_is_one_object(run, rules, events):
    code, out, _ = run("why", rules, events, "--event", "0", "--id", "cheap", "--json")
    assert code == 0
    assert json.loads(out) == {
        "id": "cheap",
        "event": 0,
        "matched": True,
        "condition": {
            "text": "price < 10",
            "verdict": True,
            "values": "price = 9.99",
            "children": [],
        },
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--event", "3", "--id", "cheap"), "there is no event 3; there are 3, from 0 on"),
        (("--event", "-1", "--id", "cheap"), "there is no event -1; there are 3, from 0 on"),
        (("--event", "0", "--id", "chap"), "no subscription 'chap' among 3; did you mean 'cheap'?"),
        (("--event", "0", "--id", ""), "no subscription '' among 3"),
        (("--event", "0", "--id", "cheap", "--stream", "x"), "declares no stream 'x', only trades"),
    ],
)
def test_what_is_not_there_is_told_on_one_line(run, rules, events, options, message):
    code, out, err = run("why", rules, events, *options)
    assert (code, out) == (1, "")
    assert err.startswith("penstock: ")
    assert message in err
    assert err.count("\n") == 1


def test_missing_files_are_named(run, rules, events, tmp_path):
    options = ("--event", "0", "--id", "cheap")
    for queries, rows in ((tmp_path / "no.sql", events), (rules, tmp_path / "no.csv")):
        code, _, err = run("why", queries, rows, *options)
        assert (code, "there is no file '" in err) == (1, True)


def test_event_and_id_are_required(run, rules, events, capsys):
    with pytest.raises(SystemExit) as stopped:
        run("why", rules, events, "--event", "0")
    assert stopped.value.code == 2
    assert "the following arguments are required: --id" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        run("why", rules, events, "--event", "first", "--id", "cheap")
    assert stopped.value.code == 2


def test_values_cannot_act_on_the_terminal(rules, events):
    events.write_text("symbol,n\nA\x1b[2J\u202e,1\n")
    argv = ("why", rules, events, "--event", "0", "--id", "watched")
    code, out = on_terminal(*argv)
    assert code == 0
    assert "symbol = 'A\u241b[2J\ufffd'" in out
    assert on_terminal(*argv, "--json")[1].isascii()
    assert (
        "\u202e" in json.loads(piped(*argv, "--json").stdout)["condition"]["children"][0]["values"]
    )


def test_terminal_that_lacks_the_marks_gets_escapes(rules, events):
    argv = ("why", rules, events, "--event", "0", "--id", "cheap")
    answer = piped(*argv, PYTHONIOENCODING="ascii")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "\\u2713 price < 10" in answer.stdout
