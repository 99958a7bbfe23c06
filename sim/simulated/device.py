"""The simulated device: the real circuit, cycle by cycle, behind the Device protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.gen.build import build
from penstock.gen.errors import DeviceError, PenstockError
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.answers import best_of, merged, restricted
from penstock.host.config_words import ConfigWord, pack_config
from penstock.host.device import Device
from penstock.host.encode import Encoder
from penstock.host.events import Batch
from penstock.host.ranking import RankingSwitch
from penstock.host.subscribers import Subscribers
from penstock.sim.simulated.circuit import Circuit, Found
from penstock.sim.simulated.no_circuit import NoCircuit


class SimulatedDevice:
    """Matches on the compiled circuit; whole batches go in and come back in one call each.

    With ``spare``, the circuit has room for about so many subscriptions that are added between
    batches. What it has no room for is answered by ``software``, an empty device. With ``k`` the
    circuit can rank: it sends the k best of each event in place of all that it can score.
    """

    batch_events = 1 << 16

    def __init__(
        self,
        queries: QuerySet,
        progress: Progress | None = None,
        *,
        software: Device,
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
        self._software = software
        self._in_software: set[str] = set()
        ranking = built.manifest.ranking
        self._ranking = RankingSwitch(ranking) if ranking else None
        self._circuit: Circuit | NoCircuit
        if built.circuit:
            self._circuit = Circuit(built, self._encoder.words, waves, progress)
        elif waves:
            raise DeviceError("nothing of the set is on the device: no signals to record")
        else:
            self._circuit = NoCircuit()

    def match(self, events: Batch, only: pa.Array | None = None) -> pa.Array:
        if self._ranking:
            self._send(self._ranking.turn_off())
        wide = events.wide()
        found = self._found(wide).matches
        answers = self._subscribers.answers(
            wide,
            np.ascontiguousarray(found["event"]),
            found["chunk"].astype(np.int64),
            np.ascontiguousarray(found["bits"]),
        )
        if self._in_software:
            answers = merged(answers, self._software.match(events))
        return answers if only is None else restricted(answers, only)

    def add(self, queries: QuerySet) -> None:
        """Into the table as far as there is room, the rest into software."""
        twice = next((s.id for s in queries if self._place(s.id)), None)
        if twice is not None:
            raise ValueError(f"subscription {twice!r} is on the device already")
        placed, rest = [], QuerySet(queries.schema)
        for subscription in queries:
            try:
                self._send(self._subscribers.add(subscription).words)
            except DeviceError:
                rest.insert(subscription)
            else:
                placed.append(subscription.id)
        try:
            self._software.add(rest)
        except PenstockError:
            for id in placed:
                self._send(self._subscribers.remove(id).words)
            raise
        self._in_software |= {subscription.id for subscription in rest}

    def remove(self, ids: Sequence[str]) -> None:
        for id in ids:
            self.where(id)
        in_software = [id for id in ids if id in self._in_software]
        for id in ids:
            if id not in self._in_software:
                self._send(self._subscribers.remove(id).words)
        self._software.remove(in_software)
        self._in_software.difference_update(in_software)

    def where(self, id: str) -> str:
        place = self._place(id)
        if place is None:
            raise KeyError(f"no subscription {id!r} on the device")
        return place

    def top_k(
        self, events: Batch, k: int, weights: Mapping[int, int], only: pa.Array | None = None
    ) -> pa.Array:
        if self._ranking:
            is_able = only is None and self._ranking.can_rank(k, weights)
            # What the circuit cannot rank itself it lets through, for the host to rank.
            self._send(self._ranking.turn_on(weights) if is_able else self._ranking.turn_off())
        wide = events.wide()
        found = self._found(wide)
        best = self._subscribers.best(wide, found.matches, found.best, k, weights, only)
        if self._in_software:
            best = best_of(best, self._software.top_k(events, k, weights, only), k)
        return best

    def counters(self) -> Mapping[str, int]:
        return self._circuit.counters()

    def stats(self) -> Mapping[str, int]:
        return {**self._subscribers.stats(), "software": len(self._in_software)}

    def close(self) -> None:
        self._circuit.close()
        self._software.close()

    def _place(self, id: str) -> str | None:
        return "software" if id in self._in_software else self._subscribers.where(id)

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
