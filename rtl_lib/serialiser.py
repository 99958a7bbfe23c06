"""Vectors of match bits into non-empty chunks."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from operator import or_

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from penstock.rtl_lib.results import check_chunks, chunks_for, index_width, result_layout
from penstock.rtl_lib.skid_buffer import SkidBuffer


class Serialiser(wiring.Component):
    """Cut each event's vector of match bits into chunks and send those that are not empty.

    Latency: 4 cycles from ``hits`` to ``o`` while nothing stalls. Throughput: 1 event per cycle
    while events have at most one non-empty chunk each; a further chunk costs a cycle.

    Parameters
    ----------
    hit_count : int
        Bits per vector.
    chunk_bits : int
        Bits per chunk; the last chunk is filled with zeros.
    chunk_count, first_chunk : int
        How many chunks the whole circuit has, and the number of this serialiser's first: a
        multiple of its own number of chunks, rounded up to a power of two.

    Members
    -------
    hits : In(hit_count)
        The vector of one event.
    valid : In(1)
        Whether there is an event.
    advance : Out(1)
        Whether ``hits`` is taken in this cycle, from a register.
    o : Out(stream.Signature(result_layout(chunk_bits, chunk_count)))
        The results of every event, in order.
    """

    def __init__(
        self, hit_count: int, *, chunk_bits: int, chunk_count: int, first_chunk: int = 0
    ) -> None:
        self.chunk_bits = chunk_bits
        check_chunks(hit_count, chunk_bits, chunk_count, first_chunk)
        self.own_chunks = chunks_for(hit_count, chunk_bits)
        self.first_chunk = first_chunk
        self.layout = result_layout(chunk_bits, chunk_count)
        super().__init__(
            {
                "hits": In(hit_count),
                "valid": In(1),
                "advance": Out(1, init=1),
                "o": Out(stream.Signature(self.layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chunks = [
            self.hits[start : start + self.chunk_bits]
            for start in range(0, len(self.hits), self.chunk_bits)
        ]
        # One stage ahead of the event being sent, so that `advance` can come from a register.
        next_valid = Signal()
        next_some = Signal(self.own_chunks)
        valid = Signal()
        # Which chunk is next, and which come after it: both from registers, as much hangs on them.
        chosen = Signal(self.own_chunks)
        rest = Signal(self.own_chunks)
        next_bits = [_data(len(chunk), f"next_{i}") for i, chunk in enumerate(chunks)]
        bits = [_data(len(chunk), f"held_{i}") for i, chunk in enumerate(chunks)]
        with m.If(self.advance):
            m.d.sync += [
                next_valid.eq(self.valid),
                next_some.eq(Cat(*(chunk.any() for chunk in chunks))),
                valid.eq(next_valid),
                *(new.eq(chunk) for new, chunk in zip(next_bits, chunks, strict=True)),
                *(new.eq(old) for new, old in zip(bits, next_bits, strict=True)),
            ]
        is_busy, is_more, takes, takes_next = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            is_busy.eq(Mux(self.advance, next_valid, valid)),
            # Whether the next cycle has more than one chunk to send.
            is_more.eq(
                Mux(self.advance, _several(next_some), Mux(takes, _several(rest), rest.any()))
            ),
        ]
        with m.If(self.advance):
            m.d.sync += [chosen.eq(_lowest(next_some)), rest.eq(next_some & ~_lowest(next_some))]
        with m.Elif(takes):
            m.d.sync += [chosen.eq(_lowest(rest)), rest.eq(rest & ~_lowest(rest))]
        # Move on where nothing is left, or where what is left surely goes out in that cycle. So
        # an event never ends in a cycle in which the stages stand still.
        m.d.sync += self.advance.eq(~is_busy | (takes_next & ~is_more))
        self._send(m, chosen, rest, bits, valid, takes, takes_next)
        return m

    def _send(
        self,
        m: Module,
        chosen: Signal,
        rest: Signal,
        bits: list[Signal],
        valid: Signal,
        takes: Signal,
        takes_next: Signal,
    ) -> None:
        """Take the chosen chunk into registers of which all others are reset, and send their OR.

        Resetting a register is free, where choosing one of many chunks would take gates.
        """
        m.submodules.out = out = SkidBuffer(self.layout)
        connect(m, out.o, flipped(self.o))
        gated = [_data(self.chunk_bits, f"gated_{i}") for i in range(self.own_chunks)]
        m.d.comb += [
            takes.eq(out.i.ready),
            takes_next.eq(out.ready_next),
            out.i.p.bits.eq(reduce(or_, gated)),
        ]
        index = Signal.like(out.i.p.chunk)
        with m.If(takes):
            m.d.sync += [
                out.i.valid.eq(valid),
                out.i.p.some.eq(chosen.any()),
                out.i.p.last.eq(~rest.any()),
                index.eq(self.first_chunk | _index(chosen)),
            ]
            for number, register in enumerate(gated):
                with m.If(chosen[number]):
                    m.d.sync += register.eq(bits[number])
                with m.Else():
                    m.d.sync += register.eq(0)
        m.d.comb += out.i.p.chunk.eq(index)


def _data(width: int, name: str) -> Signal:
    """A register that needs no reset; a flip-flop's reset input is put to better use here."""
    return Signal(width, name=name, reset_less=True)


def _lowest(flags: Value) -> Value:
    """Only the lowest flag that is set."""
    return Cat(flag & ~flags[:index].any() if index else flag for index, flag in enumerate(flags))


def _several(flags: Value) -> Value:
    """Whether two flags or more are set, as a tree of four inputs a step."""
    groups = [flags[start : start + 4] for start in range(0, len(flags), 4)]
    within = Cat(*(_pairs(group).any() for group in groups)).any()
    if len(groups) == 1:
        return within
    return within | _several(Cat(*(group.any() for group in groups)))


def _pairs(flags: Value) -> Value:
    return Cat(first & second for first, second in combinations(flags, 2))


def _index(flags: Value) -> Value:
    """The number of the one flag that is set."""
    return Cat(
        Cat(flag for number, flag in enumerate(flags) if number >> bit & 1).any()
        for bit in range(index_width(len(flags)))
    )
