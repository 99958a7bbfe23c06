"""Subscriptions that the host adds and removes while events flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.gen.build import Build
from penstock.gen.expr import Subscription
from penstock.gen.language.script import parse_subscription
from penstock.gen.normal import Conjunction, Event, make_event
from penstock.gen.normalise import disjuncts, normalise
from penstock.gen.passes import plan_of
from penstock.gen.passes.weaken import weaken
from penstock.gen.plan import CHUNK_BITS, TableRegion
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.host.config_words import ConfigWord, Update, pack_config
from penstock.host.encode import Encoder
from penstock.host.events import Batch, rows_of, to_table
from penstock.host.subscribers import Subscribers
from penstock.sim.be_tree import BETree
from penstock.sim.cocotb_bench.coverage import Coverage
from penstock.sim.cocotb_bench.cycle_coverage import NO_CHANGE, ROW, TABLE_OFF, TABLE_ON
from penstock.sim.cocotb_bench.device_model import DeviceModel, chunks_of
from penstock.sim.cocotb_bench.experiments import built_from, layout_of, payloads
from penstock.sim.cocotb_bench.run import Experiment
from penstock.sim.cocotb_bench.stimulus import Chunks, Item, Stimulus, Stream

SEED = 17
SPARE = 40
SCHEMA = {"n": "INT", "name": "STRING", "flag": "BOOLEAN"}
BUILT_IN = ("n < 5", "n >= 10 AND flag", "name LIKE 'ab%'", "name LIKE '%b' AND n > 3", "n IS NULL")
LATER = (
    *(f"n >= {low} AND n < {low + 7}" for low in range(0, 24, 2)),
    *(f"n IN ({number}, {number + 9}) OR name = '{text}'" for number, text in enumerate("abcdef")),
    *("n <> 4", "n IS NULL", "name IS NOT NULL AND NOT flag", "name LIKE 'b%'", "name LIKE '%c'"),
    *("flag IS NULL OR (flag AND n = 3) OR (NOT flag AND name >= 'c')", "TRUE"),
)


def subscribers_experiment(event_count: int, patterns: Sequence[str]) -> Experiment:
    """A circuit with spare places; what is built in or added comes and goes at random.

    The bits of every event are held to BE-Trees over the set as it is in that moment, also between
    the words of a change. What the host makes of the bits is held to them here, before any run.
    """
    queries = QuerySet(Schema.of(SCHEMA))
    for text in BUILT_IN:
        queries.add(text, text)
    built, chain = built_from(plan_of(queries, spare=SPARE), queries)
    rng = Random(SEED)
    traffic = _Traffic(built, queries, _events(event_count, queries.schema, rng))
    _come_and_go(traffic, queries.schema, rng)
    stream = Stream("comings", tuple(traffic.items), tuple(traffic.answers))
    stimulus = Stimulus(layout_of(chain), (stream,), tuple(patterns), SEED)
    return Experiment("subscribers", built.circuit, stimulus, Coverage())


def _events(count: int, schema: Schema, rng: Random) -> pa.RecordBatch:
    pools: dict[str, Sequence[Any]] = {
        "n": range(-1, 32),
        "name": ("", "a", "ab", "abc", "b", "bc", "c", "d", "e", "f", "zb"),
        "flag": (True, False),
    }
    rows = [
        {name: rng.choice(pool) for name, pool in pools.items() if rng.random() < 0.8}
        for _ in range(count)
    ]
    return Batch.of(to_table(rows, schema), schema).wide()


def _come_and_go(traffic: _Traffic, schema: Schema, rng: Random) -> None:
    traffic.clear_rows()
    away = [parse_subscription(f"later {text}", text, schema, "<text>") for text in LATER]
    there = [parse_subscription(text, text, schema, "<text>") for text in BUILT_IN]
    while not traffic.is_done:
        kind = rng.random()
        if kind < 0.12 and away:
            subscription = away.pop(rng.randrange(len(away)))
            traffic.add(subscription, rng)
            there.append(subscription)
        elif kind < 0.22 and there:
            subscription = there.pop(rng.randrange(len(there)))
            traffic.remove(subscription.id, rng)
            if subscription.id not in BUILT_IN:  # what is built in can only be turned off
                away.append(subscription)
        else:
            traffic.send_event()


class _TableModel:
    """The match bits of a table: a BE-Tree with an expression for each place that is valid."""

    def __init__(self, region: TableRegion, schema: Schema) -> None:
        self._tree = BETree(schema)
        self._chunks = {region.valid_address(n): n for n in range(region.chunk_count)}
        self._places = {
            str(place): (region.first_chunk + place // CHUNK_BITS, place % CHUNK_BITS)
            for place in range(region.capacity)
        }
        self._coming: Iterator[Conjunction] = iter(())

    def expect(self, subscription: Subscription) -> None:
        """The next places that become valid are this one's, one for each conjunction in turn."""
        weaker, _ = weaken(normalise(subscription.condition), widest_pair_bits=0)
        self._coming = iter(disjuncts(weaker))

    def write(self, word: ConfigWord) -> tuple[str, ...]:
        """Do what a word for the table does; its effects."""
        if word.address not in self._chunks:
            return (ROW,)
        first = self._chunks[word.address] * CHUNK_BITS
        effects = set()
        for bit in range(CHUNK_BITS):
            id, is_on = str(first + bit), bool(word.bits >> bit & 1)
            if is_on and id not in self._tree:
                self._tree.insert(id, [next(self._coming)])
                effects.add(TABLE_ON)
            elif not is_on and id in self._tree:
                self._tree.delete(id)
                effects.add(TABLE_OFF)
        return tuple(sorted(effects)) or (NO_CHANGE,)

    def answer(self, event: Event) -> Chunks:
        return chunks_of(self._places, self._tree.match(event))


class _Traffic:
    """A host and the items that it sends, the models of its circuit and their answers."""

    def __init__(self, built: Build, queries: QuerySet, events: pa.RecordBatch) -> None:
        region = built.manifest.table
        assert region is not None, "the circuit has no spare places"
        self._region, self._events, self._schema = region, events, queries.schema
        self._event_bits = built.event_bits
        self._encoder = Encoder(built.manifest, built.event_bits)
        self._host = Subscribers(built.manifest)
        self._fixed = DeviceModel(queries, built)
        self._table = _TableModel(region, queries.schema)
        self._exact = BETree(queries.schema)
        for subscription in queries:
            self._exact.insert(subscription.id, disjuncts(normalise(subscription.condition)))
        self.items: list[Item] = []
        self.answers: list[Chunks] = []

    @property
    def is_done(self) -> bool:
        return len(self.answers) == int(self._events.num_rows)

    def clear_rows(self) -> None:
        """Bring memories, which a reset leaves as they are, to what the host takes them for."""
        for number, bits in enumerate(self._region.code_bits):
            for code in range(2**bits):
                for chunk in range(self._region.chunk_count):
                    self._send(ConfigWord(self._region.row_address(number, code, chunk), 0))

    def send_event(self) -> None:
        """Send the next event, and see that the host makes the right answer of its bits."""
        batch = self._events.slice(len(self.answers), 1)
        event = self._send_coded(self._payloads(batch)[0])
        found = self._host_answer(batch, self.answers[-1])
        wanted = self._exact.match(event)
        assert found == wanted, f"the host answers {found}, not {wanted}"

    def add(self, subscription: Subscription, rng: Random) -> None:
        """Add a subscription, with events between its words."""
        coded_before = self._payloads(self._events)
        self._table.expect(subscription)
        self._exact.insert(subscription.id, disjuncts(normalise(subscription.condition)))
        self._send_update(self._host.add(subscription), coded_before, rng)

    def remove(self, id: str, rng: Random) -> None:
        """Remove a subscription, with events between its words."""
        coded_before = self._payloads(self._events)
        self._exact.delete(id)
        self._send_update(self._host.remove(id), coded_before, rng)

    def _send_update(self, update: Update, coded_before: list[int], rng: Random) -> None:
        for words, coded in (
            (update.before, coded_before),
            (update.after, self._payloads(self._events)),
        ):
            for word in words:
                if rng.random() < 0.3 and not self.is_done:
                    self._send_coded(coded[len(self.answers)])
                self._send(word)

    def _send_coded(self, payload: int) -> Event:
        """Send the next event under codes of some moment."""
        (row,) = rows_of(self._events.slice(len(self.answers), 1), self._schema)
        event = make_event(row, self._schema.attributes)
        self.items.append(Item(payload))
        self.answers.append(self._fixed.answer(event) + self._table.answer(event))
        return event

    def _send(self, word: ConfigWord) -> None:
        is_table = word.address >= self._region.base
        effects = self._table.write(word) if is_table else self._fixed.switch(*word)
        (payload,) = payloads(pack_config([word], self._event_bits))
        self.items.append(Item(payload, effects))

    def _payloads(self, events: pa.RecordBatch) -> list[int]:
        return payloads(self._encoder.encode(events, self._host.table_codes(events)))

    def _host_answer(self, batch: pa.RecordBatch, answer: Chunks) -> list[str]:
        numbers = np.zeros(len(answer), dtype=np.int64)
        chunks = np.array([chunk for chunk, _ in answer], dtype=np.int64)
        bits = np.array([bits for _, bits in answer], dtype=np.uint32)
        found: list[list[str]] = self._host.answers(batch, numbers, chunks, bits).to_pylist()
        return found[0]
