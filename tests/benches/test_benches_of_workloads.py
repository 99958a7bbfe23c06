"""The benches of the software engine at a tiny size."""

import importlib
import os

import pytest

TINY = {"EVENTS": 100, "CHECKED_EVENTS": 20, "ORACLE_EXPRESSIONS": 30, "ORACLE_EVENTS": 5}


@pytest.fixture
def run(timing, tmp_path, monkeypatch, results):
    """Runs a bench with options; its figures by what they tell."""
    workloads = importlib.import_module("workloads")
    monkeypatch.setattr(workloads, "FOLDER", tmp_path / "bench")
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None

    def run(name, *options, **sizes):
        for part in ("bench_software", f"bench_{name}"):
            module = importlib.import_module(part)
            for constant, value in {**TINY, **sizes}.items():
                if hasattr(module, constant):
                    monkeypatch.setattr(module, constant, value)
        monkeypatch.setattr(module, "one_core", lambda: None)
        monkeypatch.setattr("sys.argv", [f"bench_{name}.py", *options])
        module.main()
        return {figure["what"]: figure for figure in results(name)}

    yield run
    assert affinity is None or os.sched_getaffinity(0) == affinity


def test_software_is_held_to_both_scans(run):
    targets = {"uni": {120: 2}, "dense": {120: 4}}
    options = ("--sizes", "60", "120", "--workloads", "uni", "dense")
    found = run("software", *options, TARGETS=targets)
    assert len(found) == 2 * 2 * 5
    for name, wanted in targets.items():
        for what in ("times the scan", "times the scan, rarest first"):
            figure = found[f"{name}, 120 expressions: {what}"]
            assert (figure["target"], figure["at_most"]) == (wanted[120], False)
            assert found[f"{name}, 60 expressions: {what}"]["target"] is None
        engine = found[f"{name}, 120 expressions: engine"]
        assert engine["parameters"]["matches_per_event"] > 0
        assert len(engine["samples"]) == 5


def test_run_of_one_size_keeps_the_others(run):
    run("software", "--sizes", "100", "--workloads", "uni")
    found = run("software", "--sizes", "50", "--workloads", "uni")
    assert {figure["parameters"]["expressions"] for figure in found.values()} == {50, 100}


def test_engine_that_disagrees_with_the_scan_is_not_timed(run, monkeypatch):
    bench = importlib.import_module("bench_software")
    opened = bench.penstock.open

    def open_less(queries, *, engine):
        if engine != "oracle":
            for subscription in list(queries)[:50]:
                queries.remove(subscription.id)
        return opened(queries, engine=engine)

    monkeypatch.setattr(bench.penstock, "open", open_less)
    with pytest.raises(AssertionError):
        run("software", "--sizes", "100", "--workloads", "dense")


def test_wide_events_tell_what_writing_answers_takes(run):
    found = run("wide", "--sizes", "100", EVENTS=500)
    assert len(found) == 6
    assert found["100 expressions, 0.1% match: engine"]["target"] == 10_000_000
    rates = {figure["parameters"]["match_rate"]: figure for figure in found.values()}
    assert set(rates) == {0.001, 0.01}
    assert rates[0.01]["parameters"]["matches_per_event"] > 0.5


def test_best_are_those_of_all_matches(run):
    found = run("top_k", "--sizes", "300")
    ratio = found["300 expressions: top 10 by all matches"]
    assert (ratio["target"], ratio["at_most"]) == (1, True)


def test_formulas_are_as_deep_as_they_say(run):
    found = run("formulas", "--sizes", "20")
    (figure,) = found.values()
    assert 0.2 < figure["parameters"]["matches_per_event"] / 20 < 0.8
    bench = importlib.import_module("bench_formulas")
    text = bench.formula(bench.random.Random(3), 6)
    assert text.count("(") == 63 and text.count("b") == 64


def test_what_is_opened_tells_its_time_and_its_memory(run):
    bench = importlib.import_module("bench_load")
    taken, memory = bench.opened(bench.preset("uni", 200, 100))
    assert taken > 0 and 20e6 < memory < 50e9
