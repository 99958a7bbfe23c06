"""A group of subscriptions as gates, one link of the chain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from penstock.rtl_lib.events import event_layout
from penstock.rtl_lib.logic import Logic
from penstock.rtl_lib.merge import Merge
from penstock.rtl_lib.network import Network
from penstock.rtl_lib.results import index_width, result_layout
from penstock.rtl_lib.serialiser import Serialiser
from penstock.rtl_lib.skid_buffer import SkidBuffer


@dataclass(frozen=True, slots=True)
class ChainShape:
    """What all links of a chain have in common."""

    widths: tuple[int, ...]
    """Bits of each code of an event."""
    chunk_bits: int
    chunk_count: int
    address_bits: int
    stages: int
    """Pipeline stages between predecoding and match bits: those of the deepest tile."""

    @property
    def event_layout(self) -> data.StructLayout:
        return event_layout(sum(self.widths), self.chunk_bits, self.address_bits)

    @property
    def event(self) -> stream.Signature:
        return stream.Signature(self.event_layout)

    @property
    def result(self) -> stream.Signature:
        return stream.Signature(result_layout(self.chunk_bits, self.chunk_count))


class Tile(wiring.Component):
    """Test each event against this tile's subscriptions, and pass it on to the next tile.

    Every subscription has a valid bit, high after reset; the word at address ``first_chunk + i``
    replaces those of the tile's chunk ``i``, for the events after it.

    Latency: 1 cycle from ``i`` to ``o`` and from ``before`` to ``results``; the results of an
    event leave ``6 + stages`` cycles after it came. Throughput: 1 event per cycle, as long as
    events have at most one non-empty chunk each.

    Parameters
    ----------
    shape : ChainShape
        What all tiles of the chain agree on.
    logic : Logic
        One output per subscription.
    first_chunk : int
        The number of the tile's first chunk.

    Members
    -------
    i, o : In(shape.event), Out(shape.event)
        Events and configuration words, in and on.
    before, results : In(shape.result), Out(shape.result)
        Results of the tiles before, and the same with this tile's.
    """

    def __init__(self, shape: ChainShape, logic: Logic, *, first_chunk: int) -> None:
        self.shape = shape
        self.logic = logic
        self.first_chunk = first_chunk
        self.own_chunks = -(-len(logic.outputs) // shape.chunk_bits)
        super().__init__(
            {
                "i": In(shape.event),
                "o": Out(shape.event),
                "before": In(shape.result),
                "results": Out(shape.result),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = self.shape
        m.submodules.entry = entry = SkidBuffer(shape.event_layout)
        m.submodules.network = network = Network(shape.widths, self.logic, stages=shape.stages)
        m.submodules.serialiser = serialiser = Serialiser(
            len(self.logic.outputs),
            chunk_bits=shape.chunk_bits,
            chunk_count=shape.chunk_count,
            first_chunk=self.first_chunk,
        )
        m.submodules.merge = merge = Merge(shape.chunk_bits, shape.chunk_count)
        connect(m, flipped(self.i), entry.i)
        connect(m, flipped(self.before), merge.before)
        connect(m, serialiser.o, merge.own)
        connect(m, merge.o, flipped(self.results))

        # An event goes on and into this tile's stages in the same cycle, or waits.
        advance, here = serialiser.advance, entry.o
        m.d.comb += [
            self.o.payload.eq(here.payload),
            self.o.valid.eq(here.valid & advance),
            here.ready.eq(self.o.ready & advance),
            network.codes.eq(here.p.word.codes),
            network.enable.eq(advance),
        ]
        is_taken = here.valid & self.o.ready
        passed = delayed(m, is_taken & ~here.p.is_config, 1 + shape.stages, advance)
        enabled = self._enabled(m, is_taken & here.p.is_config, entry, advance)
        m.d.comb += [
            network.enabled.eq(enabled),
            serialiser.hits.eq(network.outputs),
            serialiser.valid.eq(passed),
        ]
        return m

    def _enabled(
        self, m: Module, is_written: Signal, entry: SkidBuffer, advance: Signal
    ) -> Cat:
        """The valid bits, written in step with the events on either side of the word."""
        config = entry.o.p.word.config
        index_bits = index_width(self.own_chunks)
        assert self.first_chunk % 2**index_bits == 0, "a tile starts at a multiple of its chunks"
        is_mine = is_written & (config.address[index_bits:] == self.first_chunk >> index_bits)
        arrived = [
            delayed(m, signal, 1, advance)
            for signal in (is_mine, config.address[:index_bits], config.bits)
        ]
        writes, index, bits = arrived
        words = []
        for number in range(self.own_chunks):
            first = number * self.shape.chunk_bits
            width = min(self.shape.chunk_bits, len(self.logic.outputs) - first)
            word = Signal(width, name=f"valid_{number}", init=2**width - 1)
            with m.If(advance & writes & (index == number)):
                m.d.sync += word.eq(bits)
            words.append(word)
        return Cat(*words)


def delayed(m: Module, value: Signal, cycles: int, enable: Signal) -> Signal:
    """The value as it was so many enabled cycles ago."""
    for _ in range(cycles):
        held = Signal(len(value))
        with m.If(enable):
            m.d.sync += held.eq(value)
        value = held
    return value
