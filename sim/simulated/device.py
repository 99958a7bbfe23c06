"""The simulated device: the real circuit, cycle by cycle, behind the Device protocol."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.gen.build import build
from penstock.gen.errors import DeviceError
from penstock.gen.expr import Subscription
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.config_words import Update, pack_config
from penstock.host.encode import Encoder
from penstock.host.subscribers import Subscribers
from penstock.sim.simulated.circuit import Circuit
from penstock.sim.simulated.no_circuit import NoCircuit


class SimulatedDevice:
    """Matches on the compiled circuit; whole batches go in and come back in one call each.

    With ``spare``, so many subscriptions can be added between batches.
    """

    batch_events = 1 << 16

    def __init__(
        self,
        queries: QuerySet,
        progress: Progress | None = None,
        *,
        waves: Path | None = None,
        spare: int = 0,
        encode: str = "host",
    ) -> None:
        if waves:
            _check_writable(waves)
        built = build(queries, progress, spare=spare, encode=encode)
        self._encoder = Encoder(built.manifest, built.event_bits)
        self._event_bits = built.event_bits
        self._subscribers = Subscribers(built.manifest)
        self._circuit: Circuit | NoCircuit
        if built.circuit:
            self._circuit = Circuit(built, self._encoder.words, waves, progress)
        elif waves:
            raise DeviceError("nothing of the set is on the device: no signals to record")
        else:
            self._circuit = NoCircuit()

    def match(self, events: pa.RecordBatch) -> pa.Array:
        words = self._encoder.encode(events, self._subscribers.table_codes(events))
        found = self._circuit.match(words)
        return self._subscribers.answers(
            events,
            np.ascontiguousarray(found["event"]),
            found["chunk"].astype(np.int64),
            np.ascontiguousarray(found["bits"]),
        )

    def add(self, subscription: Subscription) -> None:
        """Match a subscription too, from the next event on; DeviceError if there is no room."""
        self._send(self._subscribers.add(subscription))

    def remove(self, id: str) -> None:
        """Match a subscription no more; KeyError if there is none of this id."""
        self._send(self._subscribers.remove(id))

    def top_k(self, events: pa.RecordBatch, k: int, weights: Mapping[int, int]) -> pa.Array:
        raise DeviceError("the simulated engine does not rank yet; use engine='reference'")

    def counters(self) -> Mapping[str, int]:
        return self._circuit.counters()

    def close(self) -> None:
        self._circuit.close()

    def _send(self, update: Update) -> None:
        """Put the words of a change behind the events so far; they are answered by nothing."""
        self._circuit.configure(pack_config(update.words, self._event_bits))


def _check_writable(waves: Path) -> None:
    """Refuse, before the work of compiling, a file that could not be written."""
    try:
        with waves.open("ab"):
            pass
    except OSError as error:
        raise DeviceError(f"{waves} cannot be written: {error.strerror}") from None
