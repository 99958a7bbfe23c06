"""The whole plan as one chain of tiles, with what makes the codes in front of it."""

from __future__ import annotations

from penstock.gen.lower.front import front_of
from penstock.gen.lower.logic import tile_logic
from penstock.gen.lower.ranking import ranker_of
from penstock.gen.plan import CHUNK_BITS, Plan, Source, TableRegion
from penstock.gen.queryset import Progress
from penstock.gen.ranges import Ranges
from penstock.rtl_lib.chain import AnyTile, Chain
from penstock.rtl_lib.raw_matcher import RawMatcher
from penstock.rtl_lib.results import index_width
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.table_tile import TableTile, stages_for
from penstock.rtl_lib.tile import Tile


def circuit_of(plan: Plan, progress: Progress | None = None) -> Chain | RawMatcher:
    """The circuit of a plan that has something on the device."""
    ranges = Ranges(plan.fields)
    logics = []
    for number, tile in enumerate(plan.tiles):
        if progress:
            progress("lowering tiles", number, len(plan.tiles))
        logics.append(tile_logic(plan, tile, ranges))
    stages = [logic.stages for logic in logics]
    widths = [field.width for field in plan.fields]
    table = plan.table
    if table:
        stages.append(stages_for(len(table.attributes)))
        widths.extend(table.code_bits)
    shape = ChainShape(
        widths=tuple(widths) or (1,),
        chunk_bits=CHUNK_BITS,
        chunk_count=plan.chunk_count,
        address_bits=index_width(plan.address_count),
        stages=max(stages),
    )
    tiles: list[AnyTile] = [
        Tile(shape, logic, first_chunk=tile.first_chunk)
        for tile, logic in zip(plan.tiles, logics, strict=True)
    ]
    if table:
        tiles.append(_table_tile(shape, table, first_field=len(plan.fields)))
    chain = Chain(tiles, ranker_of(plan, shape))
    if all(field.source is Source.HOST for field in plan.fields):
        return chain
    return RawMatcher(front_of(plan.fields, shape), chain)


def _table_tile(shape: ChainShape, table: TableRegion, *, first_field: int) -> TableTile:
    return TableTile(
        shape,
        range(first_field, first_field + len(table.attributes)),
        capacity=table.capacity,
        first_chunk=table.first_chunk,
        base=table.base,
    )
