"""Choose what makes each code on the device."""

from __future__ import annotations

from dataclasses import replace

from penstock.gen.plan import CodeField, Field, Plan, Source
from penstock.gen.wire import search_steps, sources_for, thresholds_of, value_bits

# Places of LUTs on an ECP5, as Yosys counts the cells of `rtl_lib`'s encoders. A CCU2C, two bits
# of a carry chain, takes two; a TRELLIS_DPR16X4, 16 rows of 4 bits, six with its write port.
DIRECT_LUTS_PER_BIT = 0.4
"""Of a comparison with a constant: 12 at 33 bits, 26 at 65."""
STEP_LUTS = 3
"""Of a step of a search, beside its carry chain."""
RAM_ROWS, RAM_BITS, RAM_LUTS = 16, 4, 6
MOST_RAM_ROWS = 32
"""Longer memories become block RAM, and a single row is registers: neither takes LUTs."""


def place_encoders(plan: Plan) -> Plan:
    """Let the device make every code that it can, by the circuit that takes the fewest LUTs.

    n INT, 4 cuts       n: compared with all four at once
    m INT, 900 cuts     m: ranked by a search of 10 steps
    n < m               n : m: compared with each other
    s STRING            s: left to the host
    """
    return replace(plan, fields=tuple(_placed(field) for field in plan.fields))


def _placed(field: Field) -> Field:
    circuits = [source for source in sources_for(field) if source is not Source.HOST]
    if not isinstance(field, CodeField):
        return replace(field, source=circuits[0]) if circuits else field
    return replace(field, source=min(circuits, key=lambda s: luts(field, s), default=Source.HOST))


def luts(field: CodeField, source: Source) -> float:
    """About how many LUTs the circuit takes that makes the code of a field."""
    bits = value_bits(field.attribute.type) + 1
    if source is Source.DIRECT:
        return len(thresholds_of(field)[0]) * bits * DIRECT_LUTS_PER_BIT
    steps = search_steps(field)
    memories = sum(_memory_luts(2**step, bits + 1) for step in range(steps))
    return steps * (bits + 1 + STEP_LUTS) + memories + _memory_luts(2**steps, field.width)


def _memory_luts(rows: int, bits: int) -> int:
    if not 1 < rows <= MOST_RAM_ROWS:
        return 0
    blocks = -(-rows // RAM_ROWS)
    return blocks * RAM_LUTS * -(-bits // RAM_BITS) + (blocks - 1) * bits
