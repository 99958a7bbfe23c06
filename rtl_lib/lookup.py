"""A memory that is either read or written."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth import Module, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class Lookup(wiring.Component):
    """Look up a row per cycle, or replace one.

    A stage of a pipeline holds an event or a configuration word, never both, so nothing needs
    to be said about reading the row that is being written. That saves the logic which synthesis
    would put around a block RAM to make it certain.

    Latency: 1 cycle in which ``enable`` is high. Throughput: 1 row per cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a row.
    depth : int
        Number of rows.
    init : iterable
        The rows at power-up; those left out are zero. A reset does not bring them back.

    Members
    -------
    enable : In(1)
        Whether anything happens in this cycle.
    writes : In(1)
        Whether that is a write; else it is a read.
    address : In(bits for depth)
        The row to read.
    row : Out(shape)
        The row last read, from registers.
    write_address, write_row : In(bits for depth), In(shape)
        The row to write, and what.
    """

    def __init__(self, shape: ShapeLike, depth: int, init: Iterable[object] = ()) -> None:
        self.shape = shape
        self.depth = depth
        self.init = tuple(init)
        address_bits = (depth - 1).bit_length()
        super().__init__(
            {
                "enable": In(1),
                "writes": In(1),
                "address": In(address_bits),
                "row": Out(shape),
                "write_address": In(address_bits),
                "write_row": In(shape),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = Memory(shape=self.shape, depth=self.depth, init=self.init)
        write, read = rows.write_port(), rows.read_port(domain="comb")
        row = Signal(self.shape, reset_less=True)
        m.d.comb += [
            write.addr.eq(self.write_address),
            write.data.eq(self.write_row),
            write.en.eq(self.enable & self.writes),
            read.addr.eq(self.address),
            self.row.eq(row),
        ]
        # Synthesis makes one synchronous port of the read and its register, and sees that it is
        # never enabled together with the write. It does not look for that in a port that is
        # synchronous from the start.
        with m.If(self.enable & ~self.writes):
            m.d.sync += row.eq(read.data)
        return m
