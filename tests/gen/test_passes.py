"""Query sets as plans: golden pairs, each also executed, and the same bytes every time.

A golden file is a query file, a line ``---`` and the plan as text.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from plan_answers import PlanAnswers, Row, code_of
from strategies import is_usable

from penstock import QuerySet, Schema, load
from penstock.gen.build import build
from penstock.gen.explain import plan_svg, plan_text
from penstock.gen.explain.text import ENTRIES_SHOWN
from penstock.gen.manifest import to_json
from penstock.gen.passes import plan_of
from penstock.gen.passes.cluster import cluster
from penstock.gen.plan import CHUNK_BITS, CodeField, Gate, Plan
from penstock.gen.schema import Attribute
from penstock.gen.types import Key, Value
from penstock.sim import oracle

GOLDEN = sorted(Path(__file__).parents[1].joinpath("golden", "plan").glob("*.txt"))
EVENTS = 300
PRINT_BUILD = """
import sys
from penstock import load
from penstock.gen.build import build
from penstock.gen.explain import plan_svg, plan_text
from penstock.gen.manifest import to_json
built = build(load(sys.argv[1]))
for part in (plan_text(built.plan), plan_svg(built.plan), built.circuit, to_json(built.manifest)):
    sys.stdout.buffer.write(part.encode() + b"\\0")
"""


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[QuerySet, str]:
    """The query set and the text of one golden pair."""
    script, _, text = request.param.read_text(encoding="utf-8").partition("---\n")
    (tmp_path / "rules.sql").write_text(script, encoding="utf-8")
    return load(tmp_path / "rules.sql"), text.rstrip("\n")


def test_plan_is_as_in_the_golden_file(golden: tuple[QuerySet, str]) -> None:
    queries, text = golden
    assert plan_text(plan_of(queries)) == text


def test_golden_plan_means_what_its_queries_mean(golden: tuple[QuerySet, str]) -> None:
    queries, _ = golden
    plan = plan_of(queries)
    answers = PlanAnswers(plan)
    seen = set()
    for row in events_around(plan, Random(7)):
        codes = [code_of(field, row) for field in plan.fields]
        wanted = set(oracle.matches(queries, row))
        assert answers.exact(codes, row, queries.schema) == wanted, row
        seen |= wanted
    placed = {plan.entries[entry].id for tile in plan.tiles for entry in tile.entries}
    placed |= {entry.id for entry in plan.entries if entry.root is None}
    assert seen == placed, "some subscription was never put to the test"


def events_around(plan: Plan, rng: Random) -> list[Row]:
    """Events on and next to the cuts of the plan, and far from them; some attributes absent."""
    candidates = [_candidates(plan, attribute) for attribute in plan.schema]
    rows = []
    for _ in range(EVENTS):
        drawn = (rng.choice([None, *values]) for values in candidates)
        rows.append({index: value for index, value in enumerate(drawn) if value is not None})
    return rows


def _candidates(plan: Plan, attribute: Attribute) -> list[Value]:
    of = attribute.type
    keys: set[Key] = {"", "ABC", "AMZ", "50%ax", "zz"} if of.name == "STRING" else {0, 1, 1000}
    for field in plan.fields:
        if isinstance(field, CodeField) and field.attribute == attribute:
            keys |= set(field.cuts)
    near = {k if isinstance(k, str) else k + step for k in keys for step in (-1, 0, 1)}  # type: ignore[operator]
    return [of.value(key) for key in sorted(near) if is_usable(key, of)]


def test_same_queries_give_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    schema = Schema.of({"a": "INT", "b": "STRING", "c": "DOUBLE", "d": "INT"})
    rng = Random(3)
    lines = [f"{schema};"]
    for number in range(60):
        texts = [
            f"a {rng.choice(['<', '>=', '='])} {rng.randrange(20)}",
            f"b {rng.choice(['IN', 'NOT IN'])} ('{rng.randrange(9)}', 'x')",
            rng.choice(["c > 1.5D", "a < d", "b LIKE '1%2'", "c IS NULL"]),
        ]
        joined = rng.choice([" AND ", " OR "]).join(rng.sample(texts, 2))
        lines.append(f"CREATE SUBSCRIPTION q{number} ON events WHERE {joined};")
    path = tmp_path / "rules.sql"
    path.write_text("\n".join(lines), encoding="utf-8")
    built = build(load(path))
    parts = (plan_text(built.plan), plan_svg(built.plan), built.circuit, to_json(built.manifest))
    assert built == build(load(path))
    assert build(load(path), spare=5) == build(load(path), spare=5) != built
    for seed in ("1", "2"):
        printed = subprocess.run(
            [sys.executable, "-c", PRINT_BUILD, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        assert tuple(printed.decode().split("\0")[:-1]) == parts


def test_order_of_subscriptions_does_not_move_them_between_tiles() -> None:
    texts = {f"q{n}": f"a >= {n * 7 % 40} AND b < {n}" for n in range(40)}
    orders = [list(texts), list(reversed(texts))]
    placed = []
    for order in orders:
        queries = QuerySet(Schema.of({"a": "INT", "b": "INT"}))
        for id in order:
            queries.add(id, texts[id])
        plan = cluster(plan_of(queries), tile_size=16)
        placed.append([[plan.entries[entry].id for entry in tile.entries] for tile in plan.tiles])
    assert placed[0] == placed[1]


@pytest.mark.parametrize(
    ("count", "tile_size", "first_chunks", "chunk_count"),
    [
        (1, 512, [0], 1),
        (33, 512, [0], 2),
        (200, 96, [0, 4, 7], 8),  # three chunks each, aligned to four; then one
        (130, 65, [0, 4], 7),
    ],
)
def test_tiles_start_at_multiples_of_their_size(
    count: int, tile_size: int, first_chunks: list[int], chunk_count: int
) -> None:
    queries = QuerySet(Schema.of({"n": "INT"}))
    for number in range(count):
        queries.add(f"q{number:03}", f"n >= {number}")
    plan = cluster(plan_of(queries), tile_size=tile_size)
    assert [tile.first_chunk for tile in plan.tiles] == first_chunks
    assert plan.chunk_count == chunk_count
    assert sorted(e for tile in plan.tiles for e in tile.entries) == list(range(count))
    assert all(-(-len(tile.entries) // CHUNK_BITS) <= chunk_count for tile in plan.tiles)


@pytest.mark.parametrize(
    ("count", "tile_size", "sizes"),
    [
        (384, 384, [384]),
        (385, 384, [224, 161]),  # seven chunks and six, not twelve and one
        (1000, 384, [352, 352, 296]),
        (5, 2, [2, 2, 1]),  # tiles of less than a chunk, as tests have them
    ],
)
def test_tiles_are_about_as_large_as_each_other(
    count: int, tile_size: int, sizes: list[int]
) -> None:
    queries = QuerySet(Schema.of({"n": "INT"}))
    for number in range(count):
        queries.add(f"q{number}", f"n >= {number}")
    plan = cluster(plan_of(queries), tile_size=tile_size)
    assert [len(tile.entries) for tile in plan.tiles] == sizes


def test_set_without_subscriptions_has_a_plan_without_tiles() -> None:
    plan = plan_of(QuerySet(Schema.of({"n": "INT"})))
    assert (plan.tiles, plan.fields, plan.chunk_count) == ((), (), 0)
    assert plan_text(plan).startswith("stream events: 0 subscriptions, 0 on the device")


def test_plan_shows_the_room_that_is_spare() -> None:
    queries = QuerySet(Schema.of({"n": "INT", "on": "BOOLEAN"}))
    for number in range(33):
        queries.add(f"q{number}", f"n = {number}")
    plan, spare = plan_of(queries), plan_of(queries, spare=65)
    assert spare.chunk_count == 4 + 3
    assert spare == replace(plan, table=spare.table, chunk_count=7)
    sections = plan_text(spare).split("\n\n")
    assert sections[-1].splitlines() == [
        "table",
        "  room for 65 subscriptions, chunks 4 to 6",
        "  8 more bits per event in 2 codes",
        "    n   INT      63 stretches  6 bits",
        "    on  BOOLEAN  3 stretches   2 bits",
    ]
    assert sections[0].endswith("; 1 tiles, 7 chunks of 32 match bits")
    assert sections[1:-1] == plan_text(plan).split("\n\n")[1:]


@pytest.mark.parametrize(
    ("built_in", "capacity", "first_chunk", "base"),
    [(0, 1, 0, 0), (1, 1, 1, 128), (1, 33, 2, 256), (5000, 40, 158, 256)],
)
def test_table_follows_the_tiles(built_in: int, capacity: int, first_chunk: int, base: int) -> None:
    queries = QuerySet(Schema.of({"n": "INT"}))
    for number in range(built_in):
        queries.add(f"q{number}", f"n = {number}")
    table = plan_of(queries, spare=capacity).table
    assert table is not None
    assert (table.first_chunk, table.base) == (first_chunk, base)


def test_room_is_not_negative() -> None:
    with pytest.raises(ValueError, match="spare must not be negative, not -1"):
        plan_of(QuerySet(Schema.of({"n": "INT"})), spare=-1)


def test_long_lists_are_cut_short_and_say_so() -> None:
    queries = QuerySet(Schema.of({"n": "INT", "s": "STRING", "t": "STRING"}))
    count = ENTRIES_SHOWN + 5
    for number in range(count):
        queries.add(f"never {number}", f"n < {number} AND n > {number}")
        queries.add(f"like {number}", f"s LIKE '%{number}'")
        queries.add(f"same {number}", f"s <=> t OR n = {number}")
        queries.add(f"again {number}", f"n = {number // 2}")
    text = plan_text(plan_of(queries))
    sections = dict(part.split("\n", 1) for part in text.split("\n\n")[1:])
    for title in ("finished on the host", "on the host alone", "can never match, so nowhere"):
        assert sections[title].splitlines()[-1] == "  ... and 5 more"
    assert sections["tiles"].splitlines()[-1] == f"    ... and {2 * count - ENTRIES_SHOWN} more"
    assert "... and" in sections["shared"].splitlines()[-1]


def test_what_the_device_cannot_narrow_down_has_no_node_and_no_place() -> None:
    queries = QuerySet(Schema.of({"n": "INT", "s": "STRING", "t": "STRING"}))
    queries.add("same", "s <=> t")
    queries.add("both", "n = 1 AND n < 5 OR s = 'x' AND n > 2")
    plan = plan_of(queries)
    assert [entry.root is None for entry in plan.entries] == [True, False]
    assert [tile.entries for tile in plan.tiles] == [(1,)]
    assert Gate(()) not in plan.nodes
    assert all(i < n for n, node in enumerate(plan.nodes) for i in getattr(node, "inputs", ()))


def test_what_always_holds_keeps_its_place_beside_what_only_the_host_tests() -> None:
    queries = QuerySet(Schema.of({"s": "STRING", "t": "STRING"}))
    queries.add("same", "s <=> t")
    queries.add("always", "TRUE")
    plan = plan_of(queries)
    assert plan.nodes == (Gate(()),)
    assert [entry.root for entry in plan.entries] == [None, 0]


def test_what_never_holds_when_weakened_is_left_to_nobody() -> None:
    queries = QuerySet(Schema.of({"s": "STRING", "t": "STRING"}))
    queries.add("never", "s LIKE 'a%x' AND s LIKE 'b%x'")
    (entry,) = plan_of(queries).entries
    assert (entry.residual, entry.reason) == (None, "")


def test_progress_is_told_while_planning() -> None:
    queries = QuerySet(Schema.of({"n": "INT"}))
    queries.add("x", "n = 1")
    seen: list[tuple[str, int, int]] = []
    plan_of(queries, lambda *step: seen.append(step))
    assert seen == [("planning subscriptions", 0, 1)]
