"""The engines of one worker: opened once, the oldest closed if there are too many, all at exit."""

import subprocess
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from penstock import DataError, QuerySet, Schema
from penstock.host.saved.parcel import digest_of, packed
from penstock.spark_bridge import worker
from penstock.spark_bridge.observed import FIELDS, NUMBERS
from penstock.spark_bridge.worker import MOST_OPEN, Job, Key, Opened, open_once


class FakeMatcher:
    def __init__(self) -> None:
        self.times_closed = 0

    def close(self) -> None:
        self.times_closed += 1


@pytest.fixture(autouse=True)
def _nothing_is_open():
    worker.close_all()
    yield
    worker.close_all()


def opened(name: str, made: dict[str, FakeMatcher]) -> FakeMatcher:
    """The engine of a set, as a task gets it; made engines are noted."""

    def make() -> Opened:
        assert name not in made or made[name].times_closed, "opened twice"
        made[name] = FakeMatcher()
        return Opened(made[name])

    return open_once(Key(name, "software"), make).matcher


def test_an_engine_is_made_once_and_kept():
    made: dict[str, FakeMatcher] = {}
    first = opened("a", made)
    assert opened("a", made) is first and opened("b", made) is not first
    assert first.times_closed == 0


def test_engine_and_part_tell_engines_of_the_same_rules_apart():
    keys = [Key("a", "software"), Key("a", "oracle"), Key("a", "software", "version 1")]
    found = [open_once(key, lambda: Opened(FakeMatcher())) for key in keys]
    assert len({id(one.matcher) for one in found}) == 3


def test_the_one_that_was_not_asked_for_longest_is_closed():
    made: dict[str, FakeMatcher] = {}
    names = [f"s{number}" for number in range(MOST_OPEN)]
    for name in names:
        opened(name, made)
    opened("s0", made)  # so that s1 is the oldest
    opened("new", made)
    assert {name for name, one in made.items() if one.times_closed} == {"s1"}
    assert made["s1"].times_closed == 1
    opened("s1", made)  # and so it is made again
    assert {name for name, one in made.items() if one.times_closed} == {"s2"}


def test_room_is_made_before_the_next_is_opened():
    """Two sets too many at a time may be more than a worker has memory for."""
    for number in range(MOST_OPEN):
        open_once(Key(f"s{number}", "software"), lambda: Opened(FakeMatcher()))

    def make() -> Opened:
        assert len(worker._OPEN) == MOST_OPEN - 1
        return Opened(FakeMatcher())

    open_once(Key("new", "software"), make)


def test_an_engine_that_cannot_be_opened_leaves_nothing_behind():
    def fail() -> Opened:
        raise DataError("no such rules")

    for _ in range(2):
        with pytest.raises(DataError, match="no such rules"):
            open_once(Key("a", "software"), fail)
    assert opened("a", {}).times_closed == 0


def test_all_are_closed_when_a_process_ends():
    code = """
from penstock.spark_bridge.worker import Key, Opened, open_once

class Loud:
    def close(self):
        print("closed")

for name in "ab":
    open_once(Key(name, "software"), lambda: Opened(Loud()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("closed\n" * 2, "")


def test_two_sets_in_turn_are_answered_by_their_own_engines():
    jobs = []
    for limit in range(MOST_OPEN + 2):
        rules = QuerySet(Schema.of({"n": "INT"}))
        rules.add("below", f"n < {limit}")
        parcel = packed(rules)
        columns = [("n", "n")]
        jobs.append(
            Job((digest_of(parcel), parcel), None, "software", columns, None, "ids", 0, {}, "m")
        )
    batch = pa.record_batch({"n": pa.array(range(10), pa.int32())})
    for limit in [0, 3, 0, 5, 4, 2, 1, 0]:
        (found,) = worker.matched(iter([batch]), tuple(jobs[limit]))
        assert sum(map(len, found["m"].to_pylist())) == limit


@pytest.mark.parametrize(("output", "k"), [("ids", 0), ("pairs", 0), ("pairs", 1)])
def test_each_batch_bears_its_numbers_in_its_first_row(output, k):
    rules = QuerySet(Schema.of({"n": "INT"}))
    rules.add("small", "n < 2")
    rules.add("one", "n = 1")
    parcel = packed(rules)
    job = Job((digest_of(parcel), parcel), None, "software", [("n", "n")], None, output, k, {}, "m")
    sizes = [(0, 3), (2, 4), (0, 2), (5, 5)]  # from and to: the last is empty, the second matchless
    batches = [pa.record_batch({"n": pa.array(range(*size), pa.int32())}) for size in sizes]
    plain = [*worker.matched(iter(batches), tuple(job))]
    observed = [*worker.matched(iter(batches), tuple(job._replace(is_observed=True)))]
    assert len(plain) == len(observed) == 3
    numbers = []
    for one, other in zip(plain, observed, strict=True):
        borne = other[NUMBERS].to_pylist()
        assert borne[0] and not any(borne[1:])
        numbers.append(dict(zip(FIELDS, borne[0], strict=True)))
        rows = other.drop_columns([NUMBERS])
        if output == "pairs" and not one.num_rows:  # the row that Spark drops
            assert rows["m"].to_pylist() == [None]
            rows = rows.slice(1)
        assert rows.equals(one)
    matches = [2, 0, 2] if k else [3, 0, 3]
    assert [n["events"] for n in numbers] == [3, 2, 2]
    assert [n["matches"] for n in numbers] == matches
    assert [n["batches"] for n in numbers] == [1, 2, 3]
    assert [n["events_so_far"] for n in numbers] == [3, 5, 7]
    assert numbers[-1]["matches_so_far"] == sum(matches)
    assert numbers[-1]["matching_so_far"] == sum(n["matching"] for n in numbers) > 0
    assert [n["opened"] for n in numbers] == [0, 0, 0]


def test_an_engine_that_is_opened_for_a_batch_is_in_its_numbers():
    rules = QuerySet(Schema.of({"n": "INT"}))
    rules.add("any", "TRUE")
    parcel = packed(rules)
    job = Job((digest_of(parcel), parcel), None, "software", [], None, "ids", 0, {}, "m", True)
    batch = pa.record_batch({"n": [1]})
    found = [*worker.matched(iter([batch, batch]), tuple(job))]
    numbers = [dict(zip(FIELDS, one[NUMBERS][0].as_py(), strict=True)) for one in found]
    assert [n["opened"] for n in numbers] == [1, 0]
    assert numbers[0]["opening"] > 0 == numbers[1]["opening"]


@pytest.mark.parametrize("expires", [None, datetime(2999, 1, 1, tzinfo=UTC)])
def test_numbers_of_ids_stay_when_others_have_gone(expires):
    rules = QuerySet(Schema.of({"n": "INT"}))
    rules.add("a", "n > 0", expires=expires)
    rules.add("b", "n > 1")
    opened = worker.started(rules, "software", first=5)
    job = Job(None, None, "software", [], None, "numbers", 0, {}, "matches")
    events = pa.table({"n": pa.array([1, 2, None], pa.int32())})
    assert worker.answers(events, opened, job).to_pylist() == [[5], [5, 6], []]
    if expires:  # as it will be then
        opened.matcher.remove("a")
        assert worker.answers(events, opened, job).to_pylist() == [[], [6], []]
    opened.matcher.close()
