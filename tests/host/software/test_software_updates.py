"""Subscriptions come and go on the software engine, and parts merge behind what is answered."""

import random
import threading

import pyarrow as pa
import pytest
from devices import batch_of, best, opened, scored, wanted

from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.host.software import store as store_module
from penstock.host.software.ids import Ids, gathered, in_order

SCHEMA = Schema.of({"price": "DECIMAL(10,2)", "symbol": "STRING", "n": "INT", "m": "INT"})
EVENTS = [
    {0: price, 1: symbol, 2: n, 3: n * 7 % 50}
    for n in range(40)
    for price, symbol in [(None, "A"), (n, "AB" * (n % 3))]
]
EVENTS = [{k: v for k, v in event.items() if v is not None} for event in EVENTS]


def text(rng: random.Random) -> str:
    low = rng.randrange(40)
    return rng.choice(
        [
            f"n BETWEEN {low} AND {low + 9} AND symbol = 'A'",
            f"weight(n IN ({low}, {low + 3}), 4) AND price > {low}.5",
            f"weight(n < {low}, 2) OR weight(m >= {low}, {low})",
            f"symbol LIKE '%B' AND n > {low}",
            f"price IS NULL OR (n = {low} AND NOT m = 3)",
            "n > m",
        ]
    )


def some(rng: random.Random, ids: list[str]) -> QuerySet:
    queries = QuerySet(SCHEMA)
    for id in ids:
        queries.add(id, text(rng), weight=rng.randrange(5))
    return queries


def joined(*sets: QuerySet) -> QuerySet:
    together = QuerySet(SCHEMA)
    for queries in sets:
        for subscription in queries:
            together.insert(subscription)
    return together


def names(rng: random.Random, count: int) -> list[str]:
    return [f"{rng.choice('abÿ')}{rng.getrandbits(40):x}" for _ in range(count)]


@pytest.mark.parametrize("seed", range(4))
def test_a_history_of_updates_leaves_what_is_in_the_set(seed):
    rng = random.Random(seed)
    queries = some(rng, names(rng, 150))
    device = opened(queries)
    mine = joined(queries)
    batch = batch_of(EVENTS, SCHEMA, sparse=seed % 2 == 0)
    for step in range(12):
        added = some(rng, names(rng, rng.choice([1, 3, 90])))
        device.add(added)
        mine = joined(mine, added)
        gone = rng.sample(ids := [s.id for s in mine], rng.randrange(min(60, len(ids))))
        device.remove(gone)
        for id in gone:
            mine.remove(id)
        if step % 3 == 0:
            device._store.wait()
        assert device.match(batch).to_pylist() == wanted(mine, EVENTS)
        assert scored(device.top_k(batch, 3, {2: 2})) == best(mine, EVENTS, 3, {2: 2})
        stats = device.stats()
        assert stats["index"] + stats["recent"] == len(mine)
    device.close()
    assert {device.where(s.id) for s in mine} <= {"index", "recent"}


def test_an_id_comes_back_with_another_condition():
    device = opened(some(random.Random(1), ["x", "y"]))
    batch = batch_of(EVENTS[:4], SCHEMA, sparse=False)
    for condition in ("n >= 0", "n < 0", "n >= 0"):
        device.remove(["x"])
        queries = QuerySet(SCHEMA)
        queries.add("x", condition)
        device.add(queries)
        found = ["x" in row for row in device.match(batch).to_pylist()]
        assert found == [condition == "n >= 0"] * 4


def test_what_is_wrong_changes_nothing():
    rng = random.Random(5)
    device = opened(some(rng, ["a", "b", "d", "e"]))
    device.add(some(rng, ["c"]))
    batch = batch_of(EVENTS, SCHEMA, sparse=False)
    before = device.match(batch)
    for twice in (["a"], ["new", "b"], ["c"], [f"n{i}" for i in range(100)] + ["a"]):
        with pytest.raises(ValueError, match="is on the device already"):
            device.add(some(rng, twice))
    for unknown in (["nobody"], ["a", "nobody"], ["c", "nobody"]):
        with pytest.raises(KeyError, match="nobody"):
            device.remove(unknown)
    with pytest.raises(KeyError, match="nobody"):
        device.where("nobody")
    assert device.match(batch).equals(before)
    assert [device.where(id) for id in "abc"] == ["index", "index", "recent"]


def test_parts_stay_few_and_codes_are_given_up_with_their_subscriptions():
    rng = random.Random(9)
    device = opened(some(rng, names(rng, 10)))
    for _ in range(30):
        ids = names(rng, 70)
        device.add(some(rng, ids))
        device.remove(ids)
        device._store.wait()
    parts = device._store.parts()
    assert sum(part.count for part in parts) == 10
    assert len(parts) < 4
    codes = sum(field.codes for part in parts for field in part.segment.packed.fields)
    assert codes < 200


def test_others_add_and_remove_while_events_are_matched():
    """What is there all the time is always found, and nothing is found that never was there."""
    rng = random.Random(2)
    steady = some(rng, names(rng, 200))
    device = opened(steady)
    batch = batch_of(EVENTS, SCHEMA, sparse=True)
    always = wanted(steady, EVENTS)
    coming = [some(rng, names(rng, 80)) for _ in range(12)]
    known = {s.id for queries in (steady, *coming) for s in queries}
    failures = []

    def update() -> None:
        try:
            for queries in coming:
                device.add(queries)
                device.remove([s.id for s in queries][::2])
        except Exception as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    thread = threading.Thread(target=update)
    thread.start()
    rounds = 0
    while thread.is_alive() or rounds < 3:
        for row, least in zip(device.match(batch).to_pylist(), always, strict=True):
            assert row == sorted(set(row))
            assert set(least) <= set(row) <= known
        rounds += 1
    thread.join()
    assert not failures
    left = joined(steady, *coming)
    for queries in coming:
        for id in [s.id for s in queries][::2]:
            left.remove(id)
    assert device.match(batch).to_pylist() == wanted(left, EVENTS)


def test_a_merge_keeps_what_was_removed_meanwhile(monkeypatch):
    rng = random.Random(4)
    queries = some(rng, names(rng, 100))
    device = opened(queries)
    more = some(rng, names(rng, 90))
    merging, may_go_on = threading.Event(), threading.Event()

    def slowly(segments, kept, **options):
        merging.set()
        may_go_on.wait(30)
        return merge(segments, kept, **options)

    merge = store_module.merged
    monkeypatch.setattr(store_module, "merged", slowly)
    monkeypatch.setattr(store_module, "MOST_PARTS", 1)
    device.add(more)
    assert merging.wait(30)
    gone = [s.id for s in (*queries, *more)][::3]
    device.remove(gone)
    may_go_on.set()
    device._store.wait()
    left = joined(queries, more)
    for id in gone:
        left.remove(id)
    batch = batch_of(EVENTS, SCHEMA, sparse=False)
    assert len(device._store.parts()) == 1
    assert device.match(batch).to_pylist() == wanted(left, EVENTS)


def test_ids_are_ordered_and_found_as_text_is():
    ids = ["", "a", "a\0", "ab", "b", "é", "\uffff", "\U0001f600"]
    shuffled = random.Random(3).sample(ids, len(ids))
    mine, order = in_order(pa.array(shuffled))
    assert mine.array.to_pylist() == sorted(ids)
    assert [shuffled[n] for n in order] == sorted(ids)
    sought = Ids(pa.array(["", "a", "aa", "b", "z", "\U0001f601"]))
    assert mine.find(sought).tolist() == [0, 1, -1, 4, -1, -1]
    assert mine.places(sought).tolist() == [0, 1, 3, 4, 5, 8]
    others = Ids(pa.array(["x", "yy"]))
    both = gathered([mine, others], pa.array([len(mine) + 1, 3, len(mine)]).to_numpy())
    assert both.to_pylist() == ["yy", "ab", "x"]
