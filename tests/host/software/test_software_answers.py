"""The software engine answers as the definition does, whatever the layout and the events."""

import numpy as np
import pyarrow as pa
import pytest
from devices import LAYOUTS, batch_of, best, laid_out, opened, scored, set_of, wanted
from hypothesis import HealthCheck, given, settings
from strategies import Case, cases
from weighted_texts import weighted_cases

from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.sim.workload import PRESETS, WorkloadSpec, generate_events, generate_expressions
from penstock.sim.workload.spec import schema_for

LARGE = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.fuzz
@pytest.mark.parametrize("layout", LAYOUTS)
@LARGE
@given(case=cases())
def test_random_texts_match_as_the_oracle_says(layout: str, case: Case) -> None:
    queries = set_of(case)
    with laid_out(layout):
        device = opened(queries)
        for sparse in (False, True):
            found = device.match(batch_of(case.events, case.schema, sparse=sparse))
            assert found.to_pylist() == wanted(queries, case.events)


@pytest.mark.fuzz
@pytest.mark.parametrize("layout", LAYOUTS)
@LARGE
@given(case=weighted_cases())
def test_random_weights_rank_as_the_oracle_says(layout: str, case: Case) -> None:
    queries = set_of(case)
    with laid_out(layout):
        device = opened(queries)
        for k, weights in ((1, {}), (2, {0: 5, 1: 0}), (99, {2: 3})):
            events = batch_of(case.events, case.schema, sparse=k == 2)
            found = scored(device.top_k(events, k, weights))
            assert found == best(queries, case.events, k, weights), (k, weights)


@pytest.fixture(scope="module", params=["uni", "zipf", "dense"])
def workload(request):
    spec = WorkloadSpec(**PRESETS[request.param], expressions=3000, events=300, max_weight=9)
    queries = QuerySet(schema_for(spec))
    queries.add_predicates(generate_expressions(spec))
    table = generate_events(spec)
    events = [
        {int(name[1:]): value for name, value in event} for event in table.column(0).to_pylist()
    ]
    return queries, events


@pytest.mark.parametrize("layout", LAYOUTS)
def test_workloads_match_and_rank_as_the_oracle_says(workload, layout):
    queries, events = workload
    few = events[:40]
    with laid_out(layout):
        device = opened(queries)
        for sparse in (False, True):
            batch = batch_of(events, queries.schema, sparse=sparse)
            assert device.match(batch).to_pylist()[:40] == wanted(queries, few)
            assert scored(device.top_k(batch, 4, {3: 7}))[:40] == best(queries, few, 4, {3: 7})


def test_what_costs_less_is_chosen(workload):
    queries, _ = workload
    segment = opened(queries)._store.parts()[0].segment
    assert segment.cost.is_flat == (segment.layout.always > 0)
    assert segment.cost.is_flat == (segment.cost.all_blocks <= segment.cost.by_access)


def test_threads_share_a_batch_and_keep_its_order(workload):
    queries, events = workload
    batch = batch_of(events, queries.schema, sparse=True)
    one, two = opened(queries), opened(queries, threads=2)
    assert two.match(batch).equals(one.match(batch))
    assert two.top_k(batch, 3, {}).equals(one.top_k(batch, 3, {}))
    two.close()


@pytest.mark.parametrize("layout", ["flat", "literals", "blocks"])
def test_many_constants_share_rows_and_the_literals_decide(layout):
    """More cuts than a block has rows: what rows let through is tested."""
    rng = np.random.default_rng(3)
    queries = QuerySet(Schema.of({"a": "BIGINT", "b": "DOUBLE"}))
    for number in range(700):
        low, width = rng.integers(-(2**62), 2**62, 2)
        queries.add(f"s{number:03}", f"a BETWEEN {low} AND {low + abs(width)} AND b < {low / 7}")
    values = [int(value) for value in rng.integers(-(2**62), 2**62, 100)]
    cuts = [cut for s in list(queries)[:50] for cut in (s.condition.children[0].low.value,)]
    events = [{0: a + step, 1: a / 5} for a in (*values, *cuts) for step in (-1, 0, 1)]
    with laid_out(layout):
        device = opened(queries)
        made = device._store.parts()[0].segment.layout
        assert (len(made.grid.boxes) > 0) == (layout == "flat")
        assert made.blocks.rough.any() == (layout != "flat")
    found = device.match(batch_of(events, queries.schema, sparse=False)).to_pylist()
    assert found == wanted(queries, events)


def test_no_events_and_no_subscriptions():
    schema = Schema.of({"a": "INT", "s": "STRING"})
    empty, some = QuerySet(schema), QuerySet(schema)
    some.add("x", "a > 1")
    for queries in (empty, some):
        device = opened(queries)
        for sparse in (False, True):
            assert device.match(batch_of([], schema, sparse=sparse)).to_pylist() == []
            assert device.top_k(batch_of([], schema, sparse=sparse), 3, {}).to_pylist() == []
            found = device.match(batch_of([{}, {0: 2}], schema, sparse=sparse)).to_pylist()
            assert found == [[], ["x"] if len(queries) else []]


def test_only_some_are_asked_for(workload):
    queries, events = workload
    ids = sorted(s.id for s in queries)[::3]
    batch = batch_of(events[:60], queries.schema, sparse=True)
    device = opened(queries)
    kept = [[id for id in row if id in set(ids)] for row in device.match(batch).to_pylist()]
    assert device.match(batch, pa.array(ids)).to_pylist() == kept


def test_weights_that_exceed_scores_are_refused(workload):
    queries, events = workload
    device, batch = opened(queries), batch_of(events[:1], queries.schema, sparse=True)
    with pytest.raises(ValueError, match="exceed 64 bits"):
        device.top_k(batch, 1, {0: 2**60})
    with pytest.raises(ValueError, match="below 2\\*\\*63"):
        device.top_k(batch, 1, {0: 2**70})
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        opened(queries, threads=0)
