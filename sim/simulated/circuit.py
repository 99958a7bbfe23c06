"""The compiled circuit, a whole batch per call."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.gen.build import Build
from penstock.gen.errors import DeviceError
from penstock.gen.plan import CHUNK_BITS
from penstock.gen.queryset import Progress
from penstock.host.encode import Words
from penstock.sim.simulated.compile import compiled

IDLE_LIMIT_CYCLES = 100_000
ROOM_MATCHES = 1 << 16
CIRCUIT_COUNTERS = ("events", "chunks", "stalls")
MATCH = np.dtype([("sequence", np.uint32), ("chunk", np.uint32), ("bits", np.uint32)])


class Circuit:
    """The compiled circuit, through ctypes."""

    def __init__(
        self, built: Build, words: int, waves: Path | None, progress: Progress | None
    ) -> None:
        defines = {
            "EVENT_WORDS": words,
            "CHUNK_BITS": CHUNK_BITS,
            "INDEX_BITS": max(1, (built.plan.chunk_count - 1).bit_length()),
            "SEQUENCE_BITS": 32,
            "IDLE_LIMIT": IDLE_LIMIT_CYCLES,
        }
        digest = built.manifest.digest
        path = compiled(built.circuit, digest, defines, waves=waves is not None, progress=progress)
        self._library = library = _library(path, digest)
        library.penstock_open.restype = ctypes.c_void_p
        library.penstock_cycles.restype = ctypes.c_uint64
        library.penstock_run.restype = ctypes.c_int64
        for name in CIRCUIT_COUNTERS:
            getattr(library, f"penstock_{name}").restype = ctypes.c_uint32
        vcd = str(waves).encode() if waves else None
        self._device: ctypes.c_void_p | None = ctypes.c_void_p(library.penstock_open(vcd))

    def counters(self) -> dict[str, int]:
        """Cycles in 64 bits; what the circuit counts itself wraps at 32."""
        device = self._opened()
        return {
            name: int(getattr(self._library, f"penstock_{name}")(device))
            for name in ("cycles", *CIRCUIT_COUNTERS)
        }

    def run(self, words: Words, events: int) -> npt.NDArray[np.void]:
        """All matches of some events; ``events`` is how many are answered when they are done."""
        sent = ctypes.c_int64(0)
        parts = []
        while True:
            room = np.empty(ROOM_MATCHES, dtype=MATCH)
            found = self._library.penstock_run(
                self._opened(),
                words.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_int64(len(words)),
                ctypes.byref(sent),
                ctypes.c_uint32(events % 2**32),
                room.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_int64(len(room)),
            )
            if found < 0:
                raise DeviceError(f"the circuit stood still for {IDLE_LIMIT_CYCLES:,} cycles")
            parts.append(room[:found])
            if found < len(room):
                return np.concatenate(parts)

    def _opened(self) -> ctypes.c_void_p:
        if self._device is None:
            raise DeviceError("this device is closed")
        return self._device

    def close(self) -> None:
        if self._device is not None:
            self._library.penstock_close(self._device)
            self._device = None


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
