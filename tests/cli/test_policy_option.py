"""The option ``--policy``: every command that reads queries holds them to it."""

import json

import pytest

RULES = """CREATE STREAM trades (price DECIMAL(10,2), symbol STRING, n INT);
CREATE SUBSCRIPTION cheap ON trades OWNER acme WHERE price < 10;
CREATE SUBSCRIPTION watched ON trades OWNER globex WEIGHT 3 WHERE symbol LIKE 'A%';
"""
POLICY = """CREATE POLICY FOR acme ON trades (price) WHERE n = 1;
CREATE POLICY FOR globex ON trades;
"""


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.sql"
    path.write_text(RULES)
    return path


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.sql"
    path.write_text(POLICY)
    return path


def test_match_hides_what_the_filter_hides(run, rules, events, policy):
    code, out, _ = run("match", rules, events, "--policy", policy, "--json")
    matches = [json.loads(line)["matches"] for line in out.splitlines()]
    assert (code, matches) == (0, [["cheap", "watched"], [], ["watched"]])
    policy.write_text(POLICY.replace("n = 1", "n = 2"))
    _, out, _ = run("match", rules, events, "--policy", policy, "--json")
    assert json.loads(out.splitlines()[0])["matches"] == ["watched"]


def test_why_shows_the_filter(run, rules, events, policy):
    code, out, _ = run("why", rules, events, "--event", 1, "--id", "cheap", "--policy", policy)
    assert code == 0
    assert "    ? policy of 'acme'                              unknown\n" in out
    assert "      ? n = 1                                       unknown: n is absent\n" in out


@pytest.mark.parametrize("command", ["explain", "build"])
def test_circuit_has_the_filter_in_its_gates(run, rules, policy, tmp_path, command):
    folder = tmp_path / "built"
    options = ["-o", folder] if command == "build" else []
    code, out, _ = run(command, rules, "--policy", policy, *options)
    plan = (folder / "plan.txt").read_text() if command == "build" else out
    assert code == 0
    assert "cheap: price below 10.00 and n = 1\n" in plan


def test_check_tells_what_the_policy_forbids(run, rules, policy):
    assert run("check", rules, "--policy", policy)[0] == 0
    policy.write_text(POLICY.replace("(price)", "(symbol)"))
    code, out, _ = run("check", rules, "--policy", policy, "--json")
    (problem,) = json.loads(out)["problems"]
    assert code == 1
    assert problem == {
        "message": "owner 'acme' may not use attribute 'price' of stream 'trades'",
        "subscription": "cheap",
        "hint": "it may use: symbol",
        "file": str(rules),
        "line": 2,
        "column": 54,
        "length": 5,
    }


def test_check_tells_what_is_wrong_with_the_policy(run, rules, policy):
    policy.write_text(POLICY.replace("(price)", "(prize)"))
    code, out, _ = run("check", rules, "--policy", policy, "--json")
    (problem,) = json.loads(out)["problems"]
    assert code == 1
    assert (problem["file"], problem["column"]) == (str(policy), 35)
    assert problem["message"] == "unknown attribute 'prize' in stream 'trades'"


def test_policy_file_that_is_not_there_is_told(run, rules, tmp_path):
    code, out, err = run("explain", rules, "--policy", tmp_path / "nowhere.sql")
    assert (code, out) == (1, "")
    assert "there is no file" in err
