"""The three steps of a sharded match, without Spark between them."""

import random
from itertools import chain, product

import numpy as np
import pyarrow as pa
import pytest

import penstock
from penstock import DataError, QuerySet, Schema
from penstock.host.saved.parcel import digest_of, packed
from penstock.spark_bridge import shard_answer, shard_cut, shard_merge, worker
from penstock.spark_bridge.shard_answer import Shards, answered
from penstock.spark_bridge.shard_cut import cut_in_task
from penstock.spark_bridge.shard_merge import joined, merged
from penstock.spark_bridge.worker import Job

SCHEMA = Schema.of({"n": "INT", "m": "INT"})
COLUMNS = [("n", "n"), ("m", "m")]


@pytest.fixture
def rules() -> QuerySet:
    rng = random.Random(5)
    queries = QuerySet(SCHEMA)
    for number in rng.sample(range(1000), 40):
        low = rng.randrange(10)
        queries.add(f"r{number}", f"n >= {low} AND n <= {low + 3} OR m = {low}", weight=low % 3)
    return queries


@pytest.fixture(autouse=True)
def _nothing_stays_open():
    yield
    worker.close_all()


def job_of(output="ids", k=0) -> Job:
    return Job(None, None, "software", COLUMNS, None, output, k, {}, "matches")


def shards_of(rules: QuerySet, count: int) -> Shards:
    sets = rules.split(count)
    parcels = [packed(shard) for shard in sets]
    firsts = [sum(map(len, sets[:number])) for number in range(count)]
    return Shards("a set", count, [(digest_of(p), p) for p in parcels], firsts)


def batch_of(seed: int, rows: int) -> pa.RecordBatch:
    rng = random.Random(seed)
    values = [[rng.choice([None, *range(12)]) for _ in range(rows)] for _ in COLUMNS]
    columns = {name: pa.array(v, pa.int32()) for v, (name, _) in zip(values, COLUMNS, strict=True)}
    return pa.record_batch({**columns, "row": [f"{seed}/{number}" for number in range(rows)]})


def pieces_of(batches, job, shards, slots=1, task=3) -> list[pa.RecordBatch]:
    return [*cut_in_task(task, iter(batches), job, shards.number, slots)]


def answers_of(pieces, job, shards) -> list[pa.RecordBatch]:
    """As Spark brings them to the last step: by task and number."""
    found = [*answered(iter(pieces), tuple(job), tuple(shards))]
    return sorted(found, key=lambda one: (one["task"][0].as_py(), one["number"][0].as_py()))


def rows_of(answers, job, shards) -> list[dict]:
    found = merged(iter(answers), tuple(job), shards.number)
    return [row for batch in found for row in batch.to_pylist()]


def unsharded(batches, job, rules) -> list[dict]:
    parcel = packed(rules)
    whole = job._replace(shipment=(digest_of(parcel), parcel))
    return [row for b in worker.matched(iter(batches), tuple(whole)) for row in b.to_pylist()]


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 40, 90])
@pytest.mark.parametrize(("output", "k"), [("ids", 0), ("numbers", 0), ("pairs", 0), ("ids", 3)])
def test_the_steps_say_what_one_engine_says(rules, shards, output, k):
    batches = [batch_of(1, 50), batch_of(2, 0), batch_of(3, 1)]
    job, sent = job_of(output, k), shards_of(rules, shards)
    answers = answers_of(pieces_of(batches, job, sent), job, sent)
    assert rows_of(answers, job, sent) == unsharded(batches, job, rules)


def test_batches_are_cut_into_pieces_and_answers_put_together_in_parts(rules, monkeypatch):
    monkeypatch.setattr(shard_merge, "MOST_BYTES", 400)
    batches = [batch_of(1, 50)]
    job, sent = job_of(), shards_of(rules, 3)
    wanted = unsharded(batches, job, rules)
    for name, most, pieces in (("MOST_ROWS", 10, 8), ("MOST_BYTES", 200, 6)):
        with monkeypatch.context() as context:
            context.setattr(shard_cut, name, most)
            made = pieces_of(batches, job, sent)
        assert len(made) >= 3 * pieces
        answers = answers_of(made, job, sent)
        assert rows_of(answers, job, sent) == wanted
        assert len([*merged(iter(answers), tuple(job), 3)]) > len(made) / 3


def test_rows_travel_once_and_no_longer_than_they_are(rules):
    job, sent = job_of(), shards_of(rules, 4)
    large = batch_of(1, 10_000)
    pieces = pieces_of([large.slice(10, 100), large.slice(500, 100)], job, sent)
    assert [p["rows"][0].is_valid for p in pieces] == [True, *[False] * 4, True, *[False] * 2]
    assert all(p.nbytes < 10_000 for p in pieces)


def test_pieces_have_the_same_names_for_the_same_rows_only(rules):
    job, sent = job_of(), shards_of(rules, 2)

    def names(*batches):
        made = pieces_of(batches, job, sent, slots=3, task=4)
        return [(p["place"][0].as_py(), p["number"][0].as_py(), p["digest"][0]) for p in made]

    large = batch_of(1, 30)
    assert names(large.slice(10)) == names(
        pa.record_batch(large.slice(10).to_pydict(), large.schema)
    )
    assert not {*names(large.slice(10))} & {*names(large.slice(9))}
    assert not {*names(batch_of(1, 30))} & {*names(batch_of(2, 30))}
    several = names(large, batch_of(2, 30), batch_of(3, 30))
    assert {place for place, _, _ in several} == {1, 4}  # task 4 of 3 slots


def planted(answers: list[pa.RecordBatch]):
    """Ways in which a piece of three shards is not whole, by name."""
    first, second, third = answers
    other = second.set_column(second.schema.get_field_index("digest"), "digest", pa.array([b"x"]))
    yield "one is missing", [first, third]
    yield "the last is missing", [first, second]
    yield "the one with the rows is missing", [second, third]
    yield "one is there twice", [first, second, second, third]
    yield "one is there for another", [first, third, third]
    yield "one answered other rows", [first, other, third]
    yield (
        "there is one too many",
        [*answers, third.set_column(3, "shard", pa.array([3], pa.int32()))],
    )


@pytest.mark.parametrize("number", range(7))
def test_a_piece_that_is_not_whole_is_an_error(rules, number):
    job, sent = job_of(), shards_of(rules, 3)
    answers = answers_of(pieces_of([batch_of(1, 20)], job, sent), job, sent)
    what, wrong = [*planted(answers)][number]
    assert rows_of(answers, job, sent), what
    with pytest.raises(DataError, match=r"piece 0 of the events of task 3 was not answered once"):
        rows_of(wrong, job, sent)


def test_events_that_come_otherwise_the_second_time_are_never_mixed(rules):
    """Each task of the second step has what Spark computed the first or the second time."""
    job, sent, slots = job_of(), shards_of(rules, 2), 2
    first = {task: [batch_of(task, 9), batch_of(10 + task, 9)] for task in range(3)}
    # The same rows in other batches; rows fewer; and the same again.
    second = {0: [first[0][1], first[0][0]], 1: [first[1][0]], 2: first[2]}
    by_place = []
    for batches in (first, second):
        pieces = [p for t, b in batches.items() for p in pieces_of(b, job, sent, slots, task=t)]
        places = {place: [] for place in range(4)}
        for piece in pieces:
            places[piece["place"][0].as_py()].append(piece)
        by_place.append(
            {n: [*answered(iter(p), tuple(job), tuple(sent))] for n, p in places.items()}
        )
    outcomes = set()
    for chosen in product((0, 1), repeat=4):
        answers = [one for place in range(4) for one in by_place[chosen[place]][place]]
        for task in range(3):
            mine = [one for one in answers if one["task"][0].as_py() == task]
            mine.sort(key=lambda one: one["number"][0].as_py())
            try:
                got = rows_of(mine, job, sent)
            except DataError:
                outcomes.add((task, "error"))
                continue
            whole = [unsharded(when[task], job, rules) for when in (first, second)]
            assert got in whole
            outcomes.add((task, whole.index(got)))
    assert outcomes == {(0, 0), (0, 1), (0, "error"), (1, 0), (1, 1), (1, "error"), (2, 0)}


def test_a_worker_has_one_shard_of_a_set_at_a_time(rules, monkeypatch):
    job, sent = job_of(), shards_of(rules, 3)
    open_at_once, opened, really = [], [], penstock.open

    def counting(queries, **options):
        open_at_once.append([key for key in worker._OPEN if key.rules == "a set"])
        opened.append(len(queries))
        return really(queries, **options)

    monkeypatch.setattr(worker.penstock, "open", counting)
    unsharded([batch_of(1, 5)], job, rules)  # of another name: it stays
    pieces = pieces_of([batch_of(1, 5), batch_of(2, 5)], job, sent)
    pieces.sort(key=lambda piece: piece["shard"][0].as_py())
    answers_of(pieces, job, sent)
    assert len(opened) == 1 + 3 and open_at_once == [[]] * 4
    parts = [key.part for key in worker._OPEN]
    assert parts == ["", "shard 2 of 3"]


def test_the_k_best_of_equal_scores_are_the_first_ids():
    of = pa.list_(pa.struct([("id", pa.string()), ("score", pa.int64())]))
    lists = [
        [[("a", 5), ("b", 1)], [], [("a", 1), ("b", 1)]],
        [[("c", 5), ("d", 5)], [("c", 7)], []],
        [[("e", 9), ("f", 5)], [], [("e", 2), ("f", 1)]],
    ]
    found = [pa.array([[{"id": i, "score": s} for i, s in e] for e in one], of) for one in lists]
    best = joined(found, 3).to_pylist()
    assert [[m["id"] for m in event] for event in best] == [["e", "a", "c"], ["c"], ["e", "a", "b"]]
    assert [[m["score"] for m in event] for event in best] == [[9, 5, 5], [7], [2, 1, 1]]


@pytest.mark.parametrize("seed", range(5))
def test_lists_are_joined_as_python_would(seed):
    rng = np.random.default_rng(seed)
    found = [
        [[*range(10 * shard, 10 * shard + rng.integers(4))] for _ in range(20)]
        for shard in range(rng.integers(1, 6))
    ]
    arrays = [pa.array([[0], *one], pa.list_(pa.int32())).slice(1) for one in found]
    assert joined(arrays, 0).to_pylist() == [[*chain(*lists)] for lists in zip(*found, strict=True)]


def test_answers_that_are_too_large_say_what_to_do(rules, monkeypatch):
    job, sent = job_of(), shards_of(rules, 2)
    pieces = pieces_of([batch_of(1, 20)], job, sent)
    for module in (shard_answer, worker):
        with monkeypatch.context() as context:
            context.setattr(module, "MOST_BYTES", 10)
            with pytest.raises(DataError, match=r"(?s)20 events takes .*maxRecordsPerBatch"):
                answers_of(pieces, job, sent)
