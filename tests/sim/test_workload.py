"""The workload generator: what it draws, how often, and how near the match rate comes."""

import hashlib
import json
import operator
from collections import Counter
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pyarrow as pa
import pytest

from penstock.sim.workload import (
    OPERATORS,
    PRESETS,
    TOLERANCE,
    WorkloadSpec,
    calibrate,
    generate_events,
    generate_expressions,
    measure_match_rate,
    schema_for,
    to_wide,
    write,
)
from penstock.sim.workload.draw import Distribution, draw_distinct, stream

SMALL = WorkloadSpec(expressions=50, attributes=40, events=20, max_weight=9, seed=3)
ONE = {"predicates": 1, "predicate_spread": 0, "pairs": 1, "pair_spread": 0}
COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def digest(table):
    return hashlib.sha256(json.dumps(table.to_pylist()).encode()).hexdigest()[:16]


def holds(spelled, operands, values):
    """Which values satisfy a predicate; NaN, for absent, satisfies none."""
    if spelled in COMPARE:
        held = COMPARE[spelled](values, operands[0])
    elif spelled == "BETWEEN":
        held = (values >= operands[0]) & (values <= operands[1])
    else:
        held = np.isin(values, operands) == (spelled == "IN")
    return held & ~np.isnan(values)


def match_rate_by_scan(expressions, events, schema):
    """Average fraction of expressions matched, by the plainest road."""
    wide = to_wide(events, schema)
    columns = {name: wide[name].to_pandas().to_numpy(dtype=float) for name in wide.column_names}
    matched = {}
    for row in expressions.to_pylist():
        held = holds(row["operator"], row["operands"], columns[row["attribute"]])
        matched[row["id"]] = matched.get(row["id"], True) & held
    return float(np.mean(list(matched.values())))


def assert_fits(observed, expected):
    """Pearson's chi-square within five of its standard deviations."""
    observed, expected = np.asarray(observed, float), np.asarray(expected, float)
    expected = expected / expected.sum() * observed.sum()
    assert expected.min() > 5, "too few draws to judge"
    freedom = len(observed) - 1
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert statistic < freedom + 5 * np.sqrt(2 * freedom), statistic


def by_expression(table):
    rows = {}
    for row in table.to_pylist():
        rows.setdefault(row["id"], []).append(row)
    return rows


def test_same_spec_gives_same_data_and_another_seed_other_data():
    again = replace(SMALL)
    assert generate_expressions(SMALL).equals(generate_expressions(again))
    assert generate_events(SMALL).equals(generate_events(again))
    other = replace(SMALL, seed=4)
    assert not generate_expressions(SMALL).equals(generate_expressions(other))
    assert not generate_events(SMALL).equals(generate_events(other))


def test_data_of_a_small_spec_is_what_it_always_was():
    assert digest(generate_expressions(SMALL)) == "7c05d7f8ab763e0e"
    assert digest(generate_events(SMALL)) == "64652cbc1e0df631"


def test_files_are_the_same_bytes_twice(tmp_path):
    spec = replace(SMALL, match_rate=0.01)
    for folder in ("one", "two"):
        write(spec, tmp_path / folder)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_more_expressions_leave_the_first_chunks_as_they_were():
    spec = WorkloadSpec(expressions=70_000, predicates=1, predicate_spread=0)
    more = generate_expressions(replace(spec, expressions=140_000))
    assert more.slice(0, 65_536).equals(generate_expressions(spec).slice(0, 65_536))


def test_columns_have_the_stated_types():
    expressions = generate_expressions(SMALL)
    assert expressions.schema.field("id").type == pa.string()
    assert expressions.schema.field("attribute").type == pa.dictionary(pa.int32(), pa.string())
    assert expressions.schema.field("operator").type == pa.dictionary(pa.int8(), pa.string())
    assert expressions.schema.field("operands").type == pa.list_(pa.int32())
    assert expressions.schema.field("weight").type == pa.int32()
    assert "weight" not in generate_expressions(replace(SMALL, max_weight=0)).column_names
    assert generate_events(SMALL).schema.field("attributes").type == pa.map_(
        pa.string(), pa.int32()
    )


def test_expressions_are_adjacent_sorted_and_have_distinct_attributes():
    table = generate_expressions(replace(SMALL, expressions=2000, match_rate=0.01))
    ids = table["id"].to_pylist()
    assert ids == sorted(ids) and len(set(ids)) == 2000
    assert ids[0] == "e0000000" and ids[-1] == "e0001999"
    for rows in by_expression(table).values():
        names = [row["attribute"] for row in rows]
        assert all(one < other for one, other in pairwise(names))
        assert 4 <= len(rows) <= 10
        assert all(1 <= row["weight"] <= 9 for row in rows)


@pytest.mark.parametrize("cardinality", [2, 48])
def test_operands_suit_their_operator(cardinality):
    spec = WorkloadSpec(expressions=3000, cardinality=cardinality, match_rate=0.001)
    for row in generate_expressions(spec).to_pylist():
        spelled, values = row["operator"], row["operands"]
        assert all(0 <= value < cardinality for value in values)
        assert holds(spelled, values, np.arange(cardinality, dtype=float)).any()
        if spelled == "BETWEEN":
            assert len(values) == 2 and values[0] <= values[1]
        elif spelled in ("IN", "NOT IN"):
            assert all(one < other for one, other in pairwise(values))
            assert len(values) == min(4, cardinality - (spelled == "NOT IN"))
        else:
            assert len(values) == 1


def test_operators_occur_with_their_share():
    weights = {name: 1.0 + index for index, name in enumerate(OPERATORS)}
    spec = WorkloadSpec(expressions=5000, operators=weights)
    found = Counter(generate_expressions(spec)["operator"].to_pylist())
    assert_fits([found[name] for name in OPERATORS], list(weights.values()))


def test_operators_of_weight_zero_do_not_occur():
    spec = WorkloadSpec(operators={"!=": 1, "not in": 2})
    assert set(generate_expressions(spec)["operator"].to_pylist()) == {"<>", "NOT IN"}


@pytest.mark.parametrize("match_rate", [None, 0.0009])
def test_counts_are_uniform_around_their_mean(match_rate):
    spec = WorkloadSpec(expressions=7000, events=7000, match_rate=match_rate)
    predicates = Counter(Counter(generate_expressions(spec)["id"].to_pylist()).values())
    pairs = Counter(len(event) for event in generate_events(spec)["attributes"].to_pylist())
    assert_fits([predicates[count] for count in range(4, 11)], [1] * 7)
    assert_fits([pairs[count] for count in range(12, 19)], [1] * 7)
    assert sum(predicates.values()) == sum(pairs.values()) == 7000


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5])
def test_attributes_and_values_follow_their_distribution(exponent):
    spelled = f"zipf:{exponent}" if exponent else "uniform"
    spec = WorkloadSpec(
        expressions=20_000,
        attributes=20,
        cardinality=20,
        events=20_000,
        attribute_distribution=spelled,
        value_distribution=spelled,
        operators={"=": 1},
        **ONE,
    )
    wanted = np.arange(1, 21) ** -exponent
    expressions = generate_expressions(spec)
    used = Counter(expressions["attribute"].to_pylist())
    assert_fits([used[name] for name in spec.attribute_names], wanted)
    operands = np.bincount(np.concatenate(expressions["operands"].to_numpy()), minlength=20)
    assert_fits(operands, wanted)
    [events] = to_maps(generate_events(spec))
    assert_fits(np.bincount(np.asarray(events.items), minlength=20), wanted)


def to_maps(events):
    return events["attributes"].chunks


@pytest.mark.parametrize(("size", "count"), [(6, 2), (3, 2)])
def test_distinct_draws_are_those_of_an_urn(size, count):
    """Size 6 draws again after repeats, size 3 sorts waiting times: the same law."""
    of = Distribution(size, 1.0)
    drawn = Counter(map(tuple, draw_distinct(stream(5), of, 30_000, count).tolist()))
    mass = of.mass(np.arange(size))
    pairs = list(permutations(range(size), 2))
    wanted = [mass[one] * mass[other] / (1 - mass[one]) for one, other in pairs]
    assert_fits([drawn[pair] for pair in pairs], wanted)


def test_topics_use_every_attribute_alike():
    spec = WorkloadSpec(expressions=10_000, match_rate=0.0009)
    assert calibrate(spec).topics > 0
    used = Counter(generate_expressions(spec)["attribute"].to_pylist())
    assert len(used) == 400
    assert max(used.values()) < 3 * 70_000 / 400


RATES = {
    "uni": WorkloadSpec(**PRESETS["uni"], expressions=2000),
    "zipf": WorkloadSpec(**PRESETS["zipf"], expressions=2000),
    "dense": WorkloadSpec(**PRESETS["dense"], expressions=1000),
    "often": WorkloadSpec(match_rate=0.1, expressions=500),
    "seldom": WorkloadSpec(match_rate=2e-5, expressions=3000, events=4000),
    "few expressions": WorkloadSpec(match_rate=0.01, expressions=10, events=5000),
    "steep attributes": WorkloadSpec(match_rate=0.01, attribute_distribution="zipf:3"),
    "no ranges": WorkloadSpec(
        match_rate=0.001, operators={"=": 1}, predicates=2, predicate_spread=1, expressions=2000
    ),
    "wide domain": WorkloadSpec(match_rate=0.001, cardinality=2**31 - 1, expressions=2000),
    "nearly all present": WorkloadSpec(match_rate=0.002, attributes=20, expressions=1000),
}


@pytest.mark.parametrize("name", RATES)
def test_match_rate_is_within_tolerance(name):
    spec = RATES[name]
    expressions, events = generate_expressions(spec), generate_events(spec)
    rate = match_rate_by_scan(expressions, events, schema_for(spec))
    assert abs(rate - spec.match_rate) <= TOLERANCE * spec.match_rate
    if spec.expressions * spec.events <= 2**21 and spec.events <= 1024:
        assert measure_match_rate(expressions, events) == pytest.approx(rate)


def test_sampled_match_rate_is_near_the_true_one():
    spec = WorkloadSpec(**PRESETS["dense"], expressions=3000, events=3000)
    expressions, events = generate_expressions(spec), generate_events(spec)
    whole = match_rate_by_scan(expressions, events, schema_for(spec))
    assert measure_match_rate(expressions, events) == pytest.approx(whole, rel=0.1)


def test_without_a_match_rate_nothing_is_adjusted():
    assert calibrate(SMALL).topics == 0 and calibrate(SMALL).sharpness == 1


@pytest.mark.parametrize(("rate", "advice"), [(0.9, "fewer"), (1e-9, "more")])
def test_rate_out_of_reach_names_the_nearest(rate, advice):
    spec = replace(RATES["dense"], match_rate=rate)
    with pytest.raises(ValueError, match=rf"the nearest is \S+; .*{advice} predicates"):
        generate_expressions(spec)


def test_events_that_miss_the_rate_warn():
    spec = WorkloadSpec(match_rate=1e-5, events=3)
    with pytest.warns(UserWarning, match="match rate .* wanted 1e-05"):
        generate_events(spec, generate_expressions(spec))


@pytest.mark.parametrize(
    "spec",
    [
        WorkloadSpec(expressions=1, events=1),
        WorkloadSpec(expressions=30, attributes=1, **ONE),
        WorkloadSpec(cardinality=1, in_length=9),
        WorkloadSpec(cardinality=2, in_length=9),
        WorkloadSpec(cardinality=2**31 - 1, value_distribution="zipf:1"),
        WorkloadSpec(cardinality=2**31 - 1, value_distribution="zipf:4", in_length=20),
        WorkloadSpec(attributes=30, predicates=30, predicate_spread=0, pairs=30, pair_spread=0),
    ],
)
def test_edges_are_generated_whole(spec):
    spec = replace(spec, expressions=min(spec.expressions, 200), events=min(spec.events, 50))
    expressions, events = generate_expressions(spec), generate_events(spec)
    assert len(by_expression(expressions)) == spec.expressions
    low, high = spec.pair_range
    for event in events["attributes"].to_pylist():
        assert low <= len(dict(event)) == len(event) <= high
        assert all(0 <= value < spec.cardinality for _, value in event)
    rate = match_rate_by_scan(expressions, events, schema_for(spec))
    assert measure_match_rate(expressions, events) == pytest.approx(rate)
    if spec.cardinality == 1:
        assert all(
            holds(r["operator"], r["operands"], np.zeros(1)) for r in expressions.to_pylist()
        )
