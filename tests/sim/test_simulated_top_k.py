"""The k best on the simulated circuit, with scores, are those of the definition.

Few query sets, as each is compiled once.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import penstock
from penstock import Matcher, QuerySet, Schema
from penstock.cli.main import main
from penstock.gen.build import build
from penstock.gen.language.script import parse_subscription
from penstock.gen.plan import MOST_BEST
from penstock.host import decode as decode_module
from penstock.host.device import SCORED_MATCHES
from penstock.host.events import Batch, rows_of, to_table
from penstock.host.one_at_a_time import OneAtATime
from penstock.host.software.device import SoftwareDevice
from penstock.sim import oracle
from penstock.sim.simulated import circuit as circuit_module
from penstock.sim.simulated.device import SimulatedDevice

pytestmark = pytest.mark.xdist_group("simulated")

COLUMNS = {"a": "INT", "b": "INT", "c": "INT", "d": "DECIMAL(5,1)", "s": "STRING", "t": "STRING"}
SCHEMA = Schema.of(COLUMNS)
HIGHEST = 2**31 - 1
K = 10
BY_HOST = {
    "side": "weight(a > 1, 5) OR weight(b > 1, 7)",
    "side too": "(weight(a > 1, 5) OR weight(c < 3, 5)) AND weight(b > 0, 2)",
    "like": "weight(s LIKE '%x', 9) AND a > 0",
    "not like": "weight(s NOT LIKE '%x%', 4) OR weight(a = 2, 4)",
    "texts": "weight(s < t, 6)",
    "same": "weight(s <=> t, 3) OR weight(a = 1, 8)",
}
CORNERS = {
    "highest": f"weight(a >= 2, {HIGHEST}) AND weight(b >= 2, {HIGHEST})",
    "highest base": "a >= 3",
    "\u00c4": "weight(a = 1, 4)",
    "a": "weight(a = 1, 4)",
    "Z": "weight(a = 1, 4)",
    "": "weight(a = 1, 4)",
    "always": "TRUE",
    "never": "a < 1 AND a > 2",
    "absent": "weight(a IS NULL, 6)",
    "pair": "weight(b < c, 3)",
    "twice": "weight(a > 0, 3) AND weight(a < 5, 4) AND weight(b > 0, 1)",
    "same sides": "weight(a = 1, 2) OR weight(a = 3, 2)",
}


def random_text(rng: Random) -> str:
    parts = []
    for name in rng.sample("abcd", rng.randrange(1, 4)):
        text = f"{name} {rng.choice(['<', '<=', '>=', '>', '<>', '='])} {rng.randrange(5)}"
        parts.append(f"weight({text}, {rng.randrange(1, 4)})" if rng.random() < 0.6 else text)
    return rng.choice([" AND ", " AND ", " OR "]).join(parts)


def query_set() -> QuerySet:
    """Many that match often, and whose scores are often equal, in no order of ids."""
    rng = Random(23)
    queries = QuerySet(SCHEMA)
    texts = {**BY_HOST, **CORNERS, **{f"q{n}": random_text(rng) for n in range(90)}}
    for id in rng.sample(list(texts), len(texts)):
        base = HIGHEST if id.startswith("highest") else rng.choice([0, 0, 1, 2])
        queries.add(id, texts[id], weight=base)
    return queries


def set_of(texts: Mapping[str, str]) -> QuerySet:
    queries = QuerySet(SCHEMA)
    for id, text in texts.items():
        queries.add(id, text)
    return queries


def random_events(count: int, seed: int = 5) -> list[dict[str, Any]]:
    rng = Random(seed)
    pools = {name: range(-1, 6) for name in "abcd"} | {name: ["x", "y", "ax", ""] for name in "st"}
    return [
        {name: rng.choice(pool) for name, pool in pools.items() if rng.random() < 0.8}
        for _ in range(count)
    ]


WEIGHTS: list[Mapping[str, int] | None] = [
    None,
    {"a": 0},
    {"a": 3, "b": 0, "d": 7, "s": 2},
    {"a": 2**16 - 1, "b": 2**16 - 1, "c": 2**16 - 1},
    {"a": 2**16, "c": 5},  # more than the circuit multiplies with
    {},
]


@pytest.fixture(scope="module")
def ranked() -> Iterator[Matcher]:
    with penstock.open(query_set(), engine="simulated", k=K) as matcher:
        yield matcher


@pytest.fixture(scope="module")
def model() -> Iterator[Matcher]:
    with penstock.open(query_set(), engine="oracle") as matcher:
        yield matcher


EVENTS = [{}, *random_events(150), {}]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_best_are_those_of_the_definition(
    ranked: Matcher, model: Matcher, weights: Mapping[str, int] | None
) -> None:
    for k in (1, 2, K, K + 1, 1000):
        found = ranked.top_k(EVENTS, k, weights=weights)
        assert found.schema.field("matches").type == SCORED_MATCHES
        assert found["matches"].to_pylist() == (
            model.top_k(EVENTS, k, weights=weights)["matches"].to_pylist()
        )


def test_matching_and_ranking_take_turns(ranked: Matcher, model: Matcher) -> None:
    rng = Random(9)
    for turn in range(30):
        events = random_events(rng.randrange(4), seed=turn)
        if rng.random() < 0.5:
            assert ranked.match(events).equals(model.match(events))
        else:
            k, weights = rng.choice([1, 5, K, 12]), rng.choice(WEIGHTS)
            assert ranked.top_k(events, k, weights=weights).equals(
                model.top_k(events, k, weights=weights)
            )


def test_circuit_ranks_all_that_it_decides_and_scores() -> None:
    manifest = build(query_set(), k=K).manifest
    assert manifest.ranking is not None
    ids = {manifest.ids[entry] for entry in manifest.ranking.entries}
    assert not ids & {*BY_HOST, "never"} and set(CORNERS) - {"never"} <= ids
    assert len(ids) > 60 and manifest.chunk_count > 2


def test_circuit_itself_keeps_the_best(ranked: Matcher) -> None:
    """As many as it was built for, and none of them as match bits."""
    assert isinstance(ranked._device, OneAtATime)
    device = ranked._device._device
    assert isinstance(device, SimulatedDevice)
    batch = Batch.of(to_table(EVENTS, SCHEMA), SCHEMA).wide()
    assert device._ranking is not None
    device._send(device._ranking.turn_on({}))
    found = device._found(batch)
    assert max(list(found.best["event"]).count(n) for n in range(len(EVENTS))) == K
    manifest = build(query_set(), k=K).manifest
    assert manifest.ranking is not None
    ids = pa.array([manifest.ids[entry] for entry in manifest.ranking.entries])
    matches = device._subscribers.answers(
        batch, found.matches["event"].copy(), found.matches["chunk"].astype(int),
        found.matches["bits"].copy(),
    )  # fmt: skip
    assert not set(matches.flatten().to_pylist()) & set(ids.to_pylist())
    assert len(matches.flatten()), "the host had nothing to rank"


@pytest.mark.parametrize("room", [1, 3])
def test_results_that_fill_their_room_come_in_several_calls(
    ranked: Matcher, model: Matcher, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_module, "ROOM_MATCHES", room)
    assert ranked.top_k(EVENTS, K).equals(model.top_k(EVENTS, K))


def test_no_events_and_no_matches() -> None:
    queries = QuerySet(SCHEMA)
    queries.add("x", "weight(a = 1, 2)")
    with penstock.open(queries, engine="simulated", k=1) as matcher:
        assert matcher.top_k([], 1).num_rows == 0
        assert matcher.top_k([{"a": 2}, {}], 1)["matches"].to_pylist() == [[], []]
        assert (
            matcher.top_k([{"a": 1}] * 2, 1)["matches"].to_pylist()
            == [[{"id": "x", "score": 2}]] * 2
        )
        # 2 of reset, a word that turns it on, and two calls of events.
        assert matcher.counters["events"] == 4


@pytest.mark.parametrize("encode", ["host", "device"])
def test_subscriptions_that_come_and_go_are_ranked(encode: str) -> None:
    texts = {"built": "weight(a > 1, 2)", "also": "weight(b > 1, 2) AND c > 0", **BY_HOST}
    queries = set_of(texts)
    software = SoftwareDevice(queries.empty())
    device = SimulatedDevice(queries, software=software, spare=20, encode=encode, k=3)
    present = {subscription.id: subscription for subscription in queries}
    batch = Batch.of(to_table(EVENTS, SCHEMA), SCHEMA)
    rows = rows_of(batch.wide(), SCHEMA)

    def check(k: int, weights: Mapping[int, int], only: Sequence[str] | None = None) -> None:
        asked = [s for id, s in present.items() if only is None or id in only]
        ids = None if only is None else pa.array(sorted(only), pa.string())
        found = device.top_k(batch, k, weights, ids).to_pylist()
        assert [[(match["id"], match["score"]) for match in best] for best in found] == (
            [oracle.top_k(asked, row, k, weights) for row in rows]
        )

    def add(id: str, text: str) -> None:
        present[id] = parse_subscription(id, text, SCHEMA, "text", 1)
        added = queries.empty()
        added.insert(present[id])
        device.add(added)

    check(3, {})
    for id, text in {
        "new": "weight(a > 0, 4)",
        "depends": "weight(a > 2, 1) OR weight(b > 2, 5)",
        "with like": "weight(s LIKE '%x', 7)",
        "texts again": "weight(s <=> t, 5)",
        **{f"{place:02}": f"weight(a >= {place % 5}, {place % 3})" for place in range(24)},
        "zz like": "weight(s LIKE '%x', 8) OR weight(b = 1, 3)",
    }.items():
        add(id, text)
        check(3, {0: 2})
        check(5, {})
    places = ["also", "new", "texts again", "zz like"]
    assert [device.where(id) for id in places] == ["gates", "table", "host", "software"]
    for asked in (places, ["23", "zz like"], ["built", "side"], ["22"], []):
        check(3, {}, asked)
        check(1, {1: 3}, asked)
    for id in ("built", "new", "side", "depends", "23"):
        device.remove([id])
        del present[id]
        check(3, {})
    add("built", "weight(c = 1, 9) OR a = 1")
    check(3, {2: 5})
    device.close()


def test_command_ranks_on_the_circuit_as_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (a INT);\n"
        "CREATE SUBSCRIPTION x ON s WHERE weight(a > 1, 2);\n"
        "CREATE SUBSCRIPTION y ON s WEIGHT 1 WHERE a > 0;\n"
    )
    (tmp_path / "e.csv").write_text("a\n1\n2\n0\n")
    for top in ("1", "9", "300"):
        printed = []
        for engine in ("reference", "simulated"):
            words = ["match", str(tmp_path / "q.sql"), str(tmp_path / "e.csv"), "--json"]
            assert main([*words, "--engine", engine, "--top", top]) == 0
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1] != ""


def test_circuits_keep_no_more_than_so_many() -> None:
    queries = query_set()
    for k in (0, MOST_BEST + 1):
        with pytest.raises(ValueError, match=f"k must be from 1 to 256 in a circuit, not {k}"):
            penstock.open(queries, engine="simulated", k=k)


@pytest.mark.parametrize(("id", "weight"), [("twice", 2**61), ("side", 2**61), ("like", 2**64)])
def test_scores_that_need_more_than_64_bits_are_refused(
    ranked: Matcher, model: Matcher, id: str, weight: int
) -> None:
    weights = {"a": weight, "s": weight}
    events = [{"a": 2, "b": 1, "s": "x"}]
    with pytest.raises(ValueError, match="with these weights, scores exceed 64 bits"):
        ranked.top_k(events, 1, weights=weights, only=[id])
    assert ranked.top_k(events, 3).equals(model.top_k(events, 3))


def test_set_that_the_host_ranks_alone_is_answered() -> None:
    queries = QuerySet(SCHEMA)
    queries.add("x", "s <=> t OR weight(a = 1, 3)", weight=2)
    with penstock.open(queries, engine="simulated", k=2) as matcher:
        found = matcher.top_k([{"a": 1}, {"s": "x"}], 2)["matches"].to_pylist()
    assert found == [[{"id": "x", "score": 5}], []]


def test_equal_scores_by_place_and_not_by_score_are_noticed(
    ranked: Matcher, model: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: the host joins the circuit's best with its own in the order of ids."""
    joined = decode_module.Decoder.best

    def wrong(self: Any, events: Any, places: Any, scores: Any, **how: int) -> Any:
        return joined(self, events, places, scores * 0, **how)

    monkeypatch.setattr(decode_module.Decoder, "best", wrong)
    assert not ranked.top_k(EVENTS, 2).equals(model.top_k(EVENTS, 2))
