"""Codes made on the device: the simulated engine answers as the reference does, all the same.

Few query sets, as each is compiled once, which takes ten seconds; `build/` keeps the result.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock
from penstock import DeviceError, Matcher, QuerySet, Schema
from penstock.cli.main import main
from penstock.gen import passes
from penstock.gen.passes import plan_of
from penstock.gen.passes.cluster import cluster
from penstock.gen.passes.encode import encode
from penstock.gen.plan import CodeField, Source
from penstock.sim.workload import WorkloadSpec, generate_events, generate_expressions, schema_for

pytestmark = pytest.mark.xdist_group("device_encoding")  # one worker makes the matchers

EXAMPLE = Path(__file__).parents[2] / "examples" / "trades"
SPEC = WorkloadSpec(
    expressions=150, attributes=8, cardinality=60, predicates=3, predicate_spread=1,
    pairs=7, pair_spread=1, events=400, match_rate=0.05, seed=6,
)  # fmt: skip
MANY = 60
"""Constants enough for a search to be worth it."""
DAY = "1990-01-01"
COLUMNS = {
    "truth": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "middle": "INT",
    "big": "BIGINT",
    "few_digits": "DECIMAL(4,2)",
    "digits": "DECIMAL(18,4)",
    "more_digits": "DECIMAL(30,2)",
    "single": "FLOAT",
    "real": "DOUBLE",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "text": "STRING",
    "other_tiny": "TINYINT",
    "other_big": "BIGINT",
    "other_real": "DOUBLE",
    "other_day": "DATE",
    "other_moment": "TIMESTAMP",
    "other_digits": "DECIMAL(18,4)",
    "other_truth": "BOOLEAN",
}
CONDITIONS = [
    "truth", "NOT truth", "truth IS NULL", "truth = other_truth",
    "tiny = -128", "tiny = 127", "tiny >= 0", "tiny IS NULL",
    "small <= -32768 OR small >= 32767",
    "middle = -2147483648", "middle = 2147483647", "middle > 0", "middle IS NOT NULL",
    "big = -9223372036854775808", "big = 9223372036854775807", "big < 0",
    "few_digits = -99.99", "few_digits = 99.99", "few_digits > 0.01",
    "digits = -99999999999999.9999", "digits = 99999999999999.9999", "digits <= 0",
    "more_digits > 12345678901234567890.00",
    "single = CAST('NaN' AS FLOAT)", "single = 0", "single < 0", "single <= 0.1",
    "real = CAST('NaN' AS DOUBLE)", "real = -0.0", "real < CAST('Infinity' AS DOUBLE)",
    "real > CAST('-Infinity' AS DOUBLE)", "real >= 4.9e-324", "real IS NULL",
    "day < DATE '1970-01-01'", f"day = DATE '{DAY}'",
    f"moment >= TIMESTAMP '{DAY} 00:00:00.000001'", "moment < TIMESTAMP '1970-01-01 00:00:00'",
    "text = ''", "text > 'a' AND truth", "text LIKE 'a%b'",
    "tiny < other_tiny", "tiny = small", "middle > tiny", "big <= middle", "small <=> big",
    "big <> other_big", "NOT (big <=> other_big)", "real = other_real", "real < other_real",
    "day >= other_day", "moment = other_moment", "digits < other_digits", "single <= real",
    "day < moment", "few_digits < digits", "middle < few_digits",
]  # fmt: skip


@pytest.fixture(scope="module")
def types() -> Iterator[Matcher]:
    """Conditions at the edges of every type, and many constants on one attribute of each kind."""
    queries = QuerySet(Schema.of(COLUMNS))
    for number, condition in enumerate(CONDITIONS):
        queries.add(f"{number:02} {condition}", condition)
    for number in range(MANY):
        queries.add(f"middle {number}", f"middle >= {number * number} AND truth")
        queries.add(f"real {number}", f"real = {number}.5 AND other_truth")
        queries.add(f"moment {number}", f"moment < TIMESTAMP '{1980 + number}-01-01 00:00:00'")
    with penstock.open(queries, engine="simulated", encode="device") as matcher:
        yield matcher


@pytest.fixture(scope="module")
def workload() -> Iterator[Matcher]:
    """A generated set, in tiles of 64."""
    queries = QuerySet(schema_for(SPEC))
    queries.add_predicates(generate_expressions(SPEC))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "PASSES", (encode, partial(cluster, tile_size=64)))
        matcher = penstock.open(queries, engine="simulated", encode="device")
    with matcher:
        yield matcher


def check(matcher: Matcher, events: Any) -> list[list[str]]:
    """The matches, which are those of the reference."""
    found: list[list[str]] = matcher.match(events)["matches"].to_pylist()
    with penstock.open(matcher.queries) as other:
        wanted = other.match(events)["matches"].to_pylist()
    for number, (one, another) in enumerate(zip(found, wanted, strict=True)):
        assert one == another, events[number] if isinstance(events, list) else number
    return found


def extremes(bits: int) -> list[int]:
    return [-(2 ** (bits - 1)), 1 - 2 ** (bits - 1), -1, 0, 1, 2 ** (bits - 1) - 1]


def type_events(count: int) -> list[dict[str, Any]]:
    """Values at the edges of their types and around the constants; a third is absent."""
    reals = [math.nan, -math.nan, 0.0, -0.0, math.inf, -math.inf, 5e-324, -5e-324, 0.5, 38.5, 0.1]
    days = [DAY, "1969-12-31", "1970-01-01", "0001-01-01", "9999-12-31"]
    moments = [f"{day} {time}" for day in days for time in ("00:00:00", "00:00:00.000001")]
    digits = [Decimal(text) for text in ("-99999999999999.9999", "99999999999999.9999", "0", "-1")]
    pools: dict[str, list[Any]] = {
        "truth": [True, False],
        "tiny": extremes(8),
        "small": extremes(16),
        "middle": [*extremes(32), 4, 3481, 3480],
        "big": [*extremes(64), *extremes(32)],
        "few_digits": [Decimal(text) for text in ("-99.99", "99.99", "0.01", "0.02", "-1", "0")],
        "digits": digits,
        "more_digits": [Decimal("12345678901234567890.01"), Decimal("12345678901234567890"), -1],
        "single": [*reals[:6], *(float(np.float32(n)) for n in (0.1, 1e-45, -1e-45))],
        "real": reals,
        "day": days,
        "moment": [*moments, "1985-01-01 00:00:00", "1984-12-31 23:59:59.999999"],
        "text": ["", "a", "aa", "ab", "b"],
    }
    pools |= {f"other_{name}": pools[name] for name in COLUMNS if f"other_{name}" in COLUMNS}
    rng = Random(12)
    return [
        {name: rng.choice(pool) for name, pool in pools.items() if rng.random() < 0.7}
        for _ in range(count)
    ]


def test_values_at_the_edges_of_every_type_answer_as_the_reference(types: Matcher) -> None:
    found = check(types, [*type_events(1500), {}, {}])
    seen = {id for ids in found for id in ids}
    assert {s.id for s in types.queries if s.id[0].isdigit()} <= seen
    assert len(seen) > 2.5 * MANY


def test_every_kind_of_circuit_is_there(types: Matcher) -> None:
    plan = plan_of(types.queries, encode="device")
    sources = {field.name: field.source for field in plan.fields}
    assert set(sources.values()) == set(Source)
    assert {sources[name] for name in ("middle", "real", "moment")} == {Source.RANK}
    assert {sources[name] for name in ("text", "more_digits", "single : real")} == {Source.HOST}
    assert sources["tiny : middle"] is sources["small : big"] is Source.COMPARE


def test_generated_workload_in_several_tiles_answers_as_the_reference(
    workload: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(workload.queries, encode="device")
    assert {f.source for f in plan.fields if isinstance(f, CodeField)} == {Source.RANK}
    monkeypatch.setattr(type(workload._device), "batch_events", 150)
    found = check(workload, generate_events(SPEC))
    assert sum(map(len, found)) > 1000


def test_event_is_answered_every_cycle_where_events_match_little(workload: Matcher) -> None:
    before = workload.counters
    assert not any(workload.match([{}] * 1000)["matches"].to_pylist())
    assert 1000 <= workload.counters["cycles"] - before["cycles"] <= 1050


def test_value_underneath_a_null_does_not_show(types: Matcher) -> None:
    null = pa.py_buffer(b"\0")
    middle = pa.Array.from_buffers(pa.int32(), 1, [null, pa.py_buffer(np.int32(7).tobytes())])
    (found,) = types.match(pa.table({"middle": middle}))["matches"].to_pylist()
    assert not any("middle" in id for id in found)


def test_command_prints_what_the_reference_prints(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(EXAMPLE / name) for name in ("rules.sql", "events.csv")]
    printed = []
    for more in ([], ["--engine", "simulated", "--encode", "device"]):
        assert main(["match", *files, "--json", *more]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""


@pytest.mark.parametrize("engine", ["reference", "oracle"])
def test_software_has_no_codes(engine: str) -> None:
    queries = QuerySet(Schema.of({"n": "INT"}))
    with pytest.raises(DeviceError, match=f"engine '{engine}' has no codes to make"):
        penstock.open(queries, engine=engine, encode="device")


def test_nobody_else_makes_codes() -> None:
    queries = QuerySet(Schema.of({"n": "INT"}))
    with pytest.raises(DeviceError, match="made by host or device, not by 'nobody'"):
        penstock.open(queries, engine="simulated", encode="nobody")
