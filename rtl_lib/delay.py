"""Values of earlier cycles."""

from __future__ import annotations

from amaranth import Module, Signal, Value


def delayed(m: Module, value: Value, cycles: int, enable: Value) -> Value:
    """The value as it was so many enabled cycles ago."""
    for _ in range(cycles):
        held = Signal(len(value))
        with m.If(enable):
            m.d.sync += held.eq(value)
        value = held
    return value
