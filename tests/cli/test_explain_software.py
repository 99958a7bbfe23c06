"""``penstock explain --engine software``: codes, layout and what it was chosen by."""

from penstock import QuerySet, Schema
from penstock.host.software.outline import outline


def test_layout_and_its_cost_are_told(run, rules):
    code, out, err = run("explain", rules, "--engine", "software")
    assert (code, err) == (0, "")
    assert out.startswith("stream trades: 3 subscriptions on engine software\n")
    assert "\n  chosen: all blocks\n" in out


def test_options_of_a_circuit_are_refused(run, rules):
    code, out, err = run("explain", rules, "--engine", "software", "--spare", 3)
    assert (code, out) == (1, "")
    assert "are for the plan of a circuit" in err


def test_many_attributes_and_residuals_are_cut_short():
    queries = QuerySet(Schema.of({f"a{n:02}": "STRING" for n in range(30)}))
    for number in range(30):
        queries.add(f"s{number:02}", f"a{number:02} LIKE '%x' AND a00 > 'b'")
    text = outline(queries)
    assert "\n  and 10 more\n" in text
    assert text.count("cuts") == 20
    assert "finished one by one" in text


def test_an_empty_set_has_an_outline():
    assert "0 subscriptions" in outline(QuerySet(Schema.of({"a": "INT"})))
