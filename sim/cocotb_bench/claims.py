"""What must be true of every run, one function per claim; each raises AssertionError.

A claim looks at a `Record` of what the bench saw and at the `Stream` that it sent, and knows
nothing of the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise, zip_longest

from penstock.sim.cocotb_bench.stimulus import Layout, Match, Stream


@dataclass
class Record:
    """What went through the ports of a circuit, and in which cycle."""

    sent_cycles: list[int] = field(default_factory=list)
    """For each item of the stream the cycle in which it was taken."""
    matches: list[Match] = field(default_factory=list)
    match_cycles: list[int] = field(default_factory=list)
    """For each match the cycle in which it was taken."""
    stalled_cycles: int = 0
    """In which there was a match and it was not taken."""
    moved_cycles: list[int] = field(default_factory=list)
    """In which a match that had not been taken was gone, or another."""
    counters: Mapping[str, int] = field(default_factory=dict)


def everything_was_taken(record: Record, stream: Stream) -> None:
    assert len(record.sent_cycles) == len(stream.items), (
        f"{len(record.sent_cycles)} of {len(stream.items)} items were taken"
    )


def a_match_stays_until_it_is_taken(record: Record) -> None:
    assert not record.moved_cycles, (
        f"the output changed before it was taken, in cycle {record.moved_cycles[0]}"
    )


def no_chunk_is_empty(record: Record) -> None:
    for match in record.matches:
        assert match.bits, f"an empty chunk: {match}"


def events_and_their_chunks_ascend(record: Record) -> None:
    """The numbers of events, and among those of one event the numbers of chunks."""
    for first, second in pairwise(record.matches):
        assert (first.sequence, first.chunk) < (second.sequence, second.chunk), (
            f"out of order: {first}, then {second}"
        )


def last_is_on_the_final_chunk_alone(record: Record) -> None:
    for sequence, group in groupby(record.matches, key=lambda match: match.sequence):
        flags = [match.is_last for match in group]
        assert flags == [False] * (len(flags) - 1) + [True], (
            f"event {sequence} has `last` on its chunks as {flags}"
        )


def matches_are_those_of_the_model(record: Record, stream: Stream) -> None:
    """Every one of them, once, and no others."""
    for number, (found, wanted) in enumerate(zip_longest(record.matches, stream.matches())):
        assert found == wanted, f"match {number} is {found}, not {wanted}"


def counters_are_what_was_counted(record: Record, stream: Stream) -> None:
    counted = {
        "events": len(stream.answers),
        "chunks": len(record.matches),
        "stalls": record.stalled_cycles,
    }
    assert record.counters == counted, f"the counters are {record.counters}, not {counted}"


def an_event_passes_in_every_cycle(record: Record, stream: Stream, layout: Layout) -> None:
    """Of a sparse stream without stalls: none waits to go in, each answer takes the latency."""
    assert stream.is_sparse, f"an event of stream {stream.name} has several chunks"
    for first, second in pairwise(record.sent_cycles):
        assert second == first + 1, f"nothing went in between cycles {first} and {second}"
    items = zip(record.sent_cycles, stream.items, strict=True)
    event_cycles = [cycle for cycle, item in items if item.is_event]
    for match, cycle in zip(record.matches, record.match_cycles, strict=True):
        taken = cycle - event_cycles[match.sequence]
        assert taken == layout.latency_cycles, (
            f"event {match.sequence} was answered after {taken} cycles, not {layout.latency_cycles}"
        )
