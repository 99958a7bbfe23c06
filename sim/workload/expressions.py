"""Expressions as a table with one row per predicate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from penstock.sim.workload.attributes import (
    EXPRESSION_STREAM,
    Shape,
    chunks,
    draw_shape,
    topic_table,
)
from penstock.sim.workload.calibrate import calibrate
from penstock.sim.workload.draw import Integers, stream
from penstock.sim.workload.predicates import BETWEEN, Draws, Operands, draw_predicates, operands
from penstock.sim.workload.spec import OPERATORS, WorkloadSpec

ID_DIGITS = 7


def generate_expressions(spec: WorkloadSpec) -> pa.Table:
    """All expressions: rows of one expression adjacent, its attributes distinct, in order.

    Columns: ``id`` string, ``attribute`` and ``operator`` dictionaries of strings,
    ``operands`` list of int32, and ``weight`` int32 where the spec asks for weights.
    """
    return pa.concat_tables(expression_chunks(spec))


def expression_chunks(spec: WorkloadSpec) -> Iterator[pa.Table]:
    """The same table in pieces, each from a stream of random numbers of its own."""
    calibration = calibrate(spec)
    topics = topic_table(spec, calibration.topics) if calibration.topics else None
    names, spellings = pa.array(spec.attribute_names), pa.array(OPERATORS)
    for number, first, rows in chunks(spec.expressions):
        rng = stream(spec.seed, EXPRESSION_STREAM, number)
        shape = draw_shape(rng, spec, topics, first, rows)
        codes = shape.attributes[shape.used].astype(np.int32)
        draws = draw_predicates(rng, spec, len(codes))
        drawn = operands(spec, draws, calibration.sharpness)
        columns = {
            "id": _ids(spec, first, shape),
            "attribute": pa.DictionaryArray.from_arrays(codes, names),
            "operator": pa.DictionaryArray.from_arrays(draws.operators, spellings),
            "operands": _operand_lists(draws, drawn),
        }
        if spec.max_weight:
            weights = rng.integers(1, spec.max_weight, size=len(codes), endpoint=True)
            columns["weight"] = pa.array(weights.astype(np.int32))
        yield pa.table(columns)


def _ids(spec: WorkloadSpec, first: int, shape: Shape) -> pa.Array:
    """``e0000000`` and on, once per predicate; padded, so that they sort as numbers."""
    digits = max(ID_DIGITS, len(str(spec.expressions - 1)))
    numbers = first + np.arange(len(shape.counts))
    letters = np.empty((len(numbers), digits + 1), dtype=np.uint8)
    letters[:, 0] = ord("e")
    for place in range(digits, 0, -1):
        numbers, digit = np.divmod(numbers, 10)
        letters[:, place] = digit + ord("0")
    text = np.repeat(letters, shape.counts, axis=0)
    offsets = np.arange(len(text) + 1, dtype=np.int32) * (digits + 1)
    return pa.StringArray.from_buffers(len(text), pa.py_buffer(offsets), pa.py_buffer(text))


def _operand_lists(draws: Draws, drawn: Operands) -> pa.Array:
    between = draws.operators == BETWEEN
    lengths: Integers = 1 + between.astype(np.int64)
    for code, lists in drawn.lists.items():
        lengths[draws.operators == code] = lists.shape[1]
    ends = np.cumsum(lengths)
    starts = ends - lengths
    values = np.empty(int(ends[-1]), dtype=np.int32)
    values[starts] = drawn.first
    values[starts[between] + 1] = drawn.second
    for code, lists in drawn.lists.items():
        at = starts[draws.operators == code]
        values[at[:, None] + np.arange(lists.shape[1])] = lists
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
