"""A register slice that cuts both directions of a stream."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class SkidBuffer(wiring.Component):
    """Pass a stream through registers, so that no wire runs from one side to the other.

    Latency: 1 cycle. Throughput: 1 item per cycle while ``o.ready`` is high. It holds two
    items: the second is the one already under way when ``i.ready`` falls.

    Parameters
    ----------
    shape : ShapeLike
        Shape of an item.

    Members
    -------
    i : In(stream.Signature(shape))
        Items to pass on. ``i.ready`` comes from a register.
    o : Out(stream.Signature(shape))
        The same items in the same order, from registers.
    ready_next : Out(1)
        What ``i.ready`` will be in the next cycle.
    """

    def __init__(self, shape: ShapeLike) -> None:
        self.shape = shape
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "ready_next": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Data needs no reset: nobody looks at it before `valid`.
        spare = Signal(self.shape, reset_less=True)
        item = Signal(self.shape, reset_less=True)
        is_spare_empty = Signal(init=1)
        moves = Signal()
        m.d.comb += [
            moves.eq(self.o.ready | ~self.o.valid),
            self.i.ready.eq(is_spare_empty),
            self.o.payload.eq(item),
            self.ready_next.eq(moves | (is_spare_empty & ~self.i.valid)),
        ]
        m.d.sync += is_spare_empty.eq(self.ready_next)
        with m.If(is_spare_empty):
            m.d.sync += spare.eq(self.i.payload)
        with m.If(moves):
            m.d.sync += self.o.valid.eq(self.i.valid | ~is_spare_empty)
            with m.If(is_spare_empty):
                m.d.sync += item.eq(self.i.payload)
            with m.Else():
                m.d.sync += item.eq(spare)
        return m
