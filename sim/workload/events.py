"""Events: sparse, as one map per event, or wide, with a column per attribute."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa

from penstock.gen.errors import DataError, nearest
from penstock.gen.schema import Schema, arrow_type
from penstock.sim.workload.attributes import (
    CHUNK,
    EVENT_STREAM,
    chunks,
    draw_counts,
    topic_table,
)
from penstock.sim.workload.calibrate import Calibration, calibrate
from penstock.sim.workload.draw import Integers, draw_distinct, stream
from penstock.sim.workload.measure import measure_match_rate
from penstock.sim.workload.spec import TOLERANCE, WorkloadSpec

EVENT_TYPE = pa.map_(pa.string(), pa.int32())


def generate_events(spec: WorkloadSpec, expressions: pa.Table | None = None) -> pa.Table:
    """All events, as one column ``attributes``: map of name to value, names in order.

    Given the expressions, the match rate is measured, and a rate further than `TOLERANCE`
    from the wanted one, as few events or few matches can give, is a warning.
    """
    events = pa.concat_tables(event_chunks(spec))
    if expressions is not None and spec.match_rate is not None:
        rate = measure_match_rate(expressions, events)
        if abs(rate - spec.match_rate) > TOLERANCE * spec.match_rate:
            warnings.warn(
                f"match rate {rate:.3g} on a sample, wanted {spec.match_rate:g}: "
                f"{spec.events} events are few for it; more come nearer",
                stacklevel=2,
            )
    return events


def event_chunks(spec: WorkloadSpec) -> Iterator[pa.Table]:
    """The same table in pieces, each from a stream of random numbers of its own."""
    for number, _, rows in chunks(spec.events):
        yield event_chunk(spec, number, rows)


def event_chunk(spec: WorkloadSpec, number: int, rows: int = CHUNK) -> pa.Table:
    """One of the pieces, drawn without those before it, however many events the spec has."""
    topics, names = _topics(spec), pa.array(spec.attribute_names)
    rng = stream(spec.seed, EVENT_STREAM, number)
    counts = draw_counts(rng, spec.pair_range, rows)
    attributes = _attributes(rng, spec, topics, calibrate(spec), rows)
    used = np.arange(attributes.shape[1]) < counts[:, None]
    attributes[~used] = spec.attributes
    # Sorting moves the unused places to the end, where `used` has them.
    codes = np.sort(attributes, axis=1)[used]
    values = spec.value_draw.quantile(rng.random(len(codes))).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    maps = pa.MapArray.from_arrays(pa.array(offsets), names.take(pa.array(codes)), pa.array(values))
    return pa.table({"attributes": maps})


@lru_cache(maxsize=2)
def _topics(spec: WorkloadSpec) -> Integers | None:
    topics = calibrate(spec).topics
    return topic_table(spec, topics) if topics else None


def _attributes(
    rng: np.random.Generator,
    spec: WorkloadSpec,
    topics: Integers | None,
    calibration: Calibration,
    rows: int,
) -> Integers:
    """Distinct attributes per event, the first ones first."""
    most = spec.pair_range[1]
    if topics is None:
        return draw_distinct(rng, spec.attribute_draw, rows, most)
    # One chance in each of `rows` equal strata: topics occur as evenly as they can.
    chance = (rng.permutation(rows) + rng.random(rows)) / rows
    inside = chance < calibration.topic_share
    topic = (chance[inside] / calibration.topic_share * len(topics)).astype(np.int64)
    attributes = np.empty((rows, most), dtype=np.int64)
    attributes[inside] = topics[np.minimum(topic, len(topics) - 1), :most]
    attributes[~inside] = draw_distinct(rng, spec.attribute_draw, rows - int(inside.sum()), most)
    return attributes


def to_wide(events: pa.Table, schema: Schema) -> pa.Table:
    """One column per attribute of the schema; an attribute that an event lacks is null."""
    maps = events.column("attributes").combine_chunks()
    if isinstance(maps, pa.ChunkedArray):
        maps = pa.concat_arrays(maps.chunks) if maps.num_chunks else pa.array([], EVENT_TYPE)
    offsets = np.asarray(maps.offsets)
    keys = maps.keys.slice(offsets[0], offsets[-1] - offsets[0]).dictionary_encode()
    place = np.array([_place(schema, name) for name in keys.dictionary.to_pylist()], dtype=np.int64)
    column = place[np.asarray(keys.indices)]
    row = np.repeat(np.arange(len(maps)), np.diff(offsets))
    values = np.zeros((len(schema), len(maps)), dtype=np.int32)
    absent = np.ones(values.shape, dtype=np.bool_)
    values[column, row] = np.asarray(maps.items)[offsets[0] : offsets[-1]]
    absent[column, row] = False
    columns = [
        pa.array(values[a.index], mask=absent[a.index]).cast(arrow_type(a.type)) for a in schema
    ]
    return pa.table(columns, schema=schema.to_arrow())


def _place(schema: Schema, name: str) -> int:
    found = schema.find(name)
    if found is None:
        known = nearest(name, (a.name for a in schema))
        raise DataError(f"events have attribute {name!r}, which the schema lacks; {known}")
    return found.index
