"""What a match earns on the host is what the oracle says, and nothing where there is no match."""

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from strategies import Case, bound
from weighted_texts import weighted_cases

from penstock.gen.normal import make_event
from penstock.gen.normalise import normalise
from penstock.host.scoring import earned
from penstock.sim import oracle

AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.fuzz
@AS_FOUND
@given(weighted_cases(texts=3), st.dictionaries(st.integers(0, 2), st.integers(0, 5)))
def test_what_is_earned_is_what_the_oracle_says(case: Case, weights: dict[int, int]) -> None:
    for text in case.texts:
        condition = bound(text, case.schema)
        if condition is None:
            continue
        normal = normalise(condition)
        for values in case.events:
            want = oracle.score(condition, values, weights)
            event("none" if want is None else "some" if want else "zero")
            at = make_event(values, case.schema.attributes)
            assert earned(normal, at, weights) == want, (text, values)
