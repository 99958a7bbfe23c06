"""The bench of place and route, with a stand-in for nextpnr: points, targets and the search."""

import importlib
from dataclasses import replace

import pytest

from penstock import DeviceError
from penstock.constraints.ecp5 import part_named
from penstock.gen.route import Routed

ROUTED = Routed(
    part="LFE5U-85F",
    router="router1",
    seed=1,
    clock_mhz=150.0,
    stopped="",
    used={},
    synthesis_seconds=1,
    place_seconds=2,
    route_seconds=3,
)


@pytest.fixture
def bench(timing, monkeypatch):
    """The bench; `outcome` is what routing comes to."""
    module = importlib.import_module("bench_route")
    module.outcome = ROUTED

    def route(*_, **__):
        if isinstance(module.outcome, Exception):
            raise module.outcome
        return module.outcome

    monkeypatch.setattr(module, "route", route)
    return module


@pytest.fixture
def run(bench):
    return bench.Run("pool", part_named("LFE5U-85F"), seed=1, limit_seconds=60)


def by_what(figures):
    return {f["parameters"]["what"]: f for f in figures if "what" in f["parameters"]}


def test_point_has_area_times_and_clock(bench, run, results):
    assert bench.measure(3, run) == ""
    found = by_what(results("route"))
    assert found["LUT4"]["result"] == found["LUT4"]["parameters"]["cells"]["LUT4"] > 50
    assert found["CCU2C"]["result"] > 0 and found["flip-flops"]["result"] > 50
    assert found["plan to Verilog"]["result"] > 0 and found["synthesis"]["result"] > 0
    assert (found["place and route"]["result"], found["clock"]["result"]) == (5, 150)
    assert found["clock"]["what"] == "3 subscriptions, constants from 50: clock"


@pytest.mark.parametrize(
    ("outcome", "said", "missing"),
    [
        (
            replace(ROUTED, clock_mhz=None, stopped="placing exceeded 60 s"),
            "placing exceeded 60 s",
            {"clock"},
        ),
        (
            DeviceError("the circuit needs 9 LUT4; TINY has 8\nhint: none"),
            "the circuit needs 9 LUT4; TINY has 8",
            {"clock", "place and route"},
        ),
    ],
)
def test_point_that_is_not_routed_tells_what_stopped_it(
    bench, run, results, capsys, outcome, said, missing
):
    bench.measure(3, run)
    before = by_what(results("route"))
    bench.outcome = outcome
    assert bench.measure(3, run) == said
    after = by_what(results("route"))
    assert before.keys() - after.keys() == missing
    assert {figure["parameters"]["stopped"] for figure in after.values()} == {said}
    assert capsys.readouterr().out.splitlines()[-1].endswith(f": not routed: {said}")


def test_targets_are_held_against_points_of_earlier_runs(bench, run, results):
    for size, clock in ((1_000, 150.0), (5_000, 120.0)):
        name, facts = f"{size}", {**run.parameters(size), "what": "clock"}
        run.keep([bench.Figure(name, [clock], "MHz", parameters=facts)])
    bench.compare(run)
    largest, kept = [f for f in results("route") if f["target"] is not None]
    assert (largest["result"], largest["met"]) == (5_000, True)
    assert (kept["result"], kept["met"]) == (0.8, False)


@pytest.mark.parametrize("limit", [500, 1_000, 1_999, 5_500, 13_000, 40_000])
def test_search_ends_at_the_largest_size_that_nothing_stops(bench, limit):
    tried = []

    def stops(size):
        tried.append(size)
        return f"{size} is too large" if size > limit else ""

    good, bad, why = bench.search(stops)
    assert good <= limit < bad and why == f"{bad} is too large"
    assert bad - good <= max(1_000, good // 8)
    assert len(tried) == len(set(tried))
