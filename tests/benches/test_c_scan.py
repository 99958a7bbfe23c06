"""The baseline of the benches answers what the oracle does."""

import importlib

import numpy as np
import pyarrow as pa
import pytest

import penstock
from penstock.sim.workload import OPERATORS, WorkloadSpec, generate_events, generate_expressions
from penstock.sim.workload import schema_for as schema_of

INT = np.iinfo(np.int32)
SPECS = [
    WorkloadSpec(expressions=300, events=60, attributes=5, predicates=2, predicate_spread=1,
                 pairs=3, pair_spread=2, cardinality=6, seed=1),
    WorkloadSpec(expressions=300, events=60, attributes=12, predicates=3, predicate_spread=2,
                 pairs=9, pair_spread=3, cardinality=48, seed=2, value_distribution="zipf"),
    WorkloadSpec(expressions=80, events=60, attributes=3, predicates=1, predicate_spread=0,
                 pairs=2, pair_spread=1, cardinality=1, seed=3),
    WorkloadSpec(expressions=80, events=60, attributes=4, predicates=2, predicate_spread=1,
                 pairs=4, pair_spread=0, cardinality=2**31 - 1, seed=4),
]  # fmt: skip


@pytest.fixture
def bench(timing):
    return importlib.import_module("c_scan")


def ids_of(scan, answer):
    return [scan.ids.take(pa.array(answer.of(event))).to_pylist() for event in range(len(answer))]


def oracle(expressions, schema, events):
    queries = penstock.QuerySet(schema)
    queries.add_predicates(expressions)
    with penstock.open(queries, engine="oracle") as matcher:
        return matcher.match(events)["matches"].to_pylist()


def check(bench, expressions, schema, sparse):
    scan = bench.Scan(expressions, schema)
    events = scan.events(sparse)
    expected = oracle(expressions, schema, sparse)
    assert ids_of(scan, scan.match(events)) == expected
    assert ids_of(scan, scan.rarest_first(events).match(events)) == expected
    return expected


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"seed {spec.seed}")
def test_scan_matches_what_the_oracle_does(bench, spec):
    found = check(bench, generate_expressions(spec), schema_of(spec), generate_events(spec))
    assert any(found) and not all(len(ids) == spec.expressions for ids in found)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_at_the_ends_of_the_integers(bench, operator):
    values = [INT.min, INT.min + 1, -1, 0, INT.max - 1, INT.max]
    if operator == "BETWEEN":
        operands = [[low, high] for low in values for high in values]
    elif operator in ("IN", "NOT IN"):
        operands = [[value, other] for value in values for other in values]
    else:
        operands = [[value] for value in values]
    count = len(operands)
    expressions = pa.table({
        "id": [f"e{number:02}" for number in range(count)],
        "attribute": ["a"] * count,
        "operator": [operator] * count,
        "operands": pa.array(operands, pa.list_(pa.int32())),
    })  # fmt: skip
    maps = [[("a", value)] for value in values] + [[("b", 0)], []]
    sparse = pa.table({"attributes": pa.array(maps, pa.map_(pa.string(), pa.int32()))})
    check(bench, expressions, penstock.Schema.of({"a": "INT", "b": "INT"}), sparse)


def test_slices_are_read_from_where_they_begin(bench):
    spec = SPECS[0]
    expressions = generate_expressions(spec).slice(1)
    check(bench, expressions, schema_of(spec), generate_events(spec).slice(7, 20))


def test_answers_go_to_the_arrays_of_an_earlier_one(bench):
    spec = SPECS[0]
    scan = bench.Scan(generate_expressions(spec), schema_of(spec))
    events = scan.events(generate_events(spec))
    once = scan.match(events)
    numbers = once.numbers
    expected = ids_of(scan, once)
    numbers[:] = -1
    again = scan.match(events, once)
    assert again.numbers is numbers and ids_of(scan, again) == expected
    few = scan.match(events.first(5))
    assert ids_of(scan, few) == expected[:5]


def test_results_name_the_compiler(bench):
    assert "-O3 -march=native" in bench.compiled_with()
