"""Figures: their targets, and results that grow point by point."""

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
