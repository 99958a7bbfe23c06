"""Conjunctions of ranges as boxes, events as points, and whether a point lies in a box.

A box is a row: what is lowest in each field, then how many codes there are from there on, for
`LANES` fields, and so forth for the next ones. Most boxes are one line of the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from penstock.host.software.bits import aligned
from penstock.host.software.compiled import Scalar, inlined

Halves: TypeAlias = npt.NDArray[np.uint16]
LANES = 16
"""Fields that are compared at once."""
MOST_FIELDS, MOST_CODES = 4 * LANES, 2**16 - 1
"""Of what has boxes: four lines of the cache each, and codes that fit 16 bits."""
_LANES = ir.VectorType(ir.IntType(16), LANES)


def boxes_for(count: int, fields: int) -> Halves:
    """So many boxes in which all points lie."""
    rounds = -(-fields // LANES)
    boxes = aligned(count * rounds).view(np.uint16).reshape(count, rounds, 2, LANES)
    boxes[:, :, 1] = MOST_CODES
    return boxes.reshape(count, rounds * 2 * LANES)


def points_for(count: int, boxes: Halves) -> Halves:
    """Room for so many points, at 0 in fields that no event has; none if there are no boxes."""
    return np.zeros((count if len(boxes) else 0, boxes.shape[1] // 2), np.uint16)


@inlined
def narrow(boxes: Halves, number: Scalar, field: Scalar, low: Scalar, high: Scalar) -> None:
    """Leave of a box what is in ``low <= code < high`` of a field."""
    at = field // LANES * 2 * LANES + field % LANES
    begin: Scalar = np.int64(boxes[number, at])
    end: Scalar = begin + np.int64(boxes[number, at + LANES])
    begin, end = max(begin, np.int64(low)), min(end, np.int64(high))
    boxes[number, at] = begin
    boxes[number, at + LANES] = max(0, end - begin)


@intrinsic
def _is_in(typing: Any, boxes: Any, number: Any, points: Any, event: Any) -> Any:
    """1 if the point of an event lies in a box, otherwise 0."""
    for array in (boxes, points):
        if array.dtype != types.uint16 or array.ndim != 2 or array.layout != "C":
            return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, one = (
            context.make_array(of)(context, builder, value)
            for of, value in zip(signature.args[::2], args[::2], strict=True)
        )
        width = builder.extract_value(one.shape, 1)
        point = builder.gep(one.data, [builder.mul(args[3], width)])
        box = builder.gep(rows.data, [builder.mul(args[1], builder.shl(width, width.type(1)))])
        every = ir.Constant(ir.IntType(LANES), -1)
        kept = cgutils.alloca_once_value(builder, every)  # type: ignore[no-untyped-call]

        def lanes(of: Any, at: Any) -> Any:
            place = builder.bitcast(builder.gep(of, [at]), _LANES.as_pointer())
            return builder.load(place, align=2)

        with cgutils.for_range_slice(
            builder, width.type(0), width, width.type(LANES), inc=True
        ) as (at, _):  # fmt: skip
            low = builder.shl(at, at.type(1))
            size = builder.add(low, at.type(LANES))
            offset = builder.sub(lanes(point, at), lanes(box, low))
            inside = builder.icmp_unsigned("<", offset, lanes(box, size))
            flags = builder.bitcast(inside, ir.IntType(LANES))
            builder.store(builder.and_(builder.load(kept), flags), kept)
        verdict = builder.icmp_unsigned("==", builder.load(kept), every)
        return builder.zext(verdict, ir.IntType(64))

    return types.int64(boxes, types.int64, points, types.int64), generate


is_in = cast("Callable[[Any, Any, Any, Any], int]", _is_in)
