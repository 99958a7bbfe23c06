"""The bench of updates, on a matcher that only keeps account."""

import contextlib
import importlib

import pytest


class Account:
    """Refuses what a matcher would refuse, and counts."""

    def __init__(self, queries):
        self.queries = queries
        self.sizes = set()

    def add_predicates(self, table):
        self.queries.add_predicates(table)

    def remove_all(self, ids):
        for id in ids:
            self.queries.remove(id)
        self.sizes.add(len(self.queries))

    def add(self, id, text):
        self.queries.add(id, text)

    def remove(self, id):
        self.queries.remove(id)

    def match(self, events):
        assert 0 < len(events) <= 50


@pytest.fixture
def bench(timing, tmp_path, monkeypatch):
    module = importlib.import_module("bench_updates")
    monkeypatch.setattr(importlib.import_module("workloads"), "FOLDER", tmp_path / "bench")
    small = {"BATCH": 10, "SPARE_BATCHES": 3, "SINGLES": 5, "ROUNDS": 2, "ROUND_SECONDS": 0.02,
             "MATCH_SECONDS": 0.02, "EVENTS": 100, "EVENT_BATCH": 50}  # fmt: skip
    for name, value in small.items():
        monkeypatch.setattr(module, name, value)

    @contextlib.contextmanager
    def opened(queries, engine):
        module.account = Account(queries)
        yield module.account

    monkeypatch.setattr(module.penstock, "open", opened)
    return module


def test_set_keeps_its_size_however_often_the_ring_goes_round(bench):
    bench.measure(60, cores=1)
    assert bench.account.sizes == {60}


def test_ring_takes_what_has_been_out_longest(bench):
    made = bench.preset("uni", 90, 100)
    queries = bench.penstock.QuerySet(made.schema)
    queries.add_predicates(made.part(0, 60))
    ring = bench.Standing(Account(queries), made, 9)
    for step in range(20):
        standing = {f"e{number % 90:07}" for number in range(10 * step, 10 * step + 60)}
        assert {subscription.id for subscription in queries} == standing
        ring.step()


def test_figures_tell_updates_and_what_matching_keeps(bench, results, monkeypatch):
    monkeypatch.setattr("sys.argv", ["bench_updates.py", "--sizes", "60"])
    bench.main()
    found = {(f["parameters"]["cores"], f["parameters"]["what"]): f for f in results("updates")}
    wanted = {
        "adds in batches": 50_000,
        "removes in batches": 50_000,
        "adds and removes in batches": 50_000,
        "adds, one by one": None,
        "removes, one by one": 50_000,
        "updates while matching": 50_000,
        "matching meanwhile": 0.5,
    }
    assert {what: found[1, what]["target"] for what in wanted} == wanted
    assert all(figure["result"] > 0 and not figure["at_most"] for figure in found.values())
