"""The tests that run inside the simulator, on whichever circuit and stimulus they are given."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import cocotb

from penstock.sim.cocotb_bench import claims
from penstock.sim.cocotb_bench.coverage import Coverage
from penstock.sim.cocotb_bench.cycle_coverage import CYCLE_BINS, CycleCoverage
from penstock.sim.cocotb_bench.stall_patterns import LONG_STALL_CYCLES, PATTERNS
from penstock.sim.cocotb_bench.stimulus import (
    CYCLES_FILE,
    FOLDER_VARIABLE,
    STIMULUS_FILE,
    Stream,
    read_stimulus,
)
from penstock.sim.cocotb_bench.stream_agents import CYCLE_NS, Bench

FOLDER = Path(os.environ[FOLDER_VARIABLE])
GIVEN = read_stimulus(FOLDER / STIMULUS_FILE)
STREAMS = {stream.name: stream for stream in GIVEN.streams}
SPARSE = [stream.name for stream in GIVEN.streams if stream.is_sparse]
LIMIT_CYCLES = 10 * LONG_STALL_CYCLES + max(
    8 * (len(stream.items) + len(list(stream.matches()))) for stream in GIVEN.streams
)


def named(values: Iterable[str]) -> list[cocotb.Param]:
    """Values that tests are called after, however long; by itself cocotb would number them."""
    return [cocotb.Param(value, value) for value in values]


async def recorded(dut: Any, stream: Stream, pattern: str) -> claims.Record:
    """Run a stream under a pattern, and add what was seen to the coverage of all runs."""
    path = FOLDER / CYCLES_FILE
    coverage = Coverage.read(path) if path.exists() else Coverage(CYCLE_BINS)
    bench = Bench(dut, GIVEN.layout, CycleCoverage(coverage, GIVEN.layout.latency_cycles))
    await bench.reset()
    sending, taking = PATTERNS[pattern]
    chance = [Random(f"{GIVEN.seed} {stream.name} {pattern} {end}") for end in ("in", "out")]
    record = await bench.run(stream.items, sending(chance[0]), taking(chance[1]))
    claims.everything_was_taken(record, stream)
    coverage.write(path)
    return record


@cocotb.test(timeout_time=LIMIT_CYCLES * CYCLE_NS, timeout_unit="ns")
@cocotb.parametrize(stream=named(STREAMS), pattern=named(GIVEN.patterns))
async def every_event_is_answered_as_the_model_answers(dut: Any, stream: str, pattern: str) -> None:
    record = await recorded(dut, STREAMS[stream], pattern)
    claims.a_match_stays_until_it_is_taken(record)
    claims.no_chunk_is_empty(record)
    claims.events_and_their_chunks_ascend(record)
    claims.last_is_on_the_final_chunk_alone(record)
    claims.matches_are_those_of_the_model(record, STREAMS[stream])
    claims.counters_are_what_was_counted(record, STREAMS[stream])


@cocotb.test(timeout_time=LIMIT_CYCLES * CYCLE_NS, timeout_unit="ns", skip=not SPARSE)
@cocotb.parametrize(stream=named(SPARSE or [""]))
async def without_stalls_an_event_passes_in_every_cycle(dut: Any, stream: str) -> None:
    record = await recorded(dut, STREAMS[stream], "none")
    claims.an_event_passes_in_every_cycle(record, STREAMS[stream], GIVEN.layout)
