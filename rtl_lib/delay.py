"""Values of earlier cycles."""

from __future__ import annotations

from amaranth import Module, Signal, Value


def delayed(m: Module, value: Value, cycles: int, enable: Value, *, is_data: bool = False) -> Value:
    """The value as it was so many enabled cycles ago; data is not reset."""
    for _ in range(cycles):
        held = Signal(len(value), reset_less=is_data)
        with m.If(enable):
            m.d.sync += held.eq(value)
        value = held
    return value
