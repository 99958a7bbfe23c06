"""Scores are fixed only where they always are the same, and then as the oracle says."""

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from strategies import Case, bound
from weighted_texts import weighted_cases

from penstock import Schema
from penstock.gen.language.script import parse_subscription
from penstock.gen.normalise import normalise
from penstock.gen.scores import Score, score_of
from penstock.sim import oracle

AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SCHEMA = Schema.of({"a": "INT", "b": "INT", "c": "INT"})
A, B, C = SCHEMA.attributes


def told(text: str) -> Score:
    return score_of(normalise(parse_subscription("q", text, SCHEMA, "text").condition), 7)


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("a = 1 OR b = 2", ()),
        ("TRUE", ()),
        ("a < 1 AND a > 2", ()),
        ("weight(b = 1, 3) AND weight(a = 2, 4)", ((A, 4), (B, 3))),
        ("weight(a = 1, 3) AND weight(a < 9, 2) AND (b = 1 OR c = 1)", ((A, 5),)),
        ("weight(c < a, 3)", ((A, 3),)),
        ("weight(a = 1, 3) AND weight(b = 1, 0)", ((A, 3),)),
        ("weight(a = 1, 3) OR weight(a > 5, 3)", ((A, 3),)),
        ("(weight(a = 1, 3) AND b = 1) OR (c = 1 AND weight(a = 2, 3))", ((A, 3),)),
        ("weight(a = 1, 3) OR weight(b = 1, 3)", None),
        ("weight(a = 1, 3) OR weight(a = 2, 4)", None),
        ("weight(a = 1, 3) OR b = 1", None),
        ("weight(c = 1, 1) AND (weight(a = 1, 3) OR b = 1)", None),
        ("weight(NOT (a BETWEEN 1 AND 5), 3)", ((A, 3),)),
        ("NOT (weight(a = 1, 3) AND weight(b = 1, 3))", None),
    ],
)
def test_score_is_fixed_where_no_side_of_an_or_makes_a_difference(text, weights) -> None:
    assert told(text) == Score(7, weights)


@pytest.mark.fuzz
@AS_FOUND
@given(weighted_cases(texts=3), st.dictionaries(st.integers(0, 2), st.integers(0, 5)))
def test_fixed_scores_are_those_of_the_oracle(case: Case, weights: dict[int, int]) -> None:
    for text in case.texts:
        condition = bound(text, case.schema)
        if condition is None:
            continue
        fixed = score_of(normalise(condition), 0).weights
        event("depends" if fixed is None else "fixed, with weights" if fixed else "fixed")
        for values in case.events:
            want = oracle.score(condition, values, weights)
            if want is not None and fixed is not None:
                assert sum(w * weights.get(a.index, 1) for a, w in fixed) == want, (text, values)
