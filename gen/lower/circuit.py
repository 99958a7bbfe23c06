"""The whole plan as one chain of tiles."""

from __future__ import annotations

from penstock.gen.lower.logic import tile_logic
from penstock.gen.plan import CHUNK_BITS, Plan
from penstock.gen.queryset import Progress
from penstock.gen.ranges import Ranges
from penstock.rtl_lib.chain import Chain
from penstock.rtl_lib.results import index_width
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.tile import Tile


def circuit_of(plan: Plan, progress: Progress | None = None) -> Chain:
    """The circuit of a plan that has something on the device."""
    ranges = Ranges(plan.fields)
    logics = []
    for number, tile in enumerate(plan.tiles):
        if progress:
            progress("lowering tiles", number, len(plan.tiles))
        logics.append(tile_logic(plan, tile, ranges))
    shape = ChainShape(
        widths=tuple(field.width for field in plan.fields) or (1,),
        chunk_bits=CHUNK_BITS,
        chunk_count=plan.chunk_count,
        address_bits=index_width(plan.chunk_count),
        stages=max(logic.stages for logic in logics),
    )
    return Chain(
        [
            Tile(shape, logic, first_chunk=tile.first_chunk)
            for tile, logic in zip(plan.tiles, logics, strict=True)
        ]
    )
