"""What every bench needs: repeated timings, the machine they ran on, results as JSON."""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
FEWEST = 32
"""Events in a sample."""


def seconds(work: Callable[[], object], *, repeats: int = 5, warm_up: int = 1) -> list[float]:
    """Wall-clock seconds of each repeat, after runs that are not counted."""
    for _ in range(warm_up):
        work()
    samples = []
    for _ in range(repeats):
        gc.collect()
        started = time.perf_counter()
        work()
        samples.append(time.perf_counter() - started)
    return samples


def in_turn(works: Sequence[Callable[[], object]], *, repeats: int = 5) -> list[list[float]]:
    """Seconds of processor time of each repeat of each work, one of each in turn.

    All threads of this process count, and nothing else that the machine does: on a core that is
    shared, time on the wall would be that of the neighbours. What cannot be kept out, such as
    their use of the caches, meets all works alike. Their callers have warmed them up.
    """
    rounds = [[_processor_seconds(work) for work in works] for _ in range(repeats)]
    return [list(samples) for samples in zip(*rounds, strict=True)]


def _processor_seconds(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def enough(work: Callable[[int], object], most: int, *, seconds_wanted: float = 0.5) -> int:
    """How many events, of ``most`` that there are, take ``work`` about so long; `FEWEST` at least,

    so that the times of few do not stand for all. Processor time, as `in_turn` takes it.
    """
    count = min(most, FEWEST)
    work(count)  # the first time may compile
    while True:
        taken = _processor_seconds(partial(work, count))
        if count == most or taken > seconds_wanted / 5:
            return min(most, max(FEWEST, round(count * seconds_wanted / taken)))
        count = min(most, 4 * count)


def one_core() -> None:
    """Hold this process to one core, where the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)


def peak_bytes() -> int:
    """The most memory that this process has had at once."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:  # no Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Not ru_maxrss here: a process inherits what the one that started it had.
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak) * 1024


@dataclass(frozen=True)
class Figure:
    """One measured answer: the median of its samples, beside its target if it has one."""

    what: str
    samples: list[float]
    unit: str = "s"
    target: float | None = None
    at_most: bool = True
    """Whether the target is a ceiling; else it is a floor."""
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> float:
        return median(self.samples)

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None where there is none."""
        if self.target is None:
            return None
        return self.result <= self.target if self.at_most else self.result >= self.target

    def line(self) -> str:
        """``what  result  target  met/missed``, in columns."""
        result = f"{self.result:.4g} {self.unit}"
        if self.target is None:
            return f"{self.what:<50}  {result:>22}"
        target = f"{'<=' if self.at_most else '>='} {self.target:,g} {self.unit}"
        return f"{self.what:<50}  {result:>22}  {target:>24}  {'met' if self.met else 'missed'}"


def report(name: str, question: str, figures: list[Figure]) -> Path:
    """Print a line per figure and write ``results/<name>.json``."""
    for figure in figures:
        print(figure.line())
    return _write(name, question, {"machine": machine()}, [_entry(figure) for figure in figures])


def merge(name: str, question: str, figures: list[Figure], *, key: tuple[str, ...]) -> Path:
    """Print a line per figure and add them to ``results/<name>.json``.

    They take the place of the figures there whose parameters have the same values for ``key``.
    Each keeps the machine it was measured on: a long bench is run in parts.
    """
    for figure in figures:
        print(figure.line(), flush=True)
    new = [{**_entry(figure), "machine": machine()} for figure in figures]
    replaced = {_key(entry, key) for entry in new}
    kept = [entry for entry in measured(name) if _key(entry, key) not in replaced]
    return _write(name, question, {}, kept + new)


def measured(name: str) -> list[dict[str, Any]]:
    """The figures in ``results/<name>.json``; none where there is no such file."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return []
    figures: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return figures


def _entry(figure: Figure) -> dict[str, Any]:
    return {**asdict(figure), "result": figure.result, "met": figure.met}


def _key(entry: dict[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(entry["parameters"].get(name) for name in names)


def _write(name: str, question: str, facts: dict[str, Any], entries: list[dict[str, Any]]) -> Path:
    command = f"python benches/bench_{name}.py"
    found = {"question": question, "command": command, **facts, "figures": entries}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    written = path.with_suffix(".new")  # an interrupt must not leave half a file
    written.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    written.replace(path)
    return path


def machine() -> dict[str, Any]:
    """The facts without which a figure means nothing."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _commit() -> str:
    """The commit that is measured, with ``+`` where tracked files differ from it."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=True)
    return done.stdout.strip()
