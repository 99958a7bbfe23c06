"""Each claim holds for a run that went well, and names what did not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.sim.cocotb_bench import claims
from penstock.sim.cocotb_bench.claims import Record
from penstock.sim.cocotb_bench.stimulus import Item, Layout, Stream

LAYOUT = Layout(chunk_bits=4, index_bits=2, sequence_bits=8, latency_cycles=5)
STREAM = Stream(
    "small",
    (Item(1), Item(9, ("valid bits off",)), Item(2), Item(3), Item(4)),
    (((0, 1), (2, 8)), (), ((1, 3), (2, 4)), ((3, 15),)),
)
SPARSE = Stream("sparse", (Item(1), Item(2), Item(3)), (((0, 1),), (), ((1, 2),)))


def good_run(stream: Stream = STREAM) -> Record:
    matches = list(stream.matches())
    return Record(
        sent_cycles=list(range(len(stream.items))),
        matches=matches,
        match_cycles=[match.sequence + LAYOUT.latency_cycles for match in matches],
        stalled_cycles=7,
        counters={"events": len(stream.answers), "chunks": len(matches), "stalls": 7},
    )


CLAIMS: dict[str, Callable[[Record], None]] = {
    "taken": lambda record: claims.everything_was_taken(record, STREAM),
    "stays": claims.a_match_stays_until_it_is_taken,
    "empty": claims.no_chunk_is_empty,
    "order": claims.events_and_their_chunks_ascend,
    "last": claims.last_is_on_the_final_chunk_alone,
    "model": lambda record: claims.matches_are_those_of_the_model(record, STREAM),
    "counters": lambda record: claims.counters_are_what_was_counted(record, STREAM),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_good_run_meets_the_claim(claim: str) -> None:
    CLAIMS[claim](good_run())


def changed(record: Record, match: int, **values: Any) -> None:
    record.matches[match] = replace(record.matches[match], **values)


def swap(record: Record) -> None:
    record.matches[2:4] = reversed(record.matches[2:4])


FAULTS: list[tuple[str, Callable[[Record], Any], str]] = [
    ("taken", lambda r: r.sent_cycles.pop(), "4 of 5 items were taken"),
    ("stays", lambda r: r.moved_cycles.append(8), "changed before it was taken, in cycle 8"),
    ("empty", lambda r: changed(r, 1, bits=0), r"an empty chunk: Match\(sequence=0, chunk=2"),
    ("order", swap, "out of order"),
    ("order", lambda r: r.matches.insert(1, r.matches[0]), "out of order"),
    ("order", lambda r: changed(r, 4, sequence=1), "out of order"),
    ("last", lambda r: changed(r, 0, is_last=True), r"event 0 has `last` .* as \[True, True\]"),
    ("last", lambda r: changed(r, 4, is_last=False), r"event 3 has `last` .* as \[False\]"),
    ("model", lambda r: changed(r, 2, bits=7), "match 2 is .*bits=7.*, not .*bits=3"),
    ("model", lambda r: r.matches.pop(), "match 4 is None, not Match"),
    ("model", lambda r: r.matches.append(r.matches[0]), "match 5 is Match.*, not None"),
    ("counters", lambda r: r.counters.update(events=3), "the counters are .*'events': 3"),  # type: ignore[attr-defined]
    ("counters", lambda r: r.matches.pop(), "not {'events': 4, 'chunks': 4, 'stalls': 7}"),
    ("counters", lambda r: setattr(r, "stalled_cycles", 6), "'stalls': 6"),
]


@pytest.mark.parametrize(("claim", "fault", "message"), FAULTS)
def test_fault_is_named_by_the_claim(
    claim: str, fault: Callable[[Record], Any], message: str
) -> None:
    record = good_run()
    fault(record)
    with pytest.raises(AssertionError, match=message):
        CLAIMS[claim](record)


def test_pauses_are_no_event_per_cycle() -> None:
    claims.an_event_passes_in_every_cycle(good_run(SPARSE), SPARSE, LAYOUT)
    record = good_run(SPARSE)
    record.sent_cycles[2] += 1
    with pytest.raises(AssertionError, match="nothing went in between cycles 1 and 3"):
        claims.an_event_passes_in_every_cycle(record, SPARSE, LAYOUT)
    record = good_run(SPARSE)
    record.match_cycles[1] += 1
    with pytest.raises(AssertionError, match="event 2 was answered after 6 cycles, not 5"):
        claims.an_event_passes_in_every_cycle(record, SPARSE, LAYOUT)
    with pytest.raises(AssertionError, match="an event of stream small has several chunks"):
        claims.an_event_passes_in_every_cycle(good_run(), STREAM, LAYOUT)


def test_layout_reads_what_the_output_carries() -> None:
    (match,) = [m for m in STREAM.matches() if m.sequence == 3]
    assert LAYOUT.match_of(15 | 3 << 4 | 3 << 6 | 1 << 14) == match
    assert LAYOUT.match_of(1) == next(STREAM.matches())


def test_stream_needs_an_answer_per_event() -> None:
    with pytest.raises(ValueError, match="small: 3 answers for 4 events"):
        replace(STREAM, answers=STREAM.answers[1:])
