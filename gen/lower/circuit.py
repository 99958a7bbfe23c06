"""The whole plan as one chain of tiles, with what makes the codes in front of it."""

from __future__ import annotations

from penstock.gen.errors import DeviceError
from penstock.gen.lower.front import front_of
from penstock.gen.lower.logic import tile_logic
from penstock.gen.plan import CHUNK_BITS, Plan, Source
from penstock.gen.queryset import Progress
from penstock.gen.ranges import Ranges
from penstock.rtl_lib.chain import Chain
from penstock.rtl_lib.raw_matcher import RawMatcher
from penstock.rtl_lib.results import index_width
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.tile import Tile


def circuit_of(plan: Plan, progress: Progress | None = None) -> Chain | RawMatcher:
    """The circuit of a plan; DeviceError if there is nothing to build."""
    if not plan.tiles:
        raise DeviceError("there is nothing to build: no subscription of the set can ever match")
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
    chain = Chain(
        [
            Tile(shape, logic, first_chunk=tile.first_chunk)
            for tile, logic in zip(plan.tiles, logics, strict=True)
        ]
    )
    if all(field.source is Source.HOST for field in plan.fields):
        return chain
    return RawMatcher(front_of(plan.fields, shape), chain)
