"""The estimate of a circuit's size, held against what Yosys counts."""

from random import Random

import pytest

from penstock import QuerySet, Schema
from penstock.gen.build import build
from penstock.gen.estimate import Estimate, estimate_of
from penstock.gen.fit import lut_count
from penstock.gen.passes import plan_of
from penstock.gen.synthesis import synthesise

OPERATORS = ("<", "<=", "=", ">=", ">")


def random_set(count: int, predicates: int, values: int, seed: int = 1) -> QuerySet:
    rng = Random(seed)
    names = [f"a{number}" for number in range(8)]
    queries = QuerySet(Schema.of(dict.fromkeys(names, "INT")))
    for number in range(count):
        tests = [
            f"{name} {rng.choice(OPERATORS)} {rng.randrange(values)}"
            for name in rng.sample(names, predicates)
        ]
        queries.add(f"q{number}", f" {rng.choice(('AND', 'OR'))} ".join(tests))
    return queries


@pytest.mark.parametrize(
    ("count", "predicates", "values"),
    [
        (1, 1, 10),
        (20, 4, 1_000_000),
        pytest.param(100, 1, 50, marks=pytest.mark.slow),
        pytest.param(150, 3, 1_000_000, marks=pytest.mark.slow),
        pytest.param(600, 2, 50, marks=pytest.mark.slow),
    ],
)
def test_estimate_is_near_what_yosys_counts(count: int, predicates: int, values: int) -> None:
    built = build(random_set(count, predicates, values))
    cells = synthesise(built.circuit).cells
    assert built.estimate == estimate_of(built.plan)
    assert built.estimate.luts == pytest.approx(lut_count(cells), rel=0.15)
    assert built.estimate.flip_flops == pytest.approx(cells["TRELLIS_FF"], rel=0.25)


def test_estimate_grows_with_subscriptions_and_with_constants() -> None:
    few, many = (estimate_of(plan_of(random_set(n, 3, 1_000_000))) for n in (100, 200))
    pooled = estimate_of(plan_of(random_set(200, 3, 20)))
    assert few.luts < pooled.luts < many.luts
    assert few.flip_flops < pooled.flip_flops < many.flip_flops


def test_what_can_never_match_takes_no_room() -> None:
    queries = QuerySet(Schema.of({"n": "INT"}))
    queries.add("never", "n < 1 AND n > 2")
    assert estimate_of(plan_of(queries)) == Estimate(0, 0)
    queries.add("once", "n = 1")
    alone = estimate_of(plan_of(queries))
    queries.add("nor this", "n = NULL")
    assert estimate_of(plan_of(queries)) == alone != Estimate(0, 0)
