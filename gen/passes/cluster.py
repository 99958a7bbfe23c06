"""Group subscriptions into tiles so that each tile needs few constants."""

from __future__ import annotations

from dataclasses import replace

from penstock.gen.normal import Pair, Test
from penstock.gen.plan import CHUNK_BITS, Gate, Plan, PlanTile
from penstock.gen.ranges import Range, Ranges

TILE_SIZES = (32, 64, 128, 256, 512, 1024)
"""The larger a tile, the more of its constants are shared; the smaller, the shorter its wires."""
TILE_SIZE = 256


def sizes_text() -> str:
    """The sizes that a tile can have, for messages."""
    return ", ".join(map(str, TILE_SIZES[:-1])) + f" or {TILE_SIZES[-1]}"


def cluster(plan: Plan, tile_size: int = TILE_SIZE) -> Plan:
    """Sort subscriptions by the ranges they test, and cut the row into tiles.

    Subscriptions on the same attributes, with constants near each other, become neighbours:
    their tile predecodes few bounds, and its wires stay short. Conditions that never hold, and
    those that only the host tests, get no place.
    """
    never = {n for n, node in enumerate(plan.nodes) if node == Gate((), is_or=True)}
    signatures = _signatures(plan)
    placed = sorted(
        (
            index
            for index, entry in enumerate(plan.entries)
            if entry.root is not None and entry.root not in never
        ),
        key=lambda index: (signatures[plan.root(index)], plan.entries[index].id),
    )
    tiles, following = [], 0
    size = _even_size(len(placed), tile_size)
    for start in range(0, len(placed), size):
        members = tuple(placed[start : start + size])
        chunks = -(-len(members) // CHUNK_BITS)
        step = 1 << (chunks - 1).bit_length()  # the high bits of an address name the tile
        first = -(-following // step) * step
        tiles.append(PlanTile(members, first))
        following = first + chunks
    return replace(plan, tiles=tuple(tiles), chunk_count=following)


def _even_size(count: int, most: int) -> int:
    """How many go into each tile so that all are about as large, in whole chunks."""
    tiles = max(1, -(-count // most))
    chunks = -(-count // (tiles * CHUNK_BITS))
    return min(most, max(1, chunks) * CHUNK_BITS)


def _signatures(plan: Plan) -> list[tuple[Range, ...]]:
    """For each node the ranges below it, in order."""
    ranges = Ranges(plan.fields)
    found: list[tuple[Range, ...]] = []
    for node in plan.nodes:
        if isinstance(node, Test | Pair):
            found.append(ranges.of(node))
        else:
            below = {range_ for index in node.inputs for range_ in found[index]}
            found.append(tuple(sorted(below)))
    return found
