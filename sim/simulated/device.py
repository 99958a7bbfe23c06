"""The simulated device: the real circuit, cycle by cycle, behind the Device protocol."""

from __future__ import annotations

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
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.decode import Decoder, Integers
from penstock.host.encode import Encoder
from penstock.host.events import rows_of
from penstock.sim.simulated.circuit import Circuit


class SimulatedDevice:
    """Matches on the compiled circuit; whole batches go in and come back in one call each."""

    def __init__(
        self,
        queries: QuerySet,
        progress: Progress | None = None,
        *,
        waves: Path | None = None,
        encode: str = "host",
    ) -> None:
        if waves:
            _check_writable(waves)
        built = build(queries, progress, encode=encode)
        self._schema = queries.schema
        self._encoder = Encoder(built.manifest, built.event_bits)
        self._decoder = Decoder(built.manifest)
        self._residuals = _residuals(built)
        self._circuit = Circuit(built, self._encoder.words, waves, progress)
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
