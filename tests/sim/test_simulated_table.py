"""Subscriptions that come and go on the simulated circuit, against the oracle at each point."""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import pytest
from table_texts import COLUMNS, OPERATORS, VALUES

from penstock import DeviceError, QuerySet, Schema
from penstock.gen.build import build
from penstock.gen.expr import Subscription
from penstock.gen.language.script import parse_subscription
from penstock.host.config_words import ConfigWord, pack_config
from penstock.host.encode import Encoder, Words
from penstock.host.events import Batch, rows_of, to_table
from penstock.host.subscribers import Subscribers
from penstock.sim import oracle
from penstock.sim.reference import OracleDevice
from penstock.sim.simulated.circuit import WORK, Circuit
from penstock.sim.simulated.device import SimulatedDevice

pytestmark = pytest.mark.xdist_group("simulated")

SCHEMA = Schema.of(COLUMNS)
SPARE = 40
BUILT_IN = {
    "built: range": "n > 1 AND n < 5",
    "built: pair": "n < m",
    "built: like": "s LIKE 'a%b'",
    "built: same": "s <=> t",
    "built: always": "TRUE",
    "built: never": "n < 1 AND n > 2",
    "built: text": "s = 'a' OR s = ''",
}


def parsed(id: str, text: str) -> Subscription:
    return parse_subscription(id, text, SCHEMA, "text")


def query_set(texts: dict[str, str]) -> QuerySet:
    queries = QuerySet(SCHEMA)
    for id, text in texts.items():
        queries.add(id, text)
    return queries


def batch_of(values: Sequence[dict[str, object]]) -> Batch:
    return Batch.of(to_table(list(values), SCHEMA), SCHEMA)


EVENTS = batch_of(VALUES)


class Live:
    """A device and what must be on it."""

    def __init__(self, texts: dict[str, str], spare: int) -> None:
        self.device = SimulatedDevice(
            query_set(texts), spare=spare, software=OracleDevice(query_set({}))
        )
        self.subscriptions = {id: parsed(id, text) for id, text in texts.items()}

    def add(self, id: str, text: str) -> None:
        self.device.add(query_set({id: text}))
        self.subscriptions[id] = parsed(id, text)

    def remove(self, id: str) -> None:
        self.device.remove([id])
        del self.subscriptions[id]

    def check(self, events: Batch = EVENTS) -> list[list[str]]:
        wanted = [
            oracle.matches(self.subscriptions.values(), row)
            for row in rows_of(events.wide(), SCHEMA)
        ]
        assert self.device.match(events).to_pylist() == wanted
        return wanted


@pytest.fixture
def live() -> Iterator[Live]:
    made = Live(BUILT_IN, SPARE)
    yield made
    made.device.close()


def test_every_operator_comes_and_goes_on_the_circuit(live: Live) -> None:
    live.check()
    for text in OPERATORS:
        live.add(text, text)
        live.check()
    assert len({id for ids in live.check() for id in ids}) > len(OPERATORS)
    for text in OPERATORS[::2]:
        live.remove(text)
        live.check()


def test_random_changes_between_batches_answer_as_the_oracle(live: Live) -> None:
    rng = Random(17)
    for turn in range(150):
        later = [id for id in live.subscriptions if id not in BUILT_IN]
        if later and rng.random() < 0.4:
            live.remove(rng.choice(later))
        else:
            parts = rng.sample(OPERATORS, rng.choice([1, 1, 2]))
            live.add(f"q{turn}", rng.choice([" AND ", " OR "]).join(f"({p})" for p in parts))
        count = rng.randrange(1, 8)
        live.check(batch_of(rng.choices(VALUES, k=count)))
    places = live.device.stats()
    assert places["table"] and places["software"], "the table was never full"
    assert sum(places.values()) == len(live.subscriptions)
    live.check()


@pytest.mark.parametrize("id", BUILT_IN)
def test_what_was_built_in_can_go_and_come_again_as_something_else(live: Live, id: str) -> None:
    with pytest.raises(ValueError, match=f"'{id}' is on the device already"):
        live.add(id, "TRUE")
    live.remove(id)
    live.check()
    live.add(id, "n = 3 OR s = 'b' OR s LIKE '%b'")
    live.check()
    live.remove(id)
    live.check()
    with pytest.raises(KeyError, match=f"no subscription '{id}' on the device"):
        live.device.remove([id])


def test_all_that_was_built_in_can_go(live: Live) -> None:
    for id in BUILT_IN:
        live.remove(id)
        live.check()
    assert live.check() == [[]] * len(VALUES)


def test_what_a_full_table_cannot_take_is_answered_in_software(live: Live) -> None:
    for number in range(SPARE):
        live.add(f"q{number:02}", f"n >= {number}")
    live.add("more", "n = 1")
    live.check()
    assert [live.device.where(id) for id in ("q07", "more")] == ["table", "software"]
    live.remove("q07")
    live.add("yet more", "n = 1")
    live.check()
    assert live.device.where("yet more") == "table"
    live.remove("more")
    live.check()
    assert live.device.stats()["software"] == 0


def test_parts_of_the_device_are_told_apart(live: Live) -> None:
    live.add("host", "s <=> t")
    places = {id: live.device.where(id) for id in live.subscriptions}
    assert places.pop("built: same") == places.pop("host") == "host"
    assert set(places.values()) == {"gates"}
    assert live.device.stats() == {"gates": 6, "table": 0, "host": 2, "software": 0}
    with pytest.raises(KeyError, match="no subscription 'none' on the device"):
        live.device.where("none")


def test_configuration_words_are_not_counted_as_events(live: Live) -> None:
    live.check()
    live.add("x", "n = 1 AND s IS NULL")
    live.remove("built: range")
    live.check()
    assert live.device.counters()["events"] == 2 * len(VALUES)


def test_set_of_nothing_but_a_table_answers() -> None:
    live = Live({}, SPARE)
    assert live.check() == [[]] * len(VALUES)
    for text in ("n > 2", "n = 1 OR s = ''", "s <=> t"):
        live.add(text, text)
        live.check()
    live.device.close()


def test_device_without_spare_places_takes_more_in_software() -> None:
    live = Live({"same": "s <=> t"}, 0)
    live.add("x", "n = 1")
    live.check()
    assert live.device.where("x") == "software"
    live.remove("same")
    live.remove("x")
    assert live.check() == [[]] * len(VALUES)


def test_update_is_made_whole_or_not_at_all(live: Live) -> None:
    with pytest.raises(ValueError, match="'built: pair' is on the device already"):
        live.device.add(query_set({"new": "TRUE", "built: pair": "TRUE"}))
    with pytest.raises(KeyError, match="no subscription 'none' on the device"):
        live.device.remove(["built: pair", "none"])
    live.check()


def test_update_that_software_refuses_leaves_the_table_as_it_was(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(queries: QuerySet) -> None:
        assert [subscription.id for subscription in queries] == ["patterns"]
        raise DeviceError("no room")

    monkeypatch.setattr(live.device._software, "add", refuse)
    patterns = " OR ".join(f"(n = {n} AND s LIKE '%{n}')" for n in range(SPARE + 1))
    with pytest.raises(DeviceError, match="no room"):
        live.device.add(query_set({"narrow": "n = 1", "patterns": patterns}))
    live.check()
    assert live.device.stats()["table"] == 0


class Stream:
    """A circuit that is sent events and configuration words in one stream."""

    def __init__(self) -> None:
        built = build(query_set(BUILT_IN), spare=SPARE)
        self.event_bits = built.event_bits
        self.encoder = Encoder(built.manifest, built.event_bits)
        self.subscribers = Subscribers(built.manifest)
        self.circuit = Circuit(built, self.encoder.words, None, None)

    def codes(self) -> Words:
        return self.encoder.encode(EVENTS.wide(), self.subscribers.table_codes(EVENTS.wide()))

    def rounds(self, codes: Words, words: Sequence[ConfigWord]) -> list[Words]:
        """All events behind each of the words."""
        return [row for word in words for row in (pack_config([word], self.event_bits), codes)]

    def answers(self, stream: Sequence[Words], rounds: int) -> list[list[list[str]]]:
        """For each round the answers to all events, as the subscribers are now."""
        count = rounds * len(VALUES)
        rows = np.concatenate(stream)
        work = np.array([(0, len(rows), 0, count)], dtype=WORK)
        found = self.circuit._run(rows, work).matches
        answers = self.subscribers.answers(
            batch_of(VALUES * rounds).wide(),
            np.ascontiguousarray(found["event"]),
            found["chunk"].astype(np.int64),
            np.ascontiguousarray(found["bits"]),
        ).to_pylist()
        return [answers[n : n + len(VALUES)] for n in range(0, count, len(VALUES))]


def test_events_may_stand_between_any_two_words_of_a_change() -> None:
    stream = Stream()
    present = {id: parsed(id, text) for id, text in BUILT_IN.items()}
    for id, text in {"q": "n BETWEEN 2 AND 4 OR s = 'a'", "r": "n = 3", "x": "x = 0"}.items():
        was = wanted_of(present)
        codes = stream.codes()
        present[id] = parsed(id, text)
        update = stream.subscribers.add(present[id])
        rows = [codes, *stream.rounds(codes, update.before)]
        rows += stream.rounds(stream.codes(), update.after)
        assert update.before and len(update.after) == 1
        answers = stream.answers(rows, rounds=1 + len(update.words))
        assert answers == [was] * (1 + len(update.before)) + [wanted_of(present)]
    for id in ("q", "built: range"):
        codes = stream.codes()
        was = wanted_of(present)
        assert stream.answers([codes], rounds=1) == [was]
        del present[id]
        update = stream.subscribers.remove(id)
        assert len(update.before) == 1 and update.after == ()
        rows = [*stream.rounds(codes, update.before), stream.codes()]
        assert stream.answers(rows, rounds=2) == [wanted_of(present)] * 2
    stream.circuit.close()


def wanted_of(present: dict[str, Subscription]) -> list[list[str]]:
    return [oracle.matches(present.values(), row) for row in rows_of(EVENTS.wide(), SCHEMA)]
