"""Random rules on random rows: `match` adds what Spark's own ``where`` keeps, rule by rule."""

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from spark_answers import ROW, events_frame, where_answers
from strategies import Case, bound, cases

from penstock import QuerySet
from penstock.gen.expr import Subscription
from penstock.spark_bridge import match, top_k

pytestmark = pytest.mark.xdist_group("spark")
WHERE_TEXTS = 8
"""How many rules of a case, as a job of each is planned."""


def rules_of(case: Case) -> tuple[QuerySet, dict[str, str]]:
    """The texts of a case that the language takes, and their texts by id, ids in another order."""
    rules, texts = QuerySet(case.schema), {}
    for number, text in enumerate(case.texts):
        condition = bound(text, case.schema)
        if condition is not None and len(texts) < WHERE_TEXTS:
            texts[f"r{number * 7 % 100:02}"] = text
            rules.insert(Subscription(f"r{number * 7 % 100:02}", condition, number % 3))
    return rules, texts


@pytest.mark.fuzz
@settings(
    max_examples=settings.default.max_examples // 5,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(case=cases(events=30))
def test_matches_are_what_where_keeps(spark, case):
    rules, texts = rules_of(case)
    assume(texts)
    frame = events_frame(spark, case.schema, case.events).repartition(3).localCheckpoint()
    frame = frame.alias(case.schema.stream)  # texts may name it
    kept: dict[int, list[str]] = {row: [] for row in range(len(case.events))}
    order = sorted(texts)
    for id, rows in zip(order, where_answers(frame, [texts[id] for id in order]), strict=True):
        for row in rows:
            kept[row].append(id)
    found = frame.transform(match(rules)).collect()
    assert {row[ROW]: row.matches for row in found} == kept
    pairs = frame.transform(match(rules, output="pairs", shards=3)).collect()
    assert sorted((row[ROW], row.match) for row in pairs) == [
        (row, id) for row, ids in kept.items() for id in ids
    ]
    best = frame.transform(top_k(rules, len(texts) + 1)).collect()
    assert {row[ROW]: sorted(one.id for one in row.matches) for row in best} == kept
