"""Coverage: hits are counted, runs add up, and a situation that nobody saw is a failure."""

from pathlib import Path

import pytest

from penstock import QuerySet, Schema
from penstock.sim.cocotb_bench import report
from penstock.sim.cocotb_bench.coverage import Bin, Coverage
from penstock.sim.cocotb_bench.cycle_coverage import (
    CYCLE_BINS,
    DEEP,
    STALLS,
    WORDS,
    CycleCoverage,
)
from penstock.sim.cocotb_bench.event_coverage import EVENT_BINS, OPERATORS, OperatorCoverage
from penstock.sim.cocotb_bench.stimulus import Item

BINS = (
    Bin("ops", "<", "true"),
    Bin("ops", "<", "false"),
    Bin("ops", "LIKE", "true"),
    Bin("x", "y"),
)


def test_table_has_a_cell_per_bin_and_shows_what_was_missed() -> None:
    coverage = Coverage(BINS)
    coverage.hit(BINS[0], 1234)
    coverage.hit(BINS[3])
    assert coverage.missed() == [BINS[1], BINS[2]]
    assert coverage.table() == (
        "ops         true     false\n"
        "  <        1,234      NONE\n"
        "  LIKE      NONE          \n"
        "\n"
        "x           hits\n"
        "  y            1"
    )


def test_runs_add_up_and_files_hold_them(tmp_path: Path) -> None:
    first, second = Coverage(BINS[:2]), Coverage(BINS[1:])
    first.hit(BINS[1], 2)
    second.hit(BINS[1], 3)
    second.write(tmp_path / "second.json")
    first.add(Coverage.read(tmp_path / "second.json"))
    assert first.hits == {BINS[0]: 0, BINS[1]: 5, BINS[2]: 0, BINS[3]: 0}


def test_bin_that_is_not_declared_cannot_be_hit() -> None:
    with pytest.raises(KeyError, match="is not declared"):
        Coverage(BINS[1:]).hit(BINS[0])


def operator_hits(text: str, *rows: dict[int, int]) -> dict[tuple[str, str], int]:
    queries = QuerySet(Schema.of({"a": "INT", "b": "INT"}))
    queries.add("one", text)
    coverage = Coverage(EVENT_BINS)
    operators = OperatorCoverage(coverage, [queries["one"].condition])
    for row in rows:
        operators.event(row)
    return {(bin.row, bin.column): hits for bin, hits in coverage.hits.items() if hits}


@pytest.mark.parametrize(
    ("text", "rows", "hits"),
    [
        ("a < 5", [{0: 4}, {0: 5}, {}], {("<", "true"): 1, ("<", "false"): 1}),
        # Of two, one that fails decides where the other holds; where neither holds, none does.
        ("a < 5 AND b = 1", [{0: 4, 1: 2}, {0: 9, 1: 1}, {0: 9, 1: 2}],
         {("=", "false"): 1, ("<", "false"): 1}),
        ("a > 5 OR b IN (1, 2)", [{0: 6, 1: 3}, {0: 6, 1: 1}], {(">", "true"): 1}),
        ("a NOT IN (1, 2)", [{0: 1}], {("NOT IN", "false"): 1}),
        ("a IS NOT NULL", [{0: 1}, {}], {("IS NOT NULL", "true"): 1, ("IS NOT NULL", "false"): 1}),
        ("NOT (a BETWEEN 1 AND 2)", [{0: 1}], {("BETWEEN", "true"): 1}),
        ("a <=> b", [{}, {0: 1}], {("attribute <=> attribute", v): 1 for v in ("true", "false")}),
    ],
)  # fmt: skip
def test_operator_counts_where_it_decides(
    text: str, rows: list[dict[int, int]], hits: dict[tuple[str, str], int]
) -> None:
    assert operator_hits(text, *rows) == hits


def cycles(*seen: tuple[Item | None, bool, bool]) -> dict[Bin, int]:
    """Bins of cycles in which an item went in, one had to wait, and a match was not taken."""
    coverage = Coverage(CYCLE_BINS)
    watch = CycleCoverage(coverage, latency_cycles=2)
    for item, is_blocked, is_stalled in seen:
        watch.cycle(
            item, is_blocked=is_blocked, is_done=False, is_offered=is_stalled, is_taken=False
        )
    return {bin: hits for bin, hits in coverage.hits.items() if hits}


def test_stalls_are_told_apart() -> None:
    event = Item(1)
    assert cycles((event, False, False)) == {}
    hits = cycles((None, False, True), (event, False, True), (None, True, True))
    assert {bin.row: count for bin, count in hits.items()} == {
        "nothing is sent": 1,
        "a match is not taken": 3,
        "both at once": 1,
        "the input has to wait": 1,
        DEEP.row: 1,
    }
    assert {bin.group for bin in hits} == {STALLS}


def test_words_are_counted_by_what_is_around_them() -> None:
    event, word = Item(1), Item(2, ("valid bits on",))
    off = Item(3, ("valid bits off",))
    hits = cycles(*((item, False, item is off) for item in (event, word, event, off, word, event)))
    words = {bin[1:]: count for bin, count in hits.items() if bin.group == WORDS}
    assert words == {
        ("valid bits on", "taken"): 2,
        ("valid bits on", "in flow"): 1,
        ("valid bits on", "next word"): 1,
        ("valid bits off", "taken"): 1,
        ("valid bits off", "stalled"): 1,
    }


def test_report_fails_without_a_run_and_with_a_situation_that_none_saw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = Coverage((*EVENT_BINS, *CYCLE_BINS))
    for bin in full.hits:
        full.hit(bin)
    for name in report.EXPERIMENTS[1:]:
        full.write(tmp_path / f"{name}.json")
    assert report.main(tmp_path) == 1
    assert f"no coverage: {report.EXPERIMENTS[0]} failed" in capsys.readouterr().err
    Coverage([Bin(OPERATORS, "XOR")]).write(tmp_path / f"{report.EXPERIMENTS[0]}.json")
    assert report.main(tmp_path) == 1
    assert capsys.readouterr().err == f"never seen: {OPERATORS}, XOR, hits\n"
    full.write(tmp_path / f"{report.EXPERIMENTS[0]}.json")
    assert report.main(tmp_path) == 0
    count = len(full.hits)
    assert f"\n{count} of {count} situations seen\n" in capsys.readouterr().out
    assert Coverage.read(tmp_path / report.MERGED_FILE).hits.keys() == full.hits.keys()
