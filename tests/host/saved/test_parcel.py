"""A query set as bytes: it comes back the same, or not at all."""

import hashlib
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from penstock import QuerySet, Schema, parse_policy
from penstock.gen.errors import DataError, QueryError
from penstock.host.saved.parcel import MAGIC, packed, unpacked

SCHEMA = Schema.of({"price": "DECIMAL(10,2)", "symbol": "STRING", "quantity": "INT"})
TABLE = pa.table(
    {
        "id": ["t1", "t1", "t2"],
        "attribute": ["price", "symbol", "quantity"],
        "operator": ["<", "IN", "IS NULL"],
        "operands": [["10"], ["A", "é'"], []],
        "owner": ["acme", "acme", "acme"],
    }
)


def queries() -> QuerySet:
    policy = parse_policy("CREATE POLICY FOR acme ON events WHERE quantity < 100")
    made = QuerySet(SCHEMA, policy=policy)
    made.add("a", "price < 5 OR symbol LIKE 'x%'", weight=3, owner="acme")
    later = datetime(2040, 1, 1, tzinfo=UTC)
    made.add("b", "price IS NULL", owner="acme", expires=later)
    made.add_predicates(TABLE)
    made.remove("t2")
    return made


def test_a_set_comes_back_as_it_was():
    sent = queries()
    got = unpacked(packed(sent))
    assert {s.id: s for s in got} == {s.id: s for s in sent}
    assert got.schema == sent.schema
    assert (
        [a.name for a in got.tested]
        == [a.name for a in sent.tested]
        == ["price", "symbol", "quantity"]
    )
    assert packed(got) == packed(sent) == packed(queries())
    assert len(unpacked(packed(QuerySet(SCHEMA)))) == 0


def test_damage_anywhere_is_refused():
    parcel = packed(queries())
    for at in range(len(parcel)):
        with pytest.raises(DataError):
            unpacked(parcel[:at])
        damaged = bytearray(parcel)
        damaged[at] ^= 0x41
        with pytest.raises(DataError):
            unpacked(bytes(damaged))
    with pytest.raises(DataError, match="damaged"):
        unpacked(parcel + b"x")


def test_sound_bytes_that_say_something_else_are_refused():
    parcel = packed(queries())
    for old, new, message in [
        (b'"format": 1', b'"format": 2', "has format 2"),
        (b'"tables"', b'"tablex"', "is no parcel"),
        (b"CREATE STREAM", b"CREATE STREAK", "parcel"),
    ]:
        body = parcel[40:].replace(old, new)
        with pytest.raises((DataError, QueryError), match=message):
            unpacked(MAGIC + hashlib.sha256(body).digest() + body)
