"""The simulated engine: the circuit itself answers as the reference does.

Few query sets, as each is compiled once, which takes ten seconds; `build/` keeps the result.
"""

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import penstock
from penstock import DeviceError, Matcher, QuerySet, Schema
from penstock.cli.main import main
from penstock.gen import passes
from penstock.gen.passes.cluster import cluster
from penstock.gen.passes.encode import encode
from penstock.gen.passes.host_only import host_only
from penstock.host.device import MATCHES
from penstock.host.events import Batch
from penstock.sim.simulated import circuit as circuit_module
from penstock.sim.simulated import device as device_module
from penstock.sim.workload import WorkloadSpec, generate_events, generate_expressions, schema_for

pytestmark = pytest.mark.xdist_group("simulated")  # one worker makes the matchers, for all tests

EXAMPLE = Path(__file__).parents[2] / "examples" / "trades"
MORE_RULES = """
CREATE SUBSCRIPTION ends ON trades WHERE symbol LIKE '%A' AND quantity > 10;
CREATE SUBSCRIPTION middle ON trades WHERE symbol LIKE 'N%D_' OR venue NOT LIKE '%S%';
CREATE SUBSCRIPTION same_text ON trades WHERE venue = symbol OR side <=> venue;
CREATE SUBSCRIPTION order_of_texts ON trades WHERE side < venue AND NOT odd_lot;
CREATE SUBSCRIPTION always ON trades WHERE TRUE;
CREATE SUBSCRIPTION always_too ON trades WHERE price IS NULL OR price >= 0 OR price < 0;
CREATE SUBSCRIPTION never ON trades WHERE quantity < 1 AND quantity > 2;
CREATE SUBSCRIPTION moved ON trades
    WHERE NOT (price <=> previous) AND settles <> DATE '2026-03-04';
"""
SPEC = WorkloadSpec(
    expressions=300, attributes=16, cardinality=40, predicates=3, predicate_spread=1,
    pairs=12, pair_spread=4, events=400, match_rate=0.05, seed=5,
)  # fmt: skip
TILE_SIZE = 64


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, and rules that the circuit only narrows down, or that always or never hold."""
    path = tmp_path_factory.mktemp("trades") / "rules.sql"
    path.write_text((EXAMPLE / "rules.sql").read_text(encoding="utf-8") + MORE_RULES)
    return path


@pytest.fixture(scope="module")
def trades(rules: Path) -> Iterator[Matcher]:
    with penstock.open(penstock.load(rules), engine="simulated") as matcher:
        yield matcher


@pytest.fixture(scope="module")
def workload() -> Iterator[Matcher]:
    """A generated set, in tiles of 64."""
    queries = QuerySet(schema_for(SPEC))
    queries.add_predicates(generate_expressions(SPEC))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "PASSES", (host_only, encode, partial(cluster, tile_size=TILE_SIZE)))
        plan = passes.plan_of(queries)
        assert len(plan.tiles) == 5
        assert sum(field.width for field in plan.fields) > 64  # a port of several words
        matcher = penstock.open(queries, engine="simulated")
    with matcher:
        yield matcher


def reference(matcher: Matcher, events: Any) -> list[list[str]]:
    with penstock.open(matcher.queries) as other:
        answers: list[list[str]] = other.match(events)["matches"].to_pylist()
        return answers


def trade_events(count: int) -> list[dict[str, Any]]:
    """Trades around the constants of the rules, a third of the attributes absent."""
    pools: dict[str, list[Any]] = {
        "symbol": ["AAPL", "NVDA", "NXDY", "A", "B", "XNAS", "", "\u00c4", "GMEA"],
        "venue": ["DARK", "DARL", "DAR", "XNAS", "XNYS", "B", "A"],
        "side": ["B", "S", "XNAS", ""],
        "price": [Decimal(text) for text in ("9.99", "10", "-1", "0", "99999999.99")],
        "previous": [Decimal(text) for text in ("9.99", "10", "10.01", "0")],
        "quantity": [9999, 10000, 99, 100, 11, 0, 2**31 - 1],
        "traded": [f"2026-03-02 14:{time}" for time in ("29:59.999999", "30:00", "35:00", "35:01")],
        "settles": ["2026-03-03", "2026-03-04", "2026-03-05"],
        "odd_lot": [True, False],
        "spread": [0.1, 0.10000000000000002, -0.0, float("nan"), float("inf"), -1.0],
    }
    rng = Random(11)
    return [
        {name: rng.choice(pool) for name, pool in pools.items() if rng.random() < 0.7}
        for _ in range(count)
    ]


def test_example_with_hard_conditions_answers_as_the_reference(trades: Matcher) -> None:
    events = trade_events(400)
    answer = trades.match(events)
    assert answer.schema == pa.schema([("event", pa.int64()), ("matches", MATCHES)])
    assert answer["matches"].to_pylist() == reference(trades, events)
    seen = {id for ids in answer["matches"].to_pylist() for id in ids}
    assert seen == {s.id for s in trades.queries} - {"never"}


def test_generated_workload_in_several_tiles_answers_as_the_reference(workload: Matcher) -> None:
    events = generate_events(SPEC)
    found = workload.match(events)["matches"].to_pylist()
    assert found == reference(workload, events)
    assert sum(map(len, found)) > 1000


def test_batches_in_a_row_answer_as_one(workload: Matcher, monkeypatch: pytest.MonkeyPatch) -> None:
    events = generate_events(SPEC)
    wanted = reference(workload, events)
    before = workload.counters
    for batch_events in (1, 7, 128):
        monkeypatch.setattr(type(workload._device), "batch_events", batch_events)
        few = events.slice(0, 20 * batch_events)
        assert workload.match(few)["matches"].to_pylist() == wanted[: len(few)]
    assert workload.counters["events"] - before["events"] == 20 + 140 + 400
    assert workload.counters["cycles"] > before["cycles"]


@pytest.mark.parametrize("count", [64, 65, 127, 300])
@pytest.mark.parametrize("room", [1, 1 << 16])
def test_batches_spread_over_all_lanes_answer_as_in_one(
    workload: Matcher, monkeypatch: pytest.MonkeyPatch, count: int, room: int
) -> None:
    events = generate_events(SPEC).slice(0, count)
    before = workload.counters
    monkeypatch.setattr(circuit_module, "SPREAD_EVENTS", 1)
    monkeypatch.setattr(circuit_module, "ROOM_MATCHES", room)
    for _ in range(2):  # the second finds lanes that have counted differently
        assert workload.match(events)["matches"].to_pylist() == reference(workload, events)
    assert workload.counters["events"] - before["events"] == 2 * count


@pytest.mark.parametrize("room", [1, 2, 50])
def test_more_matches_than_there_is_room_for_are_fetched_in_turns(
    workload: Matcher, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    events = generate_events(SPEC).slice(0, 100)
    chunks = workload.counters["chunks"]
    monkeypatch.setattr(circuit_module, "ROOM_MATCHES", room)
    assert workload.match(events)["matches"].to_pylist() == reference(workload, events)
    assert workload.counters["chunks"] - chunks > room


def test_room_that_is_filled_to_the_last_place_loses_nothing(
    workload: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = generate_events(SPEC).slice(0, 30)
    before = workload.counters["chunks"]
    wanted = workload.match(events)["matches"].to_pylist()
    monkeypatch.setattr(circuit_module, "ROOM_MATCHES", workload.counters["chunks"] - before)
    for _ in range(2):
        assert workload.match(events)["matches"].to_pylist() == wanted


def test_no_events_and_events_without_values_are_answered(trades: Matcher) -> None:
    assert trades.match([]).schema.field("matches").type == MATCHES
    assert trades.match([]).num_rows == 0
    assert trades.match([{}, {}])["matches"].to_pylist() == reference(trades, [{}, {}])
    assert trades._device is not None
    assert trades._device.match(Batch(trades.queries.schema, 0, {})).to_pylist() == []


def test_event_is_answered_every_cycle_where_events_match_little(trades: Matcher) -> None:
    before = trades.counters
    trades.match([{"symbol": "zz"}] * 1000)
    cycles = trades.counters["cycles"] - before["cycles"]
    assert 1000 <= cycles <= 1050
    assert trades.counters["stalls"] == before["stalls"]


def test_circuit_that_does_not_rank_leaves_it_to_the_host(trades: Matcher) -> None:
    events = trade_events(100)
    with penstock.open(trades.queries, engine="oracle") as other:
        for k in (1, 3, 100):
            assert trades.top_k(events, k).equals(other.top_k(events, k))


def test_command_prints_what_the_reference_prints(
    rules: Path, trades: Matcher, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for engine in ("reference", "simulated"):
        words = ["match", str(rules), str(EXAMPLE / "events.csv"), "--json", "--engine", engine]
        assert main(words) == 0
        printed.append(capsys.readouterr())
    assert printed[0].out == printed[1].out != ""
    assert " on engine simulated, " in printed[1].err
    assert printed[1].err.endswith(" cycles\n")


def one_query(text: str = "n = 1") -> QuerySet:
    queries = QuerySet(Schema.of({"n": "INT"}))
    queries.add("one", text)
    return queries


def test_closed_device_says_so(trades: Matcher) -> None:
    with penstock.open(trades.queries, engine="simulated") as matcher:
        device = matcher._device
    assert device is not None
    device.close()
    batch = Batch(trades.queries.schema, 1, {})
    for ask in (device.counters, lambda: device.match(batch)):
        with pytest.raises(DeviceError, match="this device is closed"):
            ask()


def test_waves_are_written_as_vcd(tmp_path: Path) -> None:
    path = tmp_path / "waves.vcd"
    with penstock.open(one_query(), engine="simulated", waves=path) as matcher:
        assert matcher.match([{"n": 1}, {"n": 2}])["matches"].to_pylist() == [["one"], []]
    text = path.read_text()
    assert text.startswith("$version") and "$enddefinitions $end" in text
    assert " i__valid $end" in text and " tile_0 $end" in text
    assert text.count("\n#") > 10


def test_waves_that_cannot_be_written_are_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_module, "build", None)
    for path in (tmp_path, tmp_path / "none" / "waves.vcd"):
        with pytest.raises(DeviceError, match="cannot be written: "):
            penstock.open(one_query(), engine="simulated", waves=path)


@pytest.mark.parametrize("engine", ["reference", "oracle"])
def test_software_has_no_waves(engine: str, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match=f"engine '{engine}' has no signals to record"):
        penstock.open(one_query(), engine=engine, waves=tmp_path / "waves.vcd")


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        ([], [[], [], [], []]),
        (["n < 1 AND n > 2", "n = NULL"], [[], [], [], []]),
        (
            ["n = NULL", "a <=> b", "b <=> a OR n = 1"],
            [["q1", "q2"], [], ["q1", "q2"], ["q1", "q2"]],
        ),
    ],
    ids=["empty", "never", "on the host alone"],
)
def test_set_without_a_circuit_is_answered(
    texts: list[str], wanted: list[list[str]], tmp_path: Path
) -> None:
    queries = QuerySet(Schema.of({"n": "INT", "a": "STRING", "b": "STRING"}))
    for number, text in enumerate(texts):
        queries.add(f"q{number}", text)
    texts_events = [{"a": "x", "b": "x"}, {"a": "x"}, {"n": 1}, {}]
    with penstock.open(queries, engine="simulated") as matcher:
        assert matcher.match(texts_events)["matches"].to_pylist() == wanted
        assert matcher.match([]).num_rows == 0
        assert set(matcher.counters.values()) == {0} and "cycles" in matcher.counters
        device = matcher._device
    assert device is not None
    for ask in (device.counters, lambda: device.match(Batch(queries.schema, 1, {}))):
        with pytest.raises(DeviceError, match="this device is closed"):
            ask()
    with pytest.raises(DeviceError, match="nothing of the set is on the device: no signals"):
        penstock.open(queries, engine="simulated", waves=tmp_path / "waves.vcd")
