"""Plan and lowering against the oracle, and the encoder with them, on random cases."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from plan_answers import PlanAnswers, code_of, queries_of
from strategies import Case, cases

from penstock import QuerySet, Schema
from penstock.gen.normal import Pattern, holds, like, make_event
from penstock.gen.passes import plan_of
from penstock.gen.passes.cluster import cluster
from penstock.gen.passes.weaken import weaken
from penstock.gen.plan import Plan
from penstock.sim import oracle

LAST = "\U0010ffff"
# A failure names one event and the texts in doubt: shrinking would only cost time.
AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def check(case: Case, plan: Plan, queries: QuerySet) -> None:
    """Every event gets the oracle's answer, and nothing that the host would need is lost."""
    answers = PlanAnswers(plan)
    undecided = set(answers.residual_ids())
    alone = {entry.id for entry in plan.entries if entry.root is None}
    for row in case.events:
        codes = [code_of(field, row) for field in plan.fields]
        wanted = set(oracle.matches(queries, row))
        through = answers.through(codes) | alone
        assert wanted <= through, row
        assert through - wanted <= undecided, row
        assert answers.exact(codes, row, case.schema) == wanted, row
        assert not answers.through(codes, enabled=False)


@pytest.mark.fuzz
@AS_FOUND
@given(case=cases())
def test_tiles_answer_as_the_oracle_and_lose_nothing_they_cannot_decide(case: Case) -> None:
    queries = queries_of(case)
    check(case, plan_of(queries), queries)


@pytest.mark.fuzz
@AS_FOUND
@given(case=cases())
def test_answers_do_not_depend_on_how_tiles_are_cut(case: Case) -> None:
    queries = queries_of(case)
    check(case, cluster(replace(plan_of(queries), tiles=()), tile_size=3), queries)


@pytest.mark.fuzz
@settings(max_examples=max(200, settings.default.max_examples))
@given(
    pattern=st.lists(st.sampled_from(["a", "b", "%", "_", "!%", "!_", "!!", LAST]), max_size=5),
    text=st.text(f"ab%_!{LAST}", max_size=5),
    negated=st.booleans(),
)
def test_weaker_pattern_loses_no_text(pattern: list[str], text: str, negated: bool) -> None:
    schema = Schema.of({"s": "STRING"})
    exact = Pattern(schema["s"], "".join(pattern), "!", negated)
    weaker, reason = weaken(exact)
    assert reason
    if like(text, exact.pattern, "!") != negated:
        assert holds(weaker, make_event({0: text}, schema.attributes))
    assert not holds(weaker, make_event({}, schema.attributes))
