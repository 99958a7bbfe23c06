"""What every tile is built around, however it tests events."""

from __future__ import annotations

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from penstock.rtl_lib.delay import delayed
from penstock.rtl_lib.merge import Merge
from penstock.rtl_lib.serialiser import Serialiser
from penstock.rtl_lib.shape import Place
from penstock.rtl_lib.skid_buffer import SkidBuffer


class TileFrame(wiring.Component):
    """Pass events on, show each to the stages of a tile, and send what the stages find.

    The stages inside move on in the cycles in which ``advance`` is high, and take ``1 + stages``
    such cycles from ``codes`` to ``hits``. Events wait before them where other tiles have more
    stages: codes are narrower than hits.

    Latency: 1 cycle from ``link.i`` to ``link.o`` and from ``link.before`` to ``link.results``;
    the results of an event leave ``7 + shape.stages`` cycles after it came. Throughput: 1 event
    per cycle, as long as events have at most one non-empty chunk each.

    Parameters
    ----------
    place : Place
        What all tiles of the chain agree on, and which chunks and addresses are this tile's.
    stages : int
        Stages inside, at most ``shape.stages``.

    Members
    -------
    link : Out(shape.tile)
        The ports of the tile. ``link.o.valid`` may fall again before an event is taken, which
        the `SkidBuffer` that the next tile begins with does not mind.
    advance : Out(1)
        Whether the stages move on in this cycle, from a register.
    codes : Out(sum(shape.widths))
        The codes that are about to enter the first stage.
    writes, offset, bits : Out(1), Out(offset_bits), Out(shape.chunk_bits)
        Whether a configuration word for this tile has entered the first stage, and its address
        and content. It counts only while ``advance`` is high.
    hits : In(hit_count)
        What came of the codes ``1 + stages`` stages ago.
    """

    def __init__(self, place: Place, stages: int) -> None:
        self.place = place
        shape = place.shape
        self.wait_cycles = shape.stages - stages
        assert self.wait_cycles >= 0, f"{stages} stages in a chain of {shape.stages}"
        super().__init__(
            {
                "link": Out(shape.tile),
                "advance": Out(1),
                "codes": Out(sum(shape.widths)),
                "writes": Out(1),
                "offset": Out(place.offset_bits),
                "bits": Out(shape.chunk_bits),
                "hits": In(place.hit_count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place, shape, link = self.place, self.place.shape, self.link
        m.submodules.entry = entry = SkidBuffer(shape.event_layout)
        m.submodules.serialiser = serialiser = Serialiser(
            place.hit_count,
            chunk_bits=shape.chunk_bits,
            chunk_count=shape.chunk_count,
            first_chunk=place.first_chunk,
        )
        m.submodules.merge = merge = Merge(shape.chunk_bits, shape.chunk_count)
        connect(m, flipped(link.i), entry.i)
        connect(m, flipped(link.before), merge.before)
        connect(m, serialiser.o, merge.own)
        connect(m, merge.o, flipped(link.results))

        # An event goes on and into this tile's stages in the same cycle, or waits.
        advance, here = serialiser.advance, entry.o
        is_taken = here.valid & link.o.ready
        m.d.comb += [
            link.o.payload.eq(here.payload),
            link.o.valid.eq(here.valid & advance),
            here.ready.eq(link.o.ready & advance),
            self.advance.eq(advance),
            serialiser.hits.eq(self.hits),
            serialiser.valid.eq(
                delayed(m, is_taken & ~here.p.is_config, 1 + shape.stages, advance)
            ),
        ]
        is_word = delayed(m, is_taken & here.p.is_config, self.wait_cycles, advance)
        word = here.p.word.as_value()
        self._show(m, is_word, delayed(m, word, self.wait_cycles, advance, is_data=True))
        return m

    def _show(self, m: Module, is_word: Value, waited: Value) -> None:
        """Show the codes and, a stage later, what is written."""
        word = data.View(self.place.shape.event_layout["word"].shape, waited)
        offset_bits, advance = self.place.offset_bits, self.advance
        address = word.config.address
        is_mine = address[offset_bits:] == self.place.base >> offset_bits
        m.d.comb += [
            self.codes.eq(word.codes),
            self.writes.eq(delayed(m, is_word & is_mine, 1, advance)),
            self.offset.eq(delayed(m, address[:offset_bits], 1, advance, is_data=True)),
            self.bits.eq(delayed(m, word.config.bits, 1, advance, is_data=True)),
        ]

    def valid_bits(self, m: Module, chunk: Value, *, are_written: Value, init: int) -> Value:
        """A register bit per hit, all ``init`` after reset; ``bits`` replaces those of a chunk.

        Events after the word find the new bits in the first stage, as they find new codes.
        """
        hit_count, width = self.place.hit_count, self.place.shape.chunk_bits
        words = []
        for number in range(len(self.place.chunks)):
            count = min(width, hit_count - number * width)
            word = Signal(count, name=f"valid_{number}", init=(2**count - 1) * init)
            with m.If(self.advance & self.writes & are_written & (chunk == number)):
                m.d.sync += word.eq(self.bits)
            words.append(word)
        return Cat(*words)
