"""What is added to the software engine waits, until it is asked for or there is much of it."""

import random

import numpy as np
import pyarrow as pa
import pytest
from devices import batch_of, opened, wanted
from hypothesis import given
from hypothesis import strategies as st

from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Schema
from penstock.host.software import store as store_module
from penstock.host.software.flat_cuts import FlatCuts

SCHEMA = Schema.of({"n": "INT", "price": "DECIMAL(6,2)", "name": "STRING", "much": "DECIMAL(30,0)"})
VALUES = {
    "n": lambda n: n,
    "price": lambda n: 100 * n,
    "name": lambda n: "ab" * (n % 3),
    "much": lambda n: 10**25 + n,
}
"""The event value of each attribute for a small number."""
TEXTS = {"price": lambda n: str(n)}
"""What stands in a table for it, where that is another text."""
EVENTS = [{SCHEMA[name].index: of(n) for name, of in VALUES.items()} for n in range(-1, 12)]


def table(rng: random.Random, ids: list[str]) -> QuerySet:
    """Subscriptions that come as a table: integers, decimals of two sizes and texts."""
    columns = {"id": [], "attribute": [], "operator": [], "operands": []}
    for id in ids:
        for name in rng.sample(sorted(VALUES), rng.randrange(1, 4)):
            operator = rng.choice(["=", "<", ">=", "<>", "IN", "BETWEEN", "IS NULL", "NOT IN"])
            some = sorted(
                rng.sample(range(10), {"BETWEEN": 2, "IN": 3, "NOT IN": 2}.get(operator, 1))
            )
            texts = [TEXTS.get(name, lambda n, of=VALUES[name]: str(of(n)))(n) for n in some]
            columns["id"].append(id)
            columns["attribute"].append(name)
            columns["operator"].append(operator)
            columns["operands"].append([] if operator == "IS NULL" else texts)
    queries = QuerySet(SCHEMA)
    queries.add_predicates(pa.table(columns))
    return queries


def text(rng: random.Random, id: str) -> QuerySet:
    queries = QuerySet(SCHEMA)
    queries.add(id, f"n < {rng.randrange(12)} OR name = 'ab'")
    return queries


@pytest.mark.parametrize("seed", range(6))
def test_tables_and_texts_wait_together(seed, monkeypatch):
    monkeypatch.setattr(store_module, "MOST_WAITING", 30)
    monkeypatch.setattr(store_module, "MOST_SINGLES", 5)
    rng = random.Random(seed)
    queries = table(rng, [f"first{n}" for n in range(40)])
    device = opened(queries)
    batch = batch_of(EVENTS, SCHEMA, sparse=seed % 2 == 0)
    for step in range(20):
        new = f"s{step}"
        many = table(rng, [f"{new}n{n}" for n in range(rng.choice([1, 4, 29, 45]))])
        added = rng.choice([many, text(rng, new)])
        device.add(added)
        queries.extend(added)
        with pytest.raises(ValueError, match="is on the device already"):
            device.add(added)
        gone = rng.sample([*queries.ids], rng.randrange(min(20, len(queries))))
        device.remove(gone)
        for id in gone:
            queries.remove(id)
        with pytest.raises(KeyError):
            device.remove(gone[:1] or ["nobody"])
        if rng.random() < 0.4:
            assert device.match(batch).to_pylist() == wanted(queries, EVENTS)
        stats = device.stats()
        assert stats["index"] + stats["recent"] == len(queries)
    assert device.match(batch).to_pylist() == wanted(queries, EVENTS)
    device.close()


def test_many_at_once_do_not_wait(monkeypatch):
    monkeypatch.setattr(store_module, "MOST_WAITING", 30)
    rng = random.Random(0)
    device = opened(table(rng, ["a"]))
    device.close()
    for count, parts in [(30, 1), (1, 2), (31, 3)]:
        device.add(table(rng, [f"{count}n{n}" for n in range(count)]))
        assert len(device._store._parts) == parts


KEYS = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(st.integers(0, 4), KEYS)), st.lists(st.tuples(st.integers(0, 4), KEYS)))
def test_the_cuts_of_all_attributes_are_those_of_each(cuts, others):
    attributes = np.array([attribute for attribute, _ in cuts], np.int64)
    keys = np.array([key for _, key in cuts], np.int64)
    found = FlatCuts.of(attributes, keys, 6)
    for attribute in range(6):
        mine = keys[attributes == attribute]
        assert found.keys_of(attribute).tolist() == sorted({*mine.tolist()})
    asked = cuts + others
    begin, end = found.codes(
        np.array([attribute for attribute, _ in asked], np.int64),
        np.array([key for _, key in asked], np.int64),
    )
    for (attribute, key), first, after in zip(asked, begin.tolist(), end.tolist(), strict=True):
        mine = {k for a, k in cuts if a == attribute}
        below = sum(k < key for k in mine)
        assert after - first == (key in mine)
        assert first - below == begin_of_none()


def begin_of_none() -> int:
    """The code of a value below all cuts, and one more."""
    none = FlatCuts.of(np.zeros(0, np.int64), np.zeros(0, np.int64), 1)
    return int(none.codes(np.zeros(1, np.int64), np.zeros(1, np.int64))[0][0])
