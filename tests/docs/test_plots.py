"""The plots of the manual: drawn from what there is, the same bytes every time."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ["area.svg", "clock.svg", "compile-time.svg", "spark.svg", "time-per-event.svg"]


@pytest.fixture
def plots(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("plots")


def figure(what: str, result: float, **parameters: Any) -> dict[str, Any]:
    known = {"subscriptions": 1_000, "constants": "pool", "part": "LFE5U-85F", "what": what}
    return {"unit": "", "target": None, "result": result, "parameters": known | parameters}


def build(size: int, result: float, target: float | None) -> dict[str, Any]:
    return {"unit": "s", "target": target, "result": result, "parameters": {"subscriptions": size}}


AREA = {"unit": "LUT4 each", "target": 6, "result": 5, "parameters": {"cardinality": 50}}
STOPPED = {"subscriptions": 5_000, "stopped": "routing exceeded 3600 s"}
ROUTE = [
    figure("LUT4", 4_851),
    figure("clock", 150.0),
    figure("place and route", 60.0),
    figure("clock", 99.0, part="LFE5U-45F"),
    figure("place and route", 3_600.0, **STOPPED),
    {"unit": "", "target": 5_000, "result": 1_000,
     "parameters": {"subscriptions": "targets", "constants": "pool", "part": "LFE5U-85F"}},
]  # fmt: skip
CIRCUIT = [AREA, build(1_000, 8, None), build(10_000, 103, 30)]
SOFTWARE = [
    {"result": result, "parameters": {"workload": "uni", "expressions": size, "what": what}}
    for what, size, result in [
        ("engine", 10_000, 3.0),
        ("engine", 1_000, 1.5),
        ("scan", 1_000, 3.0),
        ("times the scan", 1_000, 2.0),
    ]
]
SPARK = [
    {"result": result, "parameters": {"part": part, "expressions": size, "what": what}}
    for part, what, size, result in [
        ("contestants", "penstock", 1_000, 2e6),
        ("contestants", "penstock", 100, 2.1e6),
        ("contestants", "Spark join", 100, 4e5),
        ("contestants", "penstock, by Spark join", 100, 5.2),
        ("scaling", "penstock", 10_000, 1e6),
    ]
]
RESULTS = {"route": ROUTE, "circuit": CIRCUIT, "software": SOFTWARE, "spark": SPARK}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    for name, figures in RESULTS.items():
        (folder / f"{name}.json").write_text(json.dumps({"figures": figures}))
    return folder


def test_points_are_those_of_the_part_that_were_routed(plots: ModuleType, results: Path) -> None:
    read = plots.Results.read(results)
    assert read.points("clock", "pool") == {1_000: 150.0}
    assert read.points("place and route", "pool") == {1_000: 60.0}
    assert read.points("clock", "random") == {}
    assert read.stopped("pool") == [5_000]


def test_what_bench_circuit_built_and_its_targets_are_drawn_too(
    plots: ModuleType, results: Path
) -> None:
    read = plots.Results.read(results)
    assert read.points("plan to Verilog", "random") == {1_000: 8, 10_000: 103}
    assert read.build_targets() == {10_000: 30}
    assert (read.area_target("pool"), read.area_target("random")) == (6, None)


def test_times_of_engine_and_scan_are_told_apart(plots: ModuleType, results: Path) -> None:
    read = plots.time_per_event.measured(results)
    assert read["uni", "engine"] == {1_000: 1.5, 10_000: 3.0}
    assert read["uni", "scan"] == {1_000: 3.0}
    assert ("uni", "times the scan") not in read


def test_every_peer_has_its_points_in_the_plot(plots: ModuleType, results: Path) -> None:
    module = plots.time_per_event
    peers = module.published(module.PEERS)
    assert {matcher for _, matcher in peers} == {*module.THEIRS, "C scan"}
    uni, zipf, dense = module.drawn(results).axes
    assert list(uni.lines[0].get_xdata()) == [1_000, 10_000, 100_000, 1_000_000]
    assert [len(axes.lines) for axes in (uni, zipf, dense)] == [4 + 2, 3, 1]
    plots.plt.close("all")


def test_rates_in_spark_are_those_of_its_contestants(plots: ModuleType, results: Path) -> None:
    module = plots.spark_rates
    assert module.measured(results) == {
        "penstock": {1_000: 2e6, 100: 2.1e6}, "Spark join": {100: 4e5}
    }  # fmt: skip
    (axes,) = module.drawn(results).axes
    assert [list(line.get_xdata()) for line in axes.lines] == [[100, 1_000], [100]]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    plots.plt.close("all")


def test_same_results_give_the_same_pictures(
    plots: ModuleType, results: Path, tmp_path: Path
) -> None:
    contents = []
    for _ in range(2):
        plots.draw(results, tmp_path)
        assert sorted(path.name for path in tmp_path.glob("*.svg")) == NAMES
        contents.append([(tmp_path / name).read_bytes() for name in NAMES])
    assert contents[0] == contents[1]
    for name in NAMES:
        ElementTree.parse(tmp_path / name)
        assert "<dc:date>" not in (tmp_path / name).read_text()


def test_pictures_differ_where_results_do(plots: ModuleType, results: Path, tmp_path: Path) -> None:
    plots.draw(results, tmp_path)
    before = [(tmp_path / name).read_bytes() for name in NAMES]
    for name, figures in RESULTS.items():
        changed = [entry | {"result": entry["result"] * 1.1} for entry in figures]
        (results / f"{name}.json").write_text(json.dumps({"figures": changed}))
    plots.draw(results, tmp_path)
    after = [(tmp_path / name).read_bytes() for name in NAMES]
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_without_results_the_plots_are_empty(plots: ModuleType, tmp_path: Path) -> None:
    plots.draw(tmp_path / "nowhere", tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == NAMES
