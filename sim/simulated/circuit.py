"""The compiled circuit, a whole batch per call."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.gen.build import Build
from penstock.gen.errors import DeviceError
from penstock.gen.lower.ranking import score_format_of
from penstock.gen.plan import CHUNK_BITS, Plan
from penstock.gen.queryset import Progress
from penstock.host.encode import Words
from penstock.sim.simulated.compile import compiled
from penstock.sim.simulated.lanes import LANES

IDLE_LIMIT_CYCLES = 100_000
ROOM_MATCHES = 1 << 16
SPREAD_EVENTS = 64
"""From so many events for each lane on, a batch is spread over all lanes."""
CIRCUIT_COUNTERS = ("events", "chunks", "stalls")
MATCH = np.dtype([("event", np.int64), ("chunk", np.uint32), ("bits", np.uint32)])
BEST = np.dtype(
    [("event", np.int64), ("score", np.int64), ("rank", np.uint32), ("unused", np.uint32)]
)
WORK = np.dtype([(name, np.int64) for name in ("row", "end", "first", "events")])


class Found(NamedTuple):
    """What a circuit found of some events."""

    matches: npt.NDArray[np.void] = np.empty(0, dtype=MATCH)
    best: npt.NDArray[np.void] = np.empty(0, dtype=BEST)
    """The best of each event in order, as far as the circuit ranks."""


class Circuit:
    """The compiled circuit, or 64 copies of it in one model, through ctypes."""

    def __init__(
        self, built: Build, words: int, waves: Path | None, progress: Progress | None
    ) -> None:
        # Waves show one circuit as it is. Memories cannot be widened to lanes.
        self._lanes = 1 if waves or built.has_memories else LANES
        defines = {
            "LANES": self._lanes,
            "EVENT_WORDS": words,
            "CHUNK_BITS": CHUNK_BITS,
            "INDEX_BITS": max(1, (built.plan.chunk_count - 1).bit_length()),
            "SEQUENCE_BITS": 32,
            "IDLE_LIMIT": IDLE_LIMIT_CYCLES,
            **_ranking_defines(built.plan),
        }
        digest = built.manifest.digest
        path = compiled(built.circuit, digest, defines, waves=waves is not None, progress=progress)
        self._library = library = _library(path, digest)
        library.penstock_open.restype = ctypes.c_void_p
        library.penstock_cycles.restype = ctypes.c_uint64
        library.penstock_counter.restype = ctypes.c_uint64
        library.penstock_run.restype = ctypes.c_int64
        vcd = str(waves).encode() if waves else None
        self._device: ctypes.c_void_p | None = ctypes.c_void_p(library.penstock_open(vcd))

    def counters(self) -> dict[str, int]:
        """Sums over all copies; what each counts itself wraps at 32 bits."""
        device = self._opened()
        counted = {"cycles": int(self._library.penstock_cycles(device))}
        for number, name in enumerate(CIRCUIT_COUNTERS):
            counted[name] = int(self._library.penstock_counter(device, number))
        return counted

    def match(self, events: Words) -> Found:
        """What is found of some events, by their row; matches of an event in order of chunks."""
        work = np.zeros(self._lanes, dtype=WORK)
        is_spread = len(events) >= SPREAD_EVENTS * self._lanes
        ends = np.linspace(0, len(events), self._lanes + 1, dtype=np.int64)
        work["row"][0], work["end"][0] = 0, len(events)
        if is_spread:
            work["row"], work["end"] = ends[:-1], ends[1:]
        work["first"], work["events"] = work["row"], work["end"] - work["row"]
        return self._run(events, work)

    def configure(self, words: Words) -> None:
        """Send configuration words to every copy, after all events before them."""
        work = np.zeros(self._lanes, dtype=WORK)
        work["end"] = len(words)
        self._run(words, work)

    def _run(self, rows: Words, work: npt.NDArray[np.void]) -> Found:
        parts = [Found()]
        while (work["row"] < work["end"]).any() or work["events"].any():
            room = np.empty(ROOM_MATCHES + self._lanes, dtype=MATCH)
            best, ranked = np.empty(len(room), dtype=BEST), ctypes.c_int64()
            found = self._library.penstock_run(
                self._opened(),
                rows.ctypes.data_as(ctypes.c_void_p),
                work.ctypes.data_as(ctypes.c_void_p),
                room.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_int64(len(room)),
                best.ctypes.data_as(ctypes.c_void_p),
                ctypes.byref(ranked),
            )
            if found < 0:
                raise DeviceError(f"the circuit stood still for {IDLE_LIMIT_CYCLES:,} cycles")
            parts.append(Found(room[:found], best[: ranked.value]))
        return Found(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _opened(self) -> ctypes.c_void_p:
        if self._device is None:
            raise DeviceError("this device is closed")
        return self._device

    def close(self) -> None:
        if self._device is not None:
            self._library.penstock_close(self._device)
            self._device = None


def _ranking_defines(plan: Plan) -> dict[str, int]:
    """The widths of what a ranking circuit sends."""
    found = score_format_of(plan)
    if found is None:
        return {"RANKS": 0}
    return {"RANKS": 1, "RANK_BITS": found.rank_bits, "SCORE_BITS": found.score_bits}


def _library(path: Path, digest: str) -> ctypes.CDLL:
    """The compiled circuit of a manifest, and no other."""
    try:
        library = ctypes.CDLL(str(path))
        library.penstock_digest.restype = ctypes.c_char_p
        found = library.penstock_digest().decode()
    except (OSError, AttributeError) as error:
        raise DeviceError(f"{path} is not a compiled circuit; delete it ({error})") from None
    if found != digest:
        raise DeviceError(f"{path} is not the circuit of this manifest; delete it")
    return library
