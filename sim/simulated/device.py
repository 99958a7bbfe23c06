"""The simulated device: the real circuit, cycle by cycle, behind the Device protocol."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.build import Build, build
from penstock.gen.errors import DeviceError
from penstock.gen.language.script import parse_subscription
from penstock.gen.normal import Normal, holds, make_event
from penstock.gen.normalise import normalise
from penstock.gen.plan import CHUNK_BITS
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.decode import Decoder, Integers
from penstock.host.encode import Encoder, Words
from penstock.host.events import rows_of
from penstock.sim.simulated.compile import compiled

IDLE_LIMIT_CYCLES = 100_000
ROOM_MATCHES = 1 << 16
CIRCUIT_COUNTERS = ("events", "chunks", "stalls")
MATCH = np.dtype([("sequence", np.uint32), ("chunk", np.uint32), ("bits", np.uint32)])


class SimulatedDevice:
    """Matches on the compiled circuit; whole batches go in and come back in one call each."""

    def __init__(
        self, queries: QuerySet, progress: Progress | None = None, *, waves: Path | None = None
    ) -> None:
        if waves:
            _check_writable(waves)
        built = build(queries, progress)
        self._schema = queries.schema
        self._encoder = Encoder(built.manifest, built.event_bits)
        self._decoder = Decoder(built.manifest)
        self._residuals = _residuals(built)
        self._circuit = _Circuit(built, self._encoder.words, waves, progress)
        self._answered = 0

    def match(self, events: pa.RecordBatch) -> pa.Array:
        words = self._encoder.encode(events)
        found = self._circuit.run(words, self._answered + len(words))
        sequence = (found["sequence"].astype(np.int64) - self._answered) % 2**32
        self._answered = (self._answered + len(words)) % 2**32
        numbers, places = self._decoder.pairs(
            sequence, found["chunk"].astype(np.int64), np.ascontiguousarray(found["bits"])
        )
        if self._residuals:
            kept = self._exactly(events, numbers, places)
            numbers, places = numbers[kept], places[kept]
        return self._decoder.lists(numbers, places, events.num_rows)

    def top_k(self, events: pa.RecordBatch, k: int, weights: Mapping[int, int]) -> pa.Array:
        raise DeviceError("the simulated engine does not rank yet; use engine='reference'")

    def counters(self) -> Mapping[str, int]:
        return self._circuit.counters()

    def close(self) -> None:
        self._circuit.close()

    def _exactly(
        self, events: pa.RecordBatch, numbers: Integers, places: Integers
    ) -> npt.NDArray[np.bool_]:
        """Which of the matches the circuit let through hold under the whole condition."""
        kept = np.ones(len(places), dtype=bool)
        doubtful = np.flatnonzero(np.isin(places, list(self._residuals)))
        if len(doubtful):
            rows = rows_of(events, self._schema)
            for index in doubtful.tolist():
                event = make_event(rows[numbers[index]], self._schema.attributes)
                kept[index] = holds(self._residuals[int(places[index])], event)
        return kept


def _residuals(built: Build) -> dict[int, Normal]:
    """The conditions that the host finishes, by the place of the id among all ids."""
    manifest = built.manifest
    places = {id: place for place, id in enumerate(sorted(manifest.ids))}
    return {
        places[id]: normalise(parse_subscription(id, text, manifest.schema, id).condition)
        for id, text in manifest.residuals.items()
    }


def _check_writable(waves: Path) -> None:
    """Refuse, before the work of compiling, a file that could not be written."""
    try:
        with waves.open("ab"):
            pass
    except OSError as error:
        raise DeviceError(f"{waves} cannot be written: {error.strerror}") from None


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


class _Circuit:
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
