"""What turns raw values into codes, in front of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.compare import PairCompare
from penstock.rtl_lib.delay import delayed
from penstock.rtl_lib.direct_encoder import DirectEncoder
from penstock.rtl_lib.events import config_layout
from penstock.rtl_lib.rank_encoder import RankEncoder
from penstock.rtl_lib.ranked_code import RankedCode, write_layout
from penstock.rtl_lib.results import index_width
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.sources import Compared, Direct, Passed, Ranked, Source, check_source


class Front(wiring.Component):
    """Make the codes of each event from its values.

    Configuration words come in the place of events, as in the chain. Those at a tile's address
    go on. Those at the front's own addresses, `address_of` each search, write a threshold or a
    code, for the events after them: the word's bits say which, and the threshold or the code
    lies in the place of the value. Words at addresses in between are dropped.

    Latency: `latency_cycles`. A word waits until the events before it have left, but not for
    words: a row of them is taken at 1 per cycle. Throughput: 1 event per cycle.

    Parameters
    ----------
    shape : ChainShape
        That of the chain behind.
    value_bits : sequence of int
        Bits of each value of a raw event, their presence bits not counted.
    sources : sequence of Source
        Where each code comes from.

    Members
    -------
    i : In(stream.Signature(raw_layout))
        Raw events and configuration words. In ``word`` lie the codes of `Passed`, in the order
        of the codes, or a configuration word; in ``values`` the values, each below its presence
        bit. ``i.ready`` follows ``o.ready`` in the same cycle.
    o : Out(shape.event)
        Codes and configuration words, from registers.
    """

    def __init__(
        self, shape: ChainShape, value_bits: Sequence[int], sources: Sequence[Source]
    ) -> None:
        self.shape = shape
        self.value_bits = tuple(value_bits)
        self.sources = tuple(sources)
        for source in sources:
            check_source(source, self.value_bits)
        widths = tuple(source.code_bits for source in sources)
        if len(widths) != len(shape.widths) or any(map(int.__gt__, widths, shape.widths)):
            raise ValueError(f"codes of {widths} bits do not fit into {shape.widths}")
        longest = max((2 * s.rank_bits + 2 for s in sources if isinstance(s, Ranked)), default=0)
        if longest > shape.chunk_bits:
            raise ValueError(
                f"a word has {shape.chunk_bits} bits, and a write to a search takes {longest}"
            )
        super().__init__({"i": In(stream.Signature(self.raw_layout)), "o": Out(shape.event)})

    @property
    def latency_cycles(self) -> int:
        """Cycles from an event to its codes."""
        return 2 + self._stages

    @property
    def _stages(self) -> int:
        """Cycles that the slowest source takes."""
        return max(1, *(source.latency_cycles for source in self.sources))

    @property
    def first_address(self) -> int:
        """The front's first address, above all of the tiles': a power of two."""
        return 1 << max(self.shape.address_bits, index_width(len(self.sources)))

    @property
    def raw_layout(self) -> data.StructLayout:
        """What comes in: an event's ready-made codes and values, or a configuration word."""
        passed_bits = sum(s.code_bits for s in self.sources if isinstance(s, Passed))
        address_bits = self.first_address.bit_length()
        config = config_layout(self.shape.chunk_bits, address_bits)
        word = data.UnionLayout({"codes": passed_bits, "config": config})
        values = sum(bits + 1 for bits in self.value_bits)
        return data.StructLayout({"word": word, "values": values, "is_config": 1})

    def compute(self, passed: Sequence[int], values: Sequence[int]) -> tuple[int, ...]:
        """The codes that come of ready-made codes and raw values."""
        ready_made = iter(passed)
        return tuple(self._code(source, ready_made, values) for source in self.sources)

    def _code(self, source: Source, ready_made: Any, values: Sequence[int]) -> int:
        if isinstance(source, Passed):
            return int(next(ready_made))
        if not isinstance(source, Compared):
            return source.compute(values)
        keys = []
        for index in (source.left, source.right):
            bits, value = self.value_bits[index], values[index]
            number = value - (1 << bits) - (1 << bits >> 1)  # counted from the type's middle
            keys.append(number if value >> bits else None)
        return PairCompare.compute(*keys)

    def pack_values(self, values: Sequence[int]) -> int:
        """Raw values side by side, value 0 lowest."""
        word = 0
        for value, bits in zip(reversed(values), reversed(self.value_bits), strict=True):
            if not 0 <= value < 2 ** (bits + 1):
                raise ValueError(f"value {value} does not fit into {bits} bits and a presence bit")
            word = word << bits + 1 | value
        return word

    def address_of(self, code: int) -> int:
        """Where the thresholds and codes of a search are written."""
        if not isinstance(self.sources[code], Ranked):
            raise ValueError(f"code {code} is not made by a search: {self.sources[code]}")
        return self.first_address + code

    def threshold_word(self, code: int, position: int, threshold: int | None) -> dict[str, Any]:
        """The word that writes a threshold, or empties its position."""
        return self._write_word(code, position, threshold or 0, exists=threshold is not None)

    def code_word(self, code: int, rank: int, new: int) -> dict[str, Any]:
        """The word that writes the code of a rank."""
        return self._write_word(code, rank, new, is_code=True)

    def _write_word(
        self, code: int, position: int, content: int, *, exists: bool = False, is_code: bool = False
    ) -> dict[str, Any]:
        address, source = self.address_of(code), self.sources[code]
        assert isinstance(source, Ranked)
        if not 0 <= position < 2**source.rank_bits:
            raise ValueError(f"code {code} has no position {position}")
        levels = 0 if is_code else RankEncoder.level_bit(position, source.rank_bits)
        write = write_layout(source.rank_bits).const(
            {"position": position, "levels": levels, "exists": exists, "is_code": is_code}
        )
        values = [0] * len(self.value_bits)
        values[source.value] = content
        return {
            "word": {"config": {"bits": write.as_value().value, "address": address}},
            "values": self.pack_values(values),
            "is_config": 1,
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        entry, is_filled = Signal(self.raw_layout, reset_less=True), Signal()
        item, is_valid = Signal(self.shape.event_layout, reset_less=True), Signal()
        under_way = Signal(self._stages)
        advance, waits, passes = Signal(), Signal(), Signal()

        config, is_word = entry.word.config, is_filled & entry.is_config
        is_for_tile = ~config.address[self.shape.address_bits :].any()
        is_empty = ~under_way.any()
        m.d.comb += [
            self.o.payload.eq(item),
            self.o.valid.eq(is_valid),
            advance.eq(self.o.ready | ~is_valid),
            waits.eq(is_word & ~is_empty),
            passes.eq(is_word & is_empty & is_for_tile),
            self.i.ready.eq(advance & ~waits),
        ]
        with m.If(advance & ~waits):
            m.d.sync += [entry.eq(self.i.payload), is_filled.eq(self.i.valid)]
        codes = self._codes(m, entry, is_word & is_empty, advance)
        with m.If(advance):
            m.d.sync += [
                under_way.eq(Cat(is_filled & ~entry.is_config, under_way[:-1])),
                is_valid.eq(under_way[-1] | passes),
                item.word.codes.eq(codes),
                item.is_config.eq(passes),
            ]
            with m.If(passes):
                m.d.sync += [
                    item.word.config.bits.eq(config.bits),
                    item.word.config.address.eq(config.address),
                ]
        return m

    def _codes(self, m: Module, entry: Any, may_write: Value, enable: Value) -> Value:
        """All codes side by side, as many stages after the entry as the slowest takes."""
        values, offset = [], 0
        for bits in self.value_bits:
            values.append(entry.values[offset : offset + bits + 1])
            offset += bits + 1
        codes, passed = [], 0
        for number, source in enumerate(self.sources):
            if isinstance(source, Passed):
                made: Value = entry.word.codes[passed : passed + source.code_bits]
                passed += source.code_bits
            elif isinstance(source, Compared):
                made = _compared(m, number, values[source.left], values[source.right], enable)
            elif isinstance(source, Direct):
                made = _direct(m, number, source, values[source.value], enable)
            else:
                config = entry.word.config
                writes = may_write & (config.address == self.first_address + number)
                made = _ranked(m, number, source, values[source.value], writes, config.bits, enable)
            code = Signal(self.shape.widths[number], name=f"code_{number}")
            m.d.comb += code.eq(delayed(m, made, self._stages - source.latency_cycles, enable))
            codes.append(code)
        return Cat(*codes)


def _ranked(
    m: Module,
    number: int,
    source: Ranked,
    value: Value,
    writes: Value,
    bits: Value,
    enable: Value,
) -> Value:
    m.submodules[f"ranked_{number}"] = ranked = RankedCode(len(value), source)
    m.d.comb += [
        ranked.enable.eq(enable),
        ranked.value.eq(value),
        ranked.writes.eq(writes),
        ranked.write.eq(bits),
    ]
    return ranked.code


def _direct(m: Module, number: int, source: Direct, value: Value, enable: Value) -> Value:
    m.submodules[f"direct_{number}"] = direct = DirectEncoder(
        len(value), source.thresholds, source.codes
    )
    m.d.comb += [direct.enable.eq(enable), direct.value.eq(value)]
    return direct.code


def _compared(m: Module, number: int, left: Value, right: Value, enable: Value) -> Value:
    width = max(len(left), len(right)) - 1
    m.submodules[f"compared_{number}"] = pair = PairCompare(width)
    m.d.comb += [
        pair.enable.eq(enable),
        pair.left.eq(_widened(left[:-1], width)),
        pair.right.eq(_widened(right[:-1], width)),
        pair.left_present.eq(left[-1]),
        pair.right_present.eq(right[-1]),
    ]
    return pair.relation


def _widened(value: Value, width: int) -> Value:
    """A signed number that counts from its type's lowest, counted from a wider type's lowest."""
    missing = width - len(value)
    return Cat(value[:-1], (~value[-1]).replicate(missing), value[-1]) if missing else value
