"""The page of benchmarks has the figures that were measured, and the peers' as they are kept."""

import csv
import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from markdown_blocks import ROOT, tables

DOCS = ROOT / "docs"
PAGE = DOCS / "benchmarks.md"


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("figures")


def test_page_has_the_figures_of_the_results(figures: ModuleType) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert figures.filled(page, ROOT / "benches" / "results") == page, "run make plots"


def test_row_tells_result_target_and_load(figures: ModuleType, tmp_path: Path) -> None:
    known = {"what": "x", "unit": "us", "samples": [1], "parameters": {}}
    entries = [
        {**known, "result": 1234.5, "target": 2000, "at_most": True, "met": True},
        {**known, "result": 0.12345, "target": 2, "at_most": False, "met": False,
         "machine": {"load_average": 0.25}},
        {**known, "result": 1, "target": None, "at_most": True, "met": None},
    ]  # fmt: skip
    found = {"machine": {"load_average": 3.0}, "figures": entries}
    (tmp_path / "b.json").write_text(json.dumps(found))
    assert figures.table(tmp_path).splitlines()[2:] == [
        "| b | x | 1,234 us | at most 2,000 us | met | 3.0 |",
        "| b | x | 0.123 us | at least 2 us | **missed** | 0.2 |",
    ]


def test_page_without_a_place_for_figures_is_refused(figures: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs the lines"):
        figures.filled("# Benchmarks\n", tmp_path)


def test_table_of_peers_is_that_of_the_plot() -> None:
    (rows,) = (found for header, found in tables(PAGE) if header[:2] == ["workload", "expressions"])
    (header,) = (head for head, _ in tables(PAGE) if head[:2] == ["workload", "expressions"])
    shown = {
        (workload, int(size.replace(",", "")), matcher, float(cell.replace(",", "")))
        for workload, size, *cells in rows
        for matcher, cell in zip(header[2:], cells, strict=True)
        if cell
    }
    with (DOCS / "peers.csv").open(encoding="utf-8", newline="") as file:
        kept = {
            (row["workload"], int(row["expressions"]), row["matcher"], float(row["microseconds"]))
            for row in csv.DictReader(file)
        }
    assert shown == kept


def test_page_names_every_bench() -> None:
    benches = {path.stem.removeprefix("bench_") for path in ROOT.glob("benches/bench_*.py")}
    named = {row[0].strip("`") for head, rows in tables(PAGE) if head[0] == "bench" for row in rows}
    # The table of figures names benches too, but not in backquotes.
    assert {name for name in named if re.fullmatch(r"\w+", name)} == benches
