"""Whether a circuit fits: what is refused, with the figure and the limit."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.constraints.ecp5 import PARTS, Part
from penstock.gen.errors import DeviceError
from penstock.gen.estimate import Estimate
from penstock.gen.plan import Plan

MAX_EVENT_BITS = 1024
"""Bits of codes per event: every tile holds two events in registers, and reads them all."""
FIELDS_NAMED = 3
SURELY_TOO_LARGE = 2
"""An estimate refuses only what is so many times too large; it may err, and must not say no
to what fits."""
LUTS_OF = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}
"""LUT4s that a cell takes up: a carry cell two, a memory four and two for writing."""


def check_event_bits(plan: Plan) -> None:
    """DeviceError if events are wider than the chain of tiles takes."""
    widths = [(field.width, field.name) for field in plan.fields]
    if plan.table:
        names = (f"{attribute.name}, spare" for attribute in plan.table.attributes)
        widths += zip(plan.table.code_bits, names, strict=True)
    bits = sum(width for width, _ in widths)
    if bits <= MAX_EVENT_BITS:
        return
    widest = sorted(widths, key=lambda code: -code[0])[:FIELDS_NAMED]
    named = ", ".join(f"{name} ({width})" for width, name in widest)
    raise DeviceError(
        f"an event takes {bits:,} bits in {len(widths):,} codes; the circuit takes at most "
        f"{MAX_EVENT_BITS:,}\n"
        f"the widest: {named}\n"
        f"hint: split the set, so that each part tests fewer attributes or constants"
    )


def check_estimate(estimate: Estimate, part: Part) -> None:
    """DeviceError if a circuit is so large that no error of the estimate could make it fit."""
    needed = {"LUT4": estimate.luts, "flip-flops": estimate.flip_flops}
    _check(needed, part, tolerance=SURELY_TOO_LARGE, about="about ")


def check_cells(cells: Mapping[str, int], part: Part) -> None:
    """DeviceError if a part has too few cells of some kind; ``cells`` as Yosys counts them."""
    needed = {
        "LUT4": lut_count(cells),
        "flip-flops": cells.get("TRELLIS_FF", 0),
        "block RAMs": cells.get("DP16KD", 0),
    }
    _check(needed, part, tolerance=1)


def lut_count(cells: Mapping[str, int]) -> int:
    """All the LUT4s that cells take up, those of carry chains and memories too."""
    return sum(luts * cells.get(cell, 0) for cell, luts in LUTS_OF.items())


def _check(needed: Mapping[str, int], part: Part, *, tolerance: int, about: str = "") -> None:
    available = _available(part)
    for what, count in needed.items():
        if count > tolerance * available[what]:
            raise DeviceError(
                f"the circuit needs {about}{count:,} {what}; {part.name} has {available[what]:,}\n"
                f"hint: {_hint(needed)}"
            )


def _hint(needed: Mapping[str, int]) -> str:
    enough = [
        part.name
        for part in PARTS.values()
        if all(count <= _available(part)[what] for what, count in needed.items())
    ]
    if enough:
        return f"{' or '.join(enough)} would be large enough"
    return "no known part is large enough; split the set"


def _available(part: Part) -> dict[str, int]:
    return {"LUT4": part.luts, "flip-flops": part.flip_flops, "block RAMs": part.block_rams}
