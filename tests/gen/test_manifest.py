"""The manifest: the same after a trip through JSON, and refused if anything in it is damaged."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from plan_answers import queries_of
from strategies import Case, cases

from penstock import DataError, QuerySet, Schema
from penstock.gen.manifest import Manifest, from_json, manifest_of, read_manifest, to_json
from penstock.gen.passes import plan_of

AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
Damage = Callable[[dict[str, Any]], object]


def example(spare: int = 0) -> Manifest:
    queries = QuerySet(Schema.of({"n": "INT", "m": "INT", "s": "STRING", "d": "DECIMAL(38,2)"}))
    queries.add("low", "n < 5 AND d > 1e30BD")
    queries.add("\u00e9 two\n", "n < m OR s IN ('a\0', '\U0001f600')")
    queries.add("like", "s LIKE '%x'")
    for number in range(40):
        queries.add(f"q{number}", f"n = {number}")
    return manifest_of(plan_of(queries, spare=spare), queries, "module top; endmodule")


MANIFEST = example()
TEXT = to_json(MANIFEST)
WITH_TABLE = example(spare=70)


def set_field(number: int, name: str, value: Any) -> Damage:
    return lambda found: found["fields"][number].__setitem__(name, value)


def set_tile(name: str, value: Any) -> Damage:
    return lambda found: found["tiles"][0].__setitem__(name, value)


def set_top(name: str, value: Any) -> Damage:
    return lambda found: found.__setitem__(name, value)


def _named(found: dict[str, Any], name: str) -> dict[str, Any]:
    """The field of an attribute."""
    (field,) = (f for f in found["fields"] if f.get("attribute") == name)
    return field


DAMAGES: dict[str, Damage] = {
    "unsorted cuts": lambda found: found["fields"][0]["cuts"].reverse(),
    "cut twice": lambda found: found["fields"][0].update(cuts=[1, 1], codes=[0, 1, 2]),
    "cut of another type": lambda found: found["fields"][0]["cuts"].__setitem__(0, "5"),
    "cut that is a fraction": lambda found: found["fields"][0]["cuts"].__setitem__(0, -5.5),
    "cut that is true": set_field(0, "cuts", [True]),
    "cut beyond the type": lambda found: found["fields"][0]["cuts"].__setitem__(-1, 2**31),
    "cut beyond 64 bits": lambda found: found["fields"][0]["cuts"].__setitem__(-1, 2**80),
    "cut below the type": lambda found: found["fields"][0]["cuts"].__setitem__(0, -(2**31) - 1),
    "cut missing": lambda found: found["fields"][0]["cuts"].pop(),
    "cuts that are a number": set_field(0, "cuts", 5),
    "code out of range": lambda found: found["fields"][0]["codes"].__setitem__(0, 1000),
    "huge code": lambda found: found["fields"][0]["codes"].__setitem__(0, 10**100),
    "negative code": lambda found: found["fields"][0]["codes"].__setitem__(0, -1),
    "code as text": lambda found: found["fields"][0]["codes"].__setitem__(0, "1"),
    "unknown attribute": set_field(0, "attribute", "zz"),
    "attribute that is a list": set_field(0, "attribute", ["n"]),
    "unknown left": lambda found: found["fields"][-1].update(left="zz"),
    "unknown type": lambda found: found["fields"][-1].update(common="FLOT"),
    "type that is a list": lambda found: found["fields"][-1].update(common=["INT"]),
    "code by nobody": set_field(0, "source", "nobody"),
    "code by a list": set_field(0, "source", ["host"]),
    "code without a source": lambda found: found["fields"][0].pop("source"),
    "attribute that is compared with none": set_field(0, "source", "compare"),
    "search among strings": lambda found: _named(found, "s").update(source="rank"),
    "comparisons with wide decimals": lambda found: _named(found, "d").update(source="direct"),
    "search for a pair": lambda found: found["fields"][-1].update(source="rank"),
    "field that is a number": lambda found: found["fields"].append(3),
    "no schema": lambda found: found.pop("schema"),
    "schema that is a number": set_top("schema", 3),
    "schema with an error": set_top("schema", "CREATE STREAM s (n INTT)"),
    "schema of nothing": set_top("schema", ""),
    "no digest": lambda found: found.pop("digest"),
    "digest that is a number": set_top("digest", 7),
    "ids that are a text": set_top("ids", "low"),
    "id that is a number": lambda found: found["ids"].__setitem__(0, 7),
    "id twice": lambda found: found["ids"].__setitem__(0, "like"),
    "id that is half a character": lambda found: found["ids"].__setitem__(0, "\ud800"),
    "residual of nobody": lambda found: found["residuals"].update(zz="n = 1"),
    "residual that is a number": lambda found: found["residuals"].update(like=1),
    "residuals that are a list": set_top("residuals", ["like"]),
    "entry of nobody": lambda found: found["tiles"][0]["entries"].__setitem__(0, 43),
    "negative entry": lambda found: found["tiles"][0]["entries"].__setitem__(0, -1),
    "entry twice": lambda found: found["tiles"][0]["entries"].__setitem__(0, 1),
    "entry as text": lambda found: found["tiles"][0]["entries"].__setitem__(0, "1"),
    "entries that are a number": set_tile("entries", 5),
    "tile beyond the chunks": set_tile("first_chunk", 2),
    "tile at a huge chunk": lambda found: found.update(
        chunk_count=10**15 + 2, tiles=[{**found["tiles"][0], "first_chunk": 10**15}]
    ),
    "tile at chunk 0.0": set_tile("first_chunk", 0.0),
    "tile at chunk -2": set_tile("first_chunk", -2),
    "empty tile": lambda found: found["tiles"].append({"first_chunk": 2, "entries": []}),
    "tile without a chunk": lambda found: found["tiles"][0].pop("first_chunk"),
    "huge count of chunks": set_top("chunk_count", 10**18),
    "count of chunks as text": set_top("chunk_count", "2"),
    "count of chunks that is no number": set_top("chunk_count", None),
    "chunks of another width": set_top("chunk_bits", 64),
    "no format": lambda found: found.pop("format"),
}


def set_table(name: str, value: Any) -> Damage:
    return lambda found: found["table"].__setitem__(name, value)


TABLE_DAMAGES: dict[str, Damage] = {
    "no table": lambda found: found.pop("table"),
    "table that is a list": set_top("table", []),
    "table that is nothing": set_top("table", None),
    "table elsewhere": set_table("first_chunk", 8),
    "table at chunk 4.0": set_table("first_chunk", 4.0),
    "table at another address": set_table("base", 4096),
    "table at no address": lambda found: found["table"].pop("base"),
    "more places": set_table("capacity", 97),
    "no places": set_table("capacity", 0),
    "huge number of places": set_table("capacity", 10**30),
    "places as text": set_table("capacity", "70"),
    "unknown attribute": set_table("attributes", ["n", "m", "s", "zz"]),
    "attribute twice": set_table("attributes", ["n", "m", "s", "n"]),
    "attributes that are a text": set_table("attributes", "nmsd"),
    "no attributes": lambda found: found["table"].update(attributes=[], code_bits=[]),
    "width missing": lambda found: found["table"]["code_bits"].pop(),
    "width of nothing": lambda found: found["table"]["code_bits"].__setitem__(0, 0),
    "width as text": lambda found: found["table"]["code_bits"].__setitem__(0, "6"),
    "huge width": lambda found: found["table"]["code_bits"].__setitem__(0, 10**9),
    "fewer chunks": set_top("chunk_count", 6),
}


def test_manifest_with_a_table_is_the_same_after_a_trip_through_json() -> None:
    assert WITH_TABLE.table is not None
    assert (WITH_TABLE.table.first_chunk, WITH_TABLE.chunk_count) == (4, 7)
    text = to_json(WITH_TABLE)
    assert from_json(text, "text") == WITH_TABLE
    assert to_json(from_json(text, "text")) == text
    assert WITH_TABLE.digest != MANIFEST.digest


@pytest.mark.parametrize("damage", TABLE_DAMAGES.values(), ids=list(TABLE_DAMAGES))
def test_damage_of_a_table_is_an_error_that_names_the_source(damage: Damage) -> None:
    found = json.loads(to_json(WITH_TABLE))
    damage(found)
    with pytest.raises(DataError, match=r"^here\.json is not a manifest: "):
        from_json(json.dumps(found), "here.json")


def test_manifest_is_the_same_after_a_trip_through_json(tmp_path: Path) -> None:
    assert from_json(TEXT, "text") == MANIFEST
    assert to_json(from_json(TEXT, "text")) == TEXT
    (tmp_path / "manifest.json").write_text(TEXT + "\n", encoding="utf-8")
    assert read_manifest(tmp_path / "manifest.json") == MANIFEST


@pytest.mark.fuzz
@AS_FOUND
@given(case=cases(events=1), encode=st.sampled_from(["host", "device"]))
def test_any_manifest_is_the_same_after_a_trip_through_json(case: Case, encode: str) -> None:
    queries = queries_of(case)
    manifest = manifest_of(plan_of(queries, encode=encode), queries, "")
    assert from_json(to_json(manifest), "text") == manifest


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damage_is_an_error_that_names_the_source(damage: Damage) -> None:
    found = json.loads(TEXT)
    damage(found)
    assert json.dumps(found) != TEXT
    with pytest.raises(DataError, match=r"^here\.json is not a manifest: "):
        from_json(json.dumps(found), "here.json")


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '"x"', "3", "[" * 100_000, "NaN", '{"format": 3}', "1" * 5000],
    ids=["empty", "object", "list", "null", "text", "number", "deep", "NaN", "lone", "long number"],
)
def test_text_that_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"^here\.json is not a manifest: "):
        from_json(text, "here.json")


def test_other_format_says_to_build_again() -> None:
    for other in (0, 2, "3", None):
        text = json.dumps({**json.loads(TEXT), "format": other})
        with pytest.raises(DataError, match=f"is of format {other}, this is format 3; build it"):
            from_json(text, "here.json")


def test_truncated_text_is_refused_wherever_it_ends() -> None:
    for length in range(len(TEXT)):
        with pytest.raises(DataError):
            from_json(TEXT[:length], "here.json")


def test_flipped_bytes_give_a_manifest_or_an_error() -> None:
    rng = Random(5)
    for _ in range(2000):
        damaged = bytearray(TEXT.encode())
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            from_json(damaged.decode(errors="replace"), "here.json")
        except DataError:
            continue


def test_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    for name in ("none.json", "bytes.json", "."):
        with pytest.raises(DataError, match="cannot be read"):
            read_manifest(tmp_path / name)


def test_digest_changes_with_the_circuit_and_with_the_queries() -> None:
    queries = QuerySet(Schema.of({"n": "INT"}))
    queries.add("x", "n = 1")
    first = manifest_of(plan_of(queries), queries, "a").digest
    assert first == manifest_of(plan_of(queries), queries, "a").digest
    assert first != manifest_of(plan_of(queries), queries, "b").digest
    queries.add("y", "n < 1 AND n > 1")
    assert first != manifest_of(plan_of(queries), queries, "a").digest
