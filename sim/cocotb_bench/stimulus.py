"""What a run sends into a circuit and what must come back, as a file for the simulator to read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER_VARIABLE = "PENSTOCK_BENCH_FOLDER"
"""The environment variable that tells the simulator where the files of its run are."""
STIMULUS_FILE, CYCLES_FILE = "stimulus.json", "cycles.json"

Chunks = tuple[tuple[int, int], ...]
"""An event's non-empty chunks: their numbers and bits."""


@dataclass(frozen=True, slots=True)
class Item:
    """What goes in at once: an event or, where ``effects`` says what it does, a word."""

    payload: int
    effects: tuple[str, ...] = ()

    @property
    def is_event(self) -> bool:
        return not self.effects


@dataclass(frozen=True, slots=True)
class Match:
    """A chunk as it leaves the circuit."""

    sequence: int
    chunk: int
    bits: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class Stream:
    """Items, and for each event among them the chunks that it must be answered with."""

    name: str
    items: tuple[Item, ...]
    answers: tuple[Chunks, ...]

    def __post_init__(self) -> None:
        events = sum(item.is_event for item in self.items)
        if events != len(self.answers):
            raise ValueError(f"{self.name}: {len(self.answers)} answers for {events} events")

    @property
    def is_sparse(self) -> bool:
        """Whether no event has more than one chunk, so that none costs a further cycle."""
        return all(len(chunks) <= 1 for chunks in self.answers)

    def matches(self) -> Iterator[Match]:
        for sequence, chunks in enumerate(self.answers):
            for place, (chunk, bits) in enumerate(chunks, start=1):
                yield Match(sequence, chunk, bits, place == len(chunks))


@dataclass(frozen=True, slots=True)
class Layout:
    """The numbers of a circuit that a bench must know."""

    chunk_bits: int
    index_bits: int
    sequence_bits: int
    latency_cycles: int
    """From the cycle in which an event goes in to the one in which its first chunk comes out."""

    def match_of(self, payload: int) -> Match:
        """What the output carries, in the order of `match_layout`."""
        values = []
        for width in (self.chunk_bits, self.index_bits, self.sequence_bits):
            values.append(payload & (1 << width) - 1)
            payload >>= width
        bits, chunk, sequence = values
        return Match(sequence, chunk, bits, bool(payload))


@dataclass(frozen=True, slots=True)
class Stimulus:
    """All that one simulator process does to one circuit."""

    layout: Layout
    streams: tuple[Stream, ...]
    patterns: tuple[str, ...]
    """Names of `stall_patterns.PATTERNS`; every stream runs under each."""
    seed: int


def write_stimulus(stimulus: Stimulus, path: Path) -> None:
    found = {
        "layout": asdict(stimulus.layout),
        "patterns": stimulus.patterns,
        "seed": stimulus.seed,
        "streams": [
            {
                "name": stream.name,
                # Hexadecimal: an event may be wider than the numbers of other JSON readers.
                "items": [[f"{item.payload:x}", *item.effects] for item in stream.items],
                "answers": stream.answers,
            }
            for stream in stimulus.streams
        ],
    }
    path.write_text(json.dumps(found), encoding="utf-8")


def read_stimulus(path: Path) -> Stimulus:
    found = json.loads(path.read_text(encoding="utf-8"))
    streams = tuple(
        Stream(
            stream["name"],
            tuple(Item(int(payload, 16), tuple(effects)) for payload, *effects in stream["items"]),
            tuple(tuple((chunk, bits) for chunk, bits in chunks) for chunks in stream["answers"]),
        )
        for stream in found["streams"]
    )
    return Stimulus(Layout(**found["layout"]), streams, tuple(found["patterns"]), found["seed"])
