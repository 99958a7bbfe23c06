"""What circuits ought to do, in plain Python, and random things for them to do it with."""

import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from penstock.rtl_lib.logic import Enabled, Gate, InRange, Logic, Node
from penstock.rtl_lib.results import chunks_for
from penstock.rtl_lib.shape import ChainShape

Chunks: TypeAlias = list[tuple[int, int]]
"""An event's non-empty chunks: their numbers and bits."""


def chunks_of(hits: int, chunk_bits: int, first_chunk: int = 0, *, hit_count: int = 64) -> Chunks:
    """The non-empty chunks of a vector of match bits."""
    words = [
        (first_chunk + number, hits >> number * chunk_bits & (2**chunk_bits - 1))
        for number in range(chunks_for(hit_count, chunk_bits))
    ]
    return [word for word in words if word[1]]


def result_items(events: Iterable[Chunks]) -> list[dict[str, int]]:
    """The items of a result link that say this."""
    items = []
    for chunks in events:
        if not chunks:
            items.append({"some": 0, "last": 1})
        for number, (chunk, bits) in enumerate(chunks):
            is_last = number == len(chunks) - 1
            items.append({"bits": bits, "chunk": chunk, "some": 1, "last": int(is_last)})
    return items


def events_of(items: Iterable[Any]) -> list[Chunks]:
    """What the items of a result link say; AssertionError if they break its rules."""
    events: list[Chunks] = []
    chunks: Chunks = []
    for item in items:
        if item.some:
            assert item.bits, "an empty chunk"
            chunks.append((int(item.chunk), int(item.bits)))
        else:
            assert item.last and not chunks, "a marker in an event with matches"
        if item.last:
            assert [chunk for chunk, _ in chunks] == sorted({chunk for chunk, _ in chunks})
            events.append(chunks)
            chunks = []
    assert not chunks, "the final event does not end"
    return events


def item_count(events: Iterable[Chunks]) -> int:
    return sum(max(1, len(chunks)) for chunks in events)


def event_item(shape: ChainShape, codes: Sequence[int]) -> dict[str, Any]:
    return {"word": {"codes": shape.pack(tuple(codes))}, "is_config": 0}


def config_item(address: int, bits: int) -> dict[str, Any]:
    return {"word": {"config": {"bits": bits, "address": address}}, "is_config": 1}


def bits_of(flags: Iterable[bool]) -> int:
    """Flags as a number, the first one lowest."""
    return sum(flag << index for index, flag in enumerate(flags))


def random_bits(rng: random.Random, count: int, chance: float) -> int:
    """So many bits, each of them high with the given chance."""
    return bits_of(rng.random() < chance for _ in range(count))


def random_codes(rng: random.Random, widths: Sequence[int]) -> tuple[int, ...]:
    return tuple(rng.randrange(2**width) for width in widths)


def random_range(rng: random.Random, field: int, width: int) -> InRange:
    low = rng.randrange(2**width)
    return InRange(field, low, rng.choice([None, *range(low + 1, 2**width)]))


def random_logic(
    rng: random.Random, widths: Sequence[int], output_count: int, *, node_count: int = 0
) -> Logic:
    """Gates over anything that comes before them, often shared and often negated.

    Every output is ANDed with its enable bit if the node count is left open.
    """
    nodes: list[Node] = [random_range(rng, field, width) for field, width in enumerate(widths)]
    outputs = []
    for output in range(output_count):
        nodes.append(Enabled(output))
        enabled = len(nodes) - 1
        for _ in range(max(1, node_count // output_count)):
            field = rng.randrange(len(widths))
            nodes.append(random_range(rng, field, widths[field]))
            inputs = [rng.randrange(2 * len(nodes)) for _ in range(rng.randrange(1, 5))]
            nodes.append(Gate(tuple(inputs), is_or=rng.random() < 0.5))
        if node_count:
            outputs.append(rng.randrange(2 * len(nodes)))
        else:
            nodes.append(Gate((2 * (len(nodes) - 1) + rng.randrange(2), 2 * enabled)))
            outputs.append(2 * (len(nodes) - 1))
    return Logic(tuple(nodes), tuple(outputs))


def needle_logic(width: int, output_count: int) -> Logic:
    """Output ``n`` is high for code ``n + 1`` of field 0 alone, if enabled; code 0 has no match."""
    nodes: list[Node] = []
    for output in range(output_count):
        high = None if output + 2 == 2**width else output + 2
        nodes += [InRange(0, output + 1, high), Enabled(output)]
        nodes.append(Gate((2 * len(nodes) - 4, 2 * len(nodes) - 2)))
    return Logic(tuple(nodes), tuple(range(4, 6 * output_count, 6)))
