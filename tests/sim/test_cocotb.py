"""The whole circuit in cocotb, with idle and backpressure: it answers as the BE-Tree does.

What is claimed stands in `penstock.sim.cocotb_bench.claims`, and runs inside the simulator.
"""

from pathlib import Path

import pyarrow as pa
import pytest

import penstock
from penstock import DeviceError
from penstock.gen.build import build
from penstock.sim.cocotb_bench import run as run_module
from penstock.sim.cocotb_bench.device_model import DeviceModel
from penstock.sim.cocotb_bench.experiments import built_with_tiles, coded_events, experiment_of
from penstock.sim.cocotb_bench.report import EXPERIMENTS
from penstock.sim.cocotb_bench.run import Experiment, run
from penstock.sim.cocotb_bench.stall_patterns import PATTERNS
from penstock.sim.cocotb_bench.stimulus import read_stimulus
from penstock.sim.cocotb_bench.subscribers_experiment import subscribers_experiment
from penstock.sim.cocotb_bench.table_experiment import table_experiment
from penstock.sim.cocotb_bench.workloads import NAMES, workload

VERIFICATION = Path(__file__).parents[2] / "build" / "verification"
EVENTS = 600


def experiment(name: str, events: int, patterns: tuple[str, ...]) -> Experiment:
    if name == "table":
        return table_experiment(events, patterns)
    if name == "subscribers":
        return subscribers_experiment(events, patterns)
    return experiment_of(workload(name, events), patterns)


def test_circuit_answers_as_the_tree_under_stalls(tmp_path: Path) -> None:
    given = experiment("crowds", 150, ("none", "both"))
    coverage = run(given, tmp_path / "crowds")
    assert read_stimulus(tmp_path / "crowds" / "stimulus.json") == given.stimulus
    assert sum(coverage.hits.values()) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_circuit_answers_as_its_model_under_every_pattern_of_stalls(name: str) -> None:
    """Leaves its coverage for `penstock.sim.cocotb_bench.report`."""
    run(experiment(name, EVENTS, tuple(PATTERNS)), VERIFICATION / name)


def test_wrong_answer_in_the_model_fails_the_run_with_its_claim(tmp_path: Path) -> None:
    given = experiment("crowds", 150, ("none", "both"))
    stream = given.stimulus.streams[0]
    wrong = [*stream.answers]
    wrong[40] = ((0, 1 << 31), (1, 1))
    object.__setattr__(stream, "answers", tuple(wrong))
    with pytest.raises(AssertionError) as failure:
        run(given, tmp_path / "crowds")
    lines = str(failure.value).splitlines()
    assert [line.partition(":")[0].rpartition("/")[0] for line in lines if ": " in line] == [
        "every_event_is_answered_as_the_model_answers/stream=events"
    ] * 2
    assert "Match(sequence=40, chunk=0, bits=2147483648, is_last=False)" in lines[0]
    assert not (tmp_path / "crowds.json").exists()


def test_results_name_the_tests_that_failed_and_why(tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    results.write_text(
        '<testsuites><testsuite><testcase name="good"/>'
        '<testcase name="bad"><failure type="AssertionError" message="an empty chunk&#10;not 0"/>'
        '</testcase><testcase name="still"><failure type="SimTimeoutError" message=""/></testcase>'
        "</testsuite></testsuites>"
    )
    with pytest.raises(AssertionError) as failure:
        run_module._check_results(results)
    assert str(failure.value).splitlines() == [
        "bad: an empty chunk",
        "still: the circuit stood still, or never ended",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_what_the_host_makes_of_the_models_answers_is_exact(name: str) -> None:
    given = workload(name, 100)
    built, _ = built_with_tiles(given)
    model = DeviceModel(given.queries, built)
    with penstock.open(given.queries, engine="reference") as matcher:
        wanted = matcher.match(pa.table(given.events))["matches"].to_pylist()
    assert [model.exact(event.event) for event in coded_events(given, built)] == wanted


def test_circuit_of_the_language_is_the_one_that_build_makes() -> None:
    given = workload("language", 1)
    assert built_with_tiles(given)[0].circuit == build(given.queries).circuit


def test_verilog_that_does_not_compile_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    with pytest.raises(DeviceError, match=r"Verilator failed on the circuit: [\s\S]*syntax error"):
        run_module._compiled("no Verilog")
    assert not list(tmp_path.rglob("top"))
