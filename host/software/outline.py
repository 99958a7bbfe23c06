"""What the software engine makes of a query set, as text: `penstock explain --engine software`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.gen.passes.weaken import weaken
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.software.packed import CutField, Field
from penstock.host.software.segment import WIDEST_PAIR_BITS, Segment, segment_of

FIELDS_SHOWN = 20


def outline(queries: QuerySet, progress: Progress | None = None) -> str:
    """The codes of events, the layout and why it was chosen, and what the host finishes."""
    segment = segment_of(queries, progress)
    return "\n".join(_lines(segment, queries))


def _lines(segment: Segment, queries: QuerySet) -> Iterator[str]:
    packed = segment.packed
    noun = "subscription" if len(segment) == 1 else "subscriptions"
    yield f"stream {queries.schema.stream}: {len(segment):,} {noun} on engine software"
    yield (
        f"{len(packed.literals):,} literals in conjunctions, "
        f"{len(packed.programs.literals):,} under an OR beside them"
    )
    yield ""
    yield "codes"
    yield from map(_field_line, packed.fields[:FIELDS_SHOWN])
    if len(packed.fields) > FIELDS_SHOWN:
        yield f"  and {len(packed.fields) - FIELDS_SHOWN:,} more"
    yield ""
    yield from _layout_lines(segment)
    if segment.residuals:
        ids = segment.ids.array
        yield ""
        yield "finished one by one, where the index lets an event through"
        for number in list(segment.residuals)[:FIELDS_SHOWN]:
            _, reason = weaken(segment.residuals[number], widest_pair_bits=WIDEST_PAIR_BITS)
            yield f"  {ids[number].as_py()}: {reason}"
        if len(segment.residuals) > FIELDS_SHOWN:
            yield f"  and {len(segment.residuals) - FIELDS_SHOWN:,} more"


def _field_line(field: Field) -> str:
    if isinstance(field, CutField):
        name, of = field.attribute.name, field.attribute.type
        return f"  {name:<24}  {of!s:<16}  {len(field.cuts.keys):>9,} cuts  {field.codes:>9,} codes"
    return f"  {field.pair.name:<24}  {'compared':<16}  {'':>14}  {field.codes:>9,} codes"


def _layout_lines(segment: Segment) -> Iterator[str]:
    layout, cost = segment.layout, segment.cost
    blocks, lists = layout.blocks, layout.lists
    count = len(blocks.starts) - 1
    formulas = (len(layout.formulas.starts) - 1) // 512
    in_blocks = int(np.count_nonzero(blocks.members >= 0))
    rough = int(np.bitwise_count(blocks.rough).sum())
    yield "layout"
    yield f"  every event against all blocks, thought to take  {1e6 * cost.all_blocks:>9,.2f} us"
    yield f"  events led to blocks by their values             {1e6 * cost.by_access:>9,.2f} us"
    yield f"  chosen: {'all blocks' if cost.is_flat else 'led by values'}"
    yield ""
    yield f"  {in_blocks:,} subscriptions in {count:,} blocks of 512"
    yield f"  {layout.always:,} blocks for every event, {formulas:,} of them of formulas"
    yield f"  {len(layout.grid.boxes):,} for which rows are too coarse, so that their ranges decide"
    yield f"  {rough:,} of which one literal after the other is looked at"
    yield f"  {len(segment) - in_blocks:,} one by one, by {len(lists.fields):,} access attributes"
    yield f"  {segment.nbytes:,} bytes"
