"""The normal form: golden pairs that are also run, and properties of each rewrite.

``tests/golden/normalise`` holds a condition, a line ``---`` and its normal form for people.
After a change, write the normal forms again and read what changed:

    GOLDEN=write pytest tests/gen/test_normalise.py && git diff tests/golden
"""

import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from strategies import Case, bound, cases
from weighted_texts import weighted_cases

from penstock.gen.expr import And, Expression, Not, Or
from penstock.gen.language.script import parse_subscription
from penstock.gen.normal import (
    AllOf,
    AnyOf,
    Conjunction,
    Event,
    Leaf,
    Normal,
    Pair,
    attributes_of,
    holds,
    leaves_of,
    make_event,
)
from penstock.gen.normal import Test as LeafTest  # pytest would collect it as Test
from penstock.gen.normalise import TooManyDisjuncts, disjuncts, merge, normalise, verdict
from penstock.gen.normalise.push_negation import push_negation
from penstock.gen.normalise.to_sets import to_sets
from penstock.gen.normalise.verdict import opposite
from penstock.gen.render import normal_text
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import Key, Value
from penstock.sim import oracle

GOLDEN = Path(__file__).parents[1] / "golden" / "normalise"
FILES = sorted(GOLDEN.glob("*.txt"))
SCHEMA = Schema.of(
    {
        "a": "INT", "b": "INT", "t": "TINYINT", "d": "DECIMAL(4,2)", "wide": "DECIMAL(38,37)",
        "f": "FLOAT", "s": "STRING", "live": "BOOLEAN", "done": "BOOLEAN", "day": "DATE",
        "at": "TIMESTAMP",
    }
)  # fmt: skip
GRID_EVENTS = 20_000
# A failure names one text and one event: shrinking the whole case would only cost time.
AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def read(text: str) -> Expression:
    return parse_subscription("q", text, SCHEMA, "text").condition


def near(keys: set[Key], attribute: Attribute) -> list[Value | None]:
    """Values on, beside and far from the keys, and NULL."""
    of = attribute.type
    if any(isinstance(key, str) for key in (*keys, of.lowest)):
        texts = {"", "a", "ab", "abc", "abd", "xa", "bab", "\ue000", "\U0010ffffz"}
        return [None, *sorted(texts | keys)]  # type: ignore[type-var]
    around = {k + step for k in (*keys, 0) for step in (-1, 0, 1)}  # type: ignore[operator]
    ends = {of.lowest, of.highest}
    inside = sorted(k for k in around | ends if of.lowest <= k <= of.highest)  # type: ignore[operator, type-var]
    return [None, *(of.value(key) for key in inside)]


def grid(normal: Normal, unmerged: Normal) -> Iterator[dict[int, Value]]:
    """Events over the attributes of a condition that tell its sets apart."""
    keys: dict[int, set[Key]] = {}
    for leaf in (*leaves_of(normal), *leaves_of(unmerged)):
        for attribute in attributes_of(leaf):
            keys.setdefault(attribute.index, set())
        if isinstance(leaf, LeafTest):
            keys[leaf.attribute.index] |= set(leaf.values.cuts)
    columns = [near(keys[index], SCHEMA.attributes[index]) for index in keys]
    for row in islice(product(*columns), GRID_EVENTS):
        yield {i: value for i, value in zip(keys, row, strict=True) if value is not None}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_normal_forms_are_these_and_mean_the_same(path: Path) -> None:
    text, _, expected = path.read_bytes().decode().partition("\n---\n")
    condition = read(text)
    normal = normalise(condition)
    got = normal_text(normal) + "\n"
    if os.environ.get("GOLDEN") == "write":
        path.write_bytes(f"{text}\n---\n{got}".encode())
        expected = got
    assert got == expected
    for values in grid(normal, to_sets(push_negation(condition))):
        at = make_event(values, SCHEMA.attributes)
        assert holds(normal, at) is (oracle.evaluate(condition, values) is True), values


def conditions_of(case: Case) -> Iterator[tuple[str, Expression]]:
    for text in case.texts:
        condition = bound(text, case.schema)
        if condition is not None:
            yield text, condition


def events_of(case: Case) -> list[tuple[dict[int, Value], Event]]:
    return [(values, make_event(values, case.schema.attributes)) for values in case.events]


def nots(expression: Expression) -> Iterator[Not]:
    if isinstance(expression, And | Or):
        for child in expression.children:
            yield from nots(child)
    elif isinstance(expression, Not):
        yield expression


@pytest.mark.fuzz
@AS_FOUND
@given(cases(texts=4, events=6))
def test_pushing_negation_down_keeps_all_three_values(case: Case) -> None:
    for text, condition in conditions_of(case):
        pushed = push_negation(condition)
        assert not any(isinstance(n.child, And | Or | Not) for n in nots(pushed)), text
        for values in case.events:
            assert oracle.evaluate(pushed, values) is oracle.evaluate(condition, values), text
            denied = oracle.evaluate(push_negation(condition, negated=True), values)
            assert denied is oracle.evaluate(Not(condition), values), text


def nodes(node: Normal) -> Iterator[Normal]:
    yield node
    for child in node.children if isinstance(node, AllOf | AnyOf) else ():
        yield from nodes(child)


def check_merged(normal: Normal, text: str) -> None:
    for node in nodes(normal):
        if isinstance(node, AllOf | AnyOf):
            assert len(node.children) != 1, text
            assert not any(isinstance(child, type(node)) for child in node.children), text
            tested = [c.attribute.index for c in node.children if isinstance(c, LeafTest)]
            assert tested == sorted(set(tested)), text
        elif isinstance(node, LeafTest):
            assert not node.values.is_empty, text
            assert not node.values.is_full(node.attribute.type), text


@pytest.mark.fuzz
@AS_FOUND
@given(cases(texts=4, events=6))
def test_merging_keeps_the_meaning_and_leaves_nothing_to_merge(case: Case) -> None:
    for text, condition in conditions_of(case):
        sets = to_sets(push_negation(condition))
        merged = merge(sets)
        assert merge(merged) == merged, text
        check_merged(merged, text)
        for values, at in events_of(case):
            assert holds(merged, at) is holds(sets, at), (text, values)


@pytest.mark.fuzz
@AS_FOUND
@given(cases(texts=4, events=6))
def test_the_opposite_holds_exactly_where_the_node_does_not(case: Case) -> None:
    for text, condition in conditions_of(case):
        normal = normalise(condition)
        other = opposite(normal)
        for values, at in events_of(case):
            assert holds(other, at) is not holds(normal, at), (text, values)
            assert holds(merge(other), at) is not holds(normal, at), (text, values)


@pytest.mark.fuzz
@AS_FOUND
@given(cases(texts=4, events=6))
def test_a_verdict_is_never_wrong(case: Case) -> None:
    for text, condition in conditions_of(case):
        normal = normalise(condition)
        certain = verdict(normal)
        event(f"verdict {certain}")
        for values, at in events_of(case):
            assert certain in (None, holds(normal, at)), (text, values)


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("TRUE", True), ("NULL", False), ("a = a", None), ("a <=> a", True), ("a <> a", False),
        ("a > 5 AND a < 5", False), ("a > 5 OR a <= 5 OR a IS NULL", True),
        ("a > 5 OR a <= 5", None),
        ("a < b AND b < a", False), ("a < b AND b >= a", None), ("a = b AND a IS NULL", False),
        ("a <=> b AND a IS NULL AND b IS NOT NULL", None),  # through two attributes: not searched
        ("s LIKE '%x%' AND s NOT LIKE '%x%'", False), ("s LIKE '%x%' AND s IS NULL", False),
        ("s LIKE '%x%' OR s NOT LIKE '%x%' OR s IS NULL", True),
        ("(a = 1 OR b = 1) AND a = 2 AND b = 2", False), ("t < 128 OR t IS NULL", True),
        ("t > 127", False), ("live OR NOT live OR live IS NULL", True), ("live OR NOT live", None),
        ("a < 3 AND (a > 5 OR b <> b)", False), ("weight(a <=> a, 3)", True),
        ("a <> b OR a = b OR a IS NULL OR b IS NULL", True), ("a = NULL", False),
    ],
)  # fmt: skip
def test_certain_conditions_are_found(text: str, certain: bool | None) -> None:
    assert verdict(normalise(read(text))) is certain


PAIR_OPS = ["<", "<=", "=", ">=", ">", "<>", "<=>", "IS DISTINCT FROM"]


@pytest.mark.parametrize("first", PAIR_OPS)
@pytest.mark.parametrize("second", PAIR_OPS)
def test_two_comparisons_of_a_pair_exclude_each_other_or_not(first: str, second: str) -> None:
    normal = normalise(read(f"a {first} b AND a {second} b"))
    events = [make_event(values, SCHEMA.attributes) for values in grid(normal, normal)]
    can_hold = any(holds(normal, at) for at in events)
    assert bool(disjuncts(normal)) is can_hold
    assert verdict(normal) is (None if can_hold else False)


def test_a_search_that_grows_too_large_gives_up() -> None:
    parts = " AND ".join(f"(a = {i} OR s LIKE '%{i}%')" for i in range(12))
    assert verdict(normalise(read(f"({parts}) AND (a = 50 OR b = b)"))) is None


def identity(conjunction: Conjunction) -> tuple[object, object]:
    return conjunction.tests, frozenset(Counter(conjunction.others).items())


@pytest.mark.fuzz
@AS_FOUND
@given(cases(texts=3, events=6) | weighted_cases(texts=3))
def test_one_disjunct_holds_exactly_where_the_condition_does(case: Case) -> None:
    for text, condition in conditions_of(case):
        normal = normalise(condition)
        parts = disjuncts(normal)
        assert len({identity(part) for part in parts}) == len(parts), text
        for part in parts:
            tested = [test.attribute.index for test in part.tests]
            assert tested == sorted(set(tested)), text
        for values, at in events_of(case):
            found = any(all(holds(leaf, at) for leaf in part.leaves) for part in parts)
            assert found is holds(normal, at), (text, values)


def earned(part: Conjunction, weights: dict[int, int]) -> int:
    def weight_of(leaf: Leaf) -> int:
        attribute = leaf.left if isinstance(leaf, Pair) else leaf.attribute
        return leaf.weight * weights.get(attribute.index, 1)

    return sum(weight_of(leaf) for leaf in part.leaves)


@pytest.mark.fuzz
@AS_FOUND
@given(weighted_cases(texts=3), st.dictionaries(st.integers(0, 2), st.integers(0, 5)))
def test_the_best_disjunct_earns_what_the_condition_does(
    case: Case, weights: dict[int, int]
) -> None:
    for text, condition in conditions_of(case):
        parts = disjuncts(normalise(condition))
        for values, at in events_of(case):
            held = (part for part in parts if all(holds(leaf, at) for leaf in part.leaves))
            best = max((earned(part, weights) for part in held), default=None)
            assert best == oracle.score(condition, values, weights), (text, values)


def test_disjuncts_past_the_limit_are_refused_with_a_way_out() -> None:
    normal = normalise(read(" AND ".join(f"(a < b OR s LIKE '%{i}%')" for i in range(3))))
    assert len(disjuncts(normal, limit=8)) <= 8
    wide = normalise(read(" OR ".join(f"s LIKE '%{i}%'" for i in range(9))))
    assert len(disjuncts(wide, limit=9)) == 9
    with pytest.raises(TooManyDisjuncts, match="more than 8 conjunctions") as caught:
        disjuncts(wide, limit=8)
    assert "write IN" in str(caught.value)


def test_disjuncts_that_shrink_again_are_within_the_limit() -> None:
    ways = " AND ".join("(a = 1 OR a = 2 AND b = 1 OR b = 2)" for _ in range(12))
    assert len(disjuncts(normalise(read(ways)), limit=8)) <= 8


@pytest.mark.parametrize(
    "text",
    ["(a < b OR s LIKE '%x%') AND (s LIKE '%x%' OR a < b)",
     "(weight(a = 1, 2) OR b = 1) AND (b = 1 OR weight(a = 1, 2)) AND weight(live, 1)",
     "weight(a < b, 1) AND (s LIKE '%x%' OR s LIKE '%y%') OR (s LIKE '%y%' AND weight(a < b, 1))"],
)  # fmt: skip
def test_no_conjunction_comes_twice(text: str) -> None:
    parts = disjuncts(normalise(read(text)))
    assert len({identity(part) for part in parts}) == len(parts)
