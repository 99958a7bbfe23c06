"""Figures: their targets, and results that grow point by point."""

import hashlib
import subprocess
import sys
import threading
import time

import pytest


@pytest.mark.parametrize(
    ("result", "target", "at_most", "met"),
    [(1, None, True, None), (1, 1, True, True), (1, 1, False, True), (1, 2, False, False),
     (2, 1, True, False)],
)  # fmt: skip
def test_target_is_met_up_to_and_with_its_value(timing, result, target, at_most, met):
    assert timing.Figure("x", [result], target=target, at_most=at_most).met is met


def test_line_tells_the_result_and_the_target(timing):
    figure = timing.Figure("x", [3, 1, 2], unit="MHz", target=5000, at_most=False)
    assert figure.line().split() == ["x", "2", "MHz", ">=", "5,000", "MHz", "missed"]


def test_merged_figures_replace_those_of_the_same_point_and_no_others(timing, results):
    def merge(*figures):
        timing.merge("b", "?", list(figures), key=("size", "kind"))

    def figure(what, result, size):
        return timing.Figure(what, [result], parameters={"size": size, "kind": "k"})

    merge(figure("area", 1, 10), figure("clock", 2, 10))
    merge(figure("area", 3, 20))
    merge(figure("area", 4, 10))  # it did not route this time: its old clock must go
    assert [(f["what"], f["result"], f["parameters"]["size"]) for f in results("b")] == [
        ("area", 3, 20),
        ("area", 4, 10),
    ]
    assert all(f["machine"]["cores"] for f in results("b"))
    assert timing.measured("b") == results("b") and timing.measured("c") == []
    assert [path.name for path in timing.RESULTS.iterdir()] == ["b.json"]


def test_report_writes_all_figures_anew(timing, results):
    for result in (1, 2):
        timing.report("b", "?", [timing.Figure("x", [result])])
    assert [figure["result"] for figure in results("b")] == [2]


def test_works_take_turns(timing):
    done = []
    found = timing.in_turn([lambda: done.append("a"), lambda: done.append("b")], repeats=3)
    assert done == ["a", "b"] * 3
    assert [len(samples) for samples in found] == [3, 3]


def test_time_of_neighbours_does_not_count_but_that_of_all_threads_does(timing):
    def compute():
        # Lets go of the interpreter's lock, as kernels do.
        thread = threading.Thread(target=lambda: hashlib.pbkdf2_hmac("sha1", b"", b"", 200_000))
        thread.start()
        thread.join()

    (asleep,), (computed,) = timing.in_turn([lambda: time.sleep(0.05), compute], repeats=1)
    assert asleep < computed


@pytest.mark.parametrize(
    ("most", "per_event", "wanted"),
    [
        (10, 1e-9, 10),  # all that there are
        (1_000_000, 1e-3, 500),
        (400, 1e-3, 400),
        (1_000_000, 1e-6, 500_000),
        (1_000_000, 1, 32),  # slow as they may be, fewer would stand for all
    ],
)
def test_enough_events_take_about_the_time_that_is_wanted(
    timing, monkeypatch, most, per_event, wanted
):
    clock = [0.0]
    monkeypatch.setattr(timing.time, "process_time", lambda: clock[0])
    warm = []

    def work(count):
        clock[0] += count * per_event + (0 if warm else 60)  # the first run compiles, say
        warm.append(count)

    assert timing.enough(work, most) == pytest.approx(wanted, rel=0.01)


def test_peak_of_memory_is_not_that_of_the_process_that_started_it(timing):
    held = bytearray(b"x") * 400_000_000
    command = [sys.executable, "-c", "import timing; print(timing.peak_bytes())"]
    told = subprocess.run(command, cwd=timing.HERE, capture_output=True, text=True, check=True)
    assert 10_000_000 < int(told.stdout) < 300_000_000
    assert timing.peak_bytes() > len(held)
