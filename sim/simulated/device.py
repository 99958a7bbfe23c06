"""The simulated device: the real circuit, cycle by cycle, behind the Device protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.gen.build import build
from penstock.gen.errors import DeviceError
from penstock.gen.expr import Subscription
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.config_words import ConfigWord, pack_config
from penstock.host.encode import Encoder
from penstock.host.ranking import RankingSwitch
from penstock.host.subscribers import Subscribers
from penstock.sim.simulated.circuit import Circuit, Found
from penstock.sim.simulated.no_circuit import NoCircuit


class SimulatedDevice:
    """Matches on the compiled circuit; whole batches go in and come back in one call each.

    With ``spare``, so many subscriptions can be added between batches. With ``k`` the circuit can
    rank: it sends the k best of each event in place of all that it can score.
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
        k: int | None = None,
    ) -> None:
        if waves:
            _check_writable(waves)
        built = build(queries, progress, spare=spare, encode=encode, k=k)
        self._encoder = Encoder(built.manifest, built.event_bits)
        self._event_bits = built.event_bits
        self._subscribers = Subscribers(built.manifest)
        ranking = built.manifest.ranking
        self._ranking = RankingSwitch(ranking) if ranking else None
        self._circuit: Circuit | NoCircuit
        if built.circuit:
            self._circuit = Circuit(built, self._encoder.words, waves, progress)
        elif waves:
            raise DeviceError("nothing of the set is on the device: no signals to record")
        else:
            self._circuit = NoCircuit()

    def match(self, events: pa.RecordBatch) -> pa.Array:
        if self._ranking:
            self._send(self._ranking.turn_off())
        found = self._found(events).matches
        return self._subscribers.answers(
            events,
            np.ascontiguousarray(found["event"]),
            found["chunk"].astype(np.int64),
            np.ascontiguousarray(found["bits"]),
        )

    def add(self, subscription: Subscription) -> None:
        """Match a subscription too, from the next event on; DeviceError if there is no room."""
        self._send(self._subscribers.add(subscription).words)

    def remove(self, id: str) -> None:
        """Match a subscription no more; KeyError if there is none of this id."""
        self._send(self._subscribers.remove(id).words)

    def top_k(self, events: pa.RecordBatch, k: int, weights: Mapping[int, int]) -> pa.Array:
        if self._ranking:
            is_able = self._ranking.can_rank(k, weights)
            # What the circuit cannot rank itself it lets through, for the host to rank.
            self._send(self._ranking.turn_on(weights) if is_able else self._ranking.turn_off())
        found = self._found(events)
        return self._subscribers.best(events, found.matches, found.best, k, weights)

    def counters(self) -> Mapping[str, int]:
        return self._circuit.counters()

    def close(self) -> None:
        self._circuit.close()

    def _found(self, events: pa.RecordBatch) -> Found:
        codes = self._subscribers.table_codes(events)
        return self._circuit.match(self._encoder.encode(events, codes))

    def _send(self, words: Sequence[ConfigWord]) -> None:
        """Put the words of a change behind the events so far; they are answered by nothing."""
        self._circuit.configure(pack_config(words, self._event_bits))


def _check_writable(waves: Path) -> None:
    """Refuse, before the work of compiling, a file that could not be written."""
    try:
        with waves.open("ab"):
            pass
    except OSError as error:
        raise DeviceError(f"{waves} cannot be written: {error.strerror}") from None
