"""What the circuit ranks, what it leaves to the host, and how the plan shows both."""

import pytest
from amaranth.back import rtlil

from penstock import QuerySet, Schema
from penstock.gen.estimate import estimate_of
from penstock.gen.explain import plan_text
from penstock.gen.lower.circuit import circuit_of
from penstock.gen.lower.ranking import score_format_of
from penstock.gen.passes import plan_of
from penstock.gen.passes.rank import MOST_TERMS, why_not_ranked
from penstock.gen.plan import Plan
from penstock.rtl_lib.scores import Worth

WIDE = {f"a{number}": "INT" for number in range(MOST_TERMS + 1)}


def plan(texts: dict[str, str], *, spare: int = 0, k: int | None = 5, base: int = 1) -> Plan:
    queries = QuerySet(Schema.of({**WIDE, "s": "STRING", "t": "STRING"}))
    for id, text in texts.items():
        queries.add(id, text, weight=base)
    return plan_of(queries, spare=spare, k=k)


def weighted(count: int, weight: int = 1) -> str:
    return " AND ".join(f"weight(a{number} > 0, {weight})" for number in range(count))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (weighted(MOST_TERMS), ""),
        (weighted(MOST_TERMS + 1), f"it has weights on {MOST_TERMS + 1} attributes, more than 8"),
        (" AND ".join([weighted(1, 2**31 - 1)] * 2), ""),
        (" AND ".join([weighted(1, 2**31 - 1)] * 3), "a weight takes more than 32 bits"),
        ("weight(a1 = 1, 2) OR a2 = 1", "its score depends on which side of an OR holds"),
        ("weight(s LIKE '%x', 2) AND a1 = 1", "finished on the host"),
        ("s <=> t", "on the host alone"),
    ],
)
def test_host_ranks_what_the_circuit_cannot(text: str, why: str) -> None:
    made = plan({"plain": "a0 = 1", "x": text})
    assert made.ranking is not None
    assert why_not_ranked(made.entries[1]) == why
    assert made.ranking.entries == ((0,) if why else (0, 1))
    assert (f"ranked by the host\n  x: {why}" in plan_text(made)) == bool(why)


def test_ranks_follow_the_order_of_ids() -> None:
    made = plan({"b": "a0 = 1", "": "a1 = 1", "\u00c4": "a2 = 1", "Z": "a0 = 2", "never": "FALSE"})
    assert made.ranking is not None
    ids = [made.entries[entry].id for entry in made.ranking.entries]
    assert ids == ["", "Z", "b", "\u00c4"]
    assert "the 5 best of 4 subscriptions, by base weights" in plan_text(made)


@pytest.mark.parametrize("spare", [0, 40])
def test_ranking_has_addresses_of_its_own(spare: int) -> None:
    made = plan({"x": weighted(3), "y": "weight(a5 = 1, 2)"}, spare=spare)
    assert made.ranking is not None
    assert [attribute.name for attribute in made.ranking.attributes] == ["a0", "a1", "a2", "a5"]
    others = plan({"x": weighted(3), "y": "weight(a5 = 1, 2)"}, spare=spare, k=None)
    assert made.ranking.base == others.address_count
    assert made.address_count == made.ranking.base + 5
    rtlil.convert(circuit_of(made))  # ValueError if two parts had an address in common


def test_widths_are_those_that_the_set_needs() -> None:
    found = score_format_of(plan({"x": "weight(a0 = 1, 5)", "y": "a1 = 1"}, base=3))
    assert found is not None
    assert (found.term_count, found.weight_bits, found.base_bits, found.rank_bits) == (1, 3, 2, 1)
    assert found.score_bits == (3 + 5 * (2**16 - 1)).bit_length()
    assert found.row(Worth(1, 3))["terms"] == [{"factor": 0, "weight": 0}]


@pytest.mark.parametrize("text", ["s <=> t", "weight(a0 = 1, 2) OR a1 = 1"])
def test_plan_in_which_only_the_host_ranks_has_no_ranker(text: str) -> None:
    made = plan({"x": text})
    assert score_format_of(made) is None and made.address_count == made.chunk_count
    assert "ranking" not in estimate_of(made).left_out
    shown = plan_text(made)
    assert "ranked by the host\n  x: " in shown and "\nranking\n" not in shown


def test_estimate_says_that_it_leaves_the_ranking_out() -> None:
    assert estimate_of(plan({"x": "a0 = 1"})).left_out == ("the ranking",)
    assert estimate_of(plan({"x": "a0 = 1"}, spare=8)).left_out == ("the table", "the ranking")
    assert estimate_of(plan({"x": "a0 = 1"}, k=None)).left_out == ()


def test_plan_without_k_says_nothing_of_ranking() -> None:
    assert "rank" not in plan_text(plan({"x": "weight(a0 = 1, 2) OR a1 = 1"}, k=None))
