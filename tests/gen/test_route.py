"""Place and route: the clock and the cells that come of it, and each way in which it can stop.

Most of it runs a stand-in for nextpnr, a shell script that says what nextpnr would.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import DeviceError, QuerySet, Schema
from penstock.constraints.ecp5 import Part, part_named
from penstock.gen.build import build
from penstock.gen.route import placer_for, route
from penstock.gen.synthesis import Netlist, synthesise

NETLIST = Netlist("{}", {"LUT4": 10, "CCU2C": 4, "TRELLIS_FF": 20}, seconds=1.5)
PART = part_named("LFE5U-25F")
REPORT = {
    "fmax": {"clk": {"achieved": 123.5, "constraint": 150}},
    "utilization": {
        "TRELLIS_COMB": {"used": 18, "available": 24288},
        "TRELLIS_FF": {"used": 20, "available": 24288},
        "EHXPLLL": {"used": 0, "available": 2},
    },
}
ROUTING = """echo "Info: Placed 0 cells based on constraints."
echo "Info: Routing 5670 arcs."
echo "Info:       1000 |      113        886 |  113   886 |      4805|       0.32       0.32|"
"""
DONE = f"echo '{json.dumps(REPORT)}' > report.json\n"


@pytest.fixture
def nextpnr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Put a script in the place of nextpnr."""

    def install(script: str) -> Path:
        path = tmp_path / "nextpnr"
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)
        monkeypatch.setenv("NEXTPNR_ECP5", str(path))
        return path

    return install


def test_result_has_the_clock_and_the_cells(nextpnr: Callable[[str], Path]) -> None:
    nextpnr(f'echo "$@" >&2; {ROUTING}{DONE}')
    routed = route(NETLIST, PART, seed=7)
    assert routed.is_routed
    assert (routed.part, routed.router, routed.seed) == ("LFE5U-25F", "router1", 7)
    assert (routed.clock_mhz, routed.stopped) == (123.5, "")
    assert routed.used == {"LUT4": (18, 24288), "flip-flops": (20, 24288)}
    assert routed.synthesis_seconds == 1.5
    assert routed.place_seconds > 0 and routed.route_seconds > 0


def test_command_has_the_part_the_seed_and_the_router(
    nextpnr: Callable[[str], Path], tmp_path: Path
) -> None:
    nextpnr(f'echo "$@" > {tmp_path}/words; cat netlist.json > {tmp_path}/netlist; {DONE}')
    route(NETLIST, PART, seed=7, router="router2", target_mhz=99.5)
    assert (tmp_path / "words").read_text().split() == [
        *("--25k", "--package", "CABGA381", "--speed", "6"),
        *("--json", "netlist.json", "--top", "top", "--report", "report.json"),
        *("--placer", "heap", "--router", "router2", "--seed", "7"),
        *("--freq", "99.5", "--out-of-context", "--timing-allow-fail"),
    ]
    assert (tmp_path / "netlist").read_text() == NETLIST.text


def test_progress_tells_the_arcs_that_are_routed(nextpnr: Callable[[str], Path]) -> None:
    nextpnr(ROUTING + DONE)
    seen: list[tuple[str, int, int]] = []
    route(NETLIST, PART, progress=lambda *step: seen.append(step))
    assert seen == [("placing", 0, 0), ("routing", 0, 5670), ("routing", 865, 5670)]


def test_time_limit_ends_nextpnr_and_all_that_it_started(
    nextpnr: Callable[[str], Path], tmp_path: Path
) -> None:
    nextpnr(f"{ROUTING} sleep 60 & echo $! > {tmp_path}/child; wait")
    started = time.monotonic()
    routed = route(NETLIST, PART, limit_seconds=1)
    assert time.monotonic() - started < 50, "it waited for nextpnr"
    assert not routed.is_routed and routed.used == {}
    assert routed.stopped == "routing exceeded 1 s, with 4,805 of 5,670 arcs left"
    with pytest.raises(ProcessLookupError):
        _wait_until_gone(int((tmp_path / "child").read_text()))


def _wait_until_gone(process: int) -> None:
    """ProcessLookupError once it has ended; it may take the system a moment to bury it."""
    for _ in range(100):
        os.kill(process, 0)
        if Path(f"/proc/{process}/stat").read_text().split()[2] == "Z":
            raise ProcessLookupError
        time.sleep(0.05)


def test_time_limit_while_placing_tells_so(nextpnr: Callable[[str], Path]) -> None:
    nextpnr("echo Info: Packing; sleep 60")
    routed = route(NETLIST, PART, limit_seconds=0.5)
    assert routed.stopped == "placing exceeded 0.5 s"
    assert routed.place_seconds >= 0.5 and routed.route_seconds == 0


def test_interrupt_ends_nextpnr(nextpnr: Callable[[str], Path], tmp_path: Path) -> None:
    nextpnr(f"echo $$ > {tmp_path}/own; {ROUTING} exec sleep 60")

    def interrupt(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        route(NETLIST, PART, progress=interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "own").read_text()), 0)


def test_failure_of_routing_is_a_result_that_says_why(nextpnr: Callable[[str], Path]) -> None:
    nextpnr(f"{ROUTING} echo 'ERROR: Routing design failed.'; echo '0 warnings, 1 error'; exit 255")
    routed = route(NETLIST, PART)
    assert (routed.clock_mhz, routed.stopped) == (None, "nextpnr gave up: Routing design failed.")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'ERROR: Failed to open netlist.json'; echo '0 warnings, 1 error'; exit 1",
         "failed: Failed to open netlist.json"),
        ("echo 'wasm trap: out of memory' >&2; exit 134", "failed: wasm trap: out of memory"),
    ],
)  # fmt: skip
def test_nextpnr_that_does_not_begin_is_an_error(
    nextpnr: Callable[[str], Path], script: str, said: str
) -> None:
    path = nextpnr(script)
    with pytest.raises(DeviceError) as caught:
        route(NETLIST, PART)
    assert str(caught.value) == f"nextpnr ({path}) {said}"


def test_nextpnr_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEXTPNR_ECP5", "/nonexistent/nextpnr")
    with pytest.raises(DeviceError) as caught:
        route(NETLIST, PART)
    said = "nextpnr (/nonexistent/nextpnr) cannot be run: No such file or directory"
    assert str(caught.value) == said


def test_circuit_that_does_not_fit_is_refused_before_placing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEXTPNR_ECP5", "/nonexistent/nextpnr")
    part = Part("TINY", ("--25k",), luts=17, flip_flops=20, block_rams=0)
    with pytest.raises(DeviceError, match="the circuit needs 18 LUT4; TINY has 17"):
        route(NETLIST, part)


@pytest.mark.parametrize(
    ("cells", "placer"),
    [
        ({}, "heap"),
        ({"LUT4": 9_000, "TRELLIS_FF": 20_999}, "heap"),
        ({"LUT4": 9_000, "TRELLIS_FF": 21_000}, "static"),
    ],
)
def test_large_circuits_have_another_placer(cells: dict[str, int], placer: str) -> None:
    assert placer_for(Netlist("{}", cells, seconds=0)) == placer


@pytest.mark.parametrize("seconds", [0, -1.5])
def test_time_limit_must_be_above_zero(seconds: float) -> None:
    with pytest.raises(ValueError, match=f"must be above 0 seconds, not {seconds:g}"):
        route(NETLIST, PART, limit_seconds=seconds)


@pytest.mark.slow
def test_small_circuit_routes_the_same_for_the_same_seed() -> None:
    queries = QuerySet(Schema.of({"n": "INT", "m": "INT"}))
    for bound in range(64):  # fewer are not as slow as the collector's counters
        queries.add(f"q{bound}", f"n > {3 * bound} AND m < {5 * bound}")
    netlist = synthesise(build(queries).circuit)
    first, again, other = (route(netlist, PART, seed=seed) for seed in (1, 1, 2))
    assert first.is_routed and first.clock_mhz > 50
    assert first.used["flip-flops"] == (netlist.cells["TRELLIS_FF"], PART.flip_flops)
    assert (again.clock_mhz, again.used) == (first.clock_mhz, first.used)
    assert other.clock_mhz != first.clock_mhz
