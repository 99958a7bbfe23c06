"""Run a tile of any kind, or a chain, and compare with what was expected of it."""

import random
from collections.abc import Sequence
from typing import Any

from models import Chunks, chunks_of, config_item, events_of, item_count, random_bits, result_items
from streams import Traffic, run_streams

from penstock.rtl_lib.results import aligned, chunks_for


def check_tile(
    tile: Any,
    items: Sequence[dict[str, Any]],
    before: Sequence[Chunks],
    own: Sequence[Chunks],
    *,
    stalls: tuple[float, float] = (0.0, 0.0),
    seed: int = 7,
) -> dict[str, Traffic]:
    """Events and results from before go on, and this tile's results come behind the latter."""
    want = [left + right for left, right in zip(before, own, strict=True)]
    traffic = run_streams(
        tile,
        {"i": items, "before": result_items(before)},
        {"o": len(items), "results": item_count(want)},
        stalls=stalls,
        seed=seed,
        limit_cycles=8000,
    )
    assert events_of(traffic["results"].items) == want
    layout = tile.place.shape.event_layout
    assert traffic["o"].items == [layout.const(item) for item in items]
    return traffic


def check_chain(
    chain: Any,
    items: Sequence[dict[str, Any]],
    events: Sequence[Chunks],
    *,
    stalls: tuple[float, float] = (0.0, 0.0),
    seed: int = 7,
) -> dict[str, Traffic]:
    """The matches of the events, and no others, come out under the events' numbers."""
    want = [
        (sequence, chunk, bits, index == len(chunks) - 1)
        for sequence, chunks in enumerate(events)
        for index, (chunk, bits) in enumerate(chunks)
    ]
    traffic = run_streams(
        chain, {"i": items}, {"o": len(want)}, stalls=stalls, seed=seed, spare_cycles=40
    )
    got = [(item.sequence, item.chunk, item.bits, item.last) for item in traffic["o"].items]
    assert got == want
    return traffic


class Contents:
    """What a table tile holds, in plain Python."""

    def __init__(self, tile: Any) -> None:
        self.tile = tile
        self.chunk_bits = tile.place.shape.chunk_bits
        self.valid = 0
        self.rows: dict[tuple[int, int], int] = {}

    def write_valid(self, chunk: int, bits: int) -> dict[str, Any]:
        """Change the contents; the word that does the same to the tile."""
        self.valid = self._replaced(self.valid, chunk, bits)
        return config_item(self.tile.valid_address(chunk), bits)

    def write_row(self, field: int, code: int, chunk: int, bits: int) -> dict[str, Any]:
        old = self.rows.get((field, code), 0)
        self.rows[field, code] = self._replaced(old, chunk, bits)
        return config_item(self.tile.row_address(field, code, chunk), bits)

    def _replaced(self, old: int, chunk: int, bits: int) -> int:
        start = chunk * self.chunk_bits
        return old & ~((2**self.chunk_bits - 1) << start) | bits << start

    def chunks(self, codes: Sequence[int]) -> Chunks:
        """What the tile finds."""
        hits = self.valid & 2**self.tile.place.hit_count - 1
        for field in self.tile.fields:
            hits &= self.rows.get((field, codes[field]), 0)
        return chunks_of(hits, self.chunk_bits, self.tile.place.first_chunk)


def filled(
    tile: Any, rng: random.Random, *, chance: float
) -> tuple[Contents, list[dict[str, Any]]]:
    """Contents, and the words that write them: each bit high with the given chance."""
    contents = Contents(tile)
    chunks, widths = range(len(tile.place.chunks)), tile.place.shape.widths
    words = [contents.write_valid(chunk, 2**contents.chunk_bits - 1) for chunk in chunks]
    words += [
        contents.write_row(field, code, chunk, random_bits(rng, contents.chunk_bits, chance))
        for field in tile.fields
        for code in range(2 ** widths[field])
        for chunk in chunks
    ]
    return contents, words


def chunk_numbers(tile_sizes: Sequence[int], chunk_bits: int) -> tuple[list[int], int]:
    """The first chunk of each tile, and one past the last chunk.

    A tile starts at a multiple of its own number of chunks, rounded up to a power of two, so
    that the high bits of an address name the tile.
    """
    firsts, following = [], 0
    for size in tile_sizes:
        own_chunks = chunks_for(size, chunk_bits)
        first = -(-following // aligned(own_chunks)) * aligned(own_chunks)
        firsts.append(first)
        following = first + own_chunks
    return firsts, following
