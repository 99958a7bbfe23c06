"""Set aside a region of the circuit for subscriptions that come later."""

from __future__ import annotations

from dataclasses import replace

from penstock.gen.plan import Plan, TableRegion
from penstock.gen.types import Type

CODE_BITS = 6
"""Bits of an attribute's code in the table: absence, and 63 stretches that can be told apart."""


def reserve(plan: Plan, capacity: int) -> Plan:
    """Place a table after the last tile, with a code for every attribute of the schema.

    tile 0: chunks 0 to 4   ->   tile 0: chunks 0 to 4
                                 table: chunks 6 to 7, for 64 subscriptions

    Each attribute takes `CODE_BITS` bits of an event, or fewer where its type has fewer values.
    """
    attributes = plan.schema.attributes
    code_bits = tuple(code_bits_of(attribute.type) for attribute in attributes)
    table = TableRegion.after(plan.chunk_count, attributes, code_bits, capacity)
    return replace(plan, table=table, chunk_count=table.first_chunk + table.chunk_count)


def code_bits_of(of: Type) -> int:
    """Bits of a code for values of a type: for a BOOLEAN two, as it is absent, false or true."""
    if isinstance(of.lowest, int) and isinstance(of.highest, int):
        return min(CODE_BITS, (of.highest - of.lowest + 1).bit_length())
    return CODE_BITS
