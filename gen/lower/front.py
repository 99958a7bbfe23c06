"""What makes the codes on the device."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.gen.plan import Field, PairField, Source
from penstock.gen.wire import Wire, attributes_of, thresholds_of, value_bits, wire_of
from penstock.rtl_lib import sources
from penstock.rtl_lib.front import Front
from penstock.rtl_lib.shape import ChainShape


def front_of(fields: Sequence[Field], shape: ChainShape) -> Front:
    """The front that makes the codes of these fields from events as they lie on the wire.

    Codes of the shape beyond those of the fields are a table's, and come ready made.
    """
    wire = wire_of(fields)
    made: list[sources.Source] = [_source(field, wire) for field in fields]
    made += (sources.Passed(width) for width in shape.widths[len(fields) :])
    return Front(shape, wire.value_bits, made)


def _source(field: Field, wire: Wire) -> sources.Source:
    if field.source is Source.HOST:
        return sources.Passed(field.width)
    places = [wire.values.index(attribute) for attribute in attributes_of(field)]
    if isinstance(field, PairField):
        widest = max(value_bits(side.type) for side in attributes_of(field))
        return sources.Compared(places[0], places[1], widest)
    kind = sources.Ranked if field.source is Source.RANK else sources.Direct
    return kind(places[0], *thresholds_of(field))
