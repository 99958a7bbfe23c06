"""A chain with a table, whose rows and valid bits are written at random while events flow."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.gen.lower.verilog import verilog_of
from penstock.gen.plan import CHUNK_BITS
from penstock.rtl_lib.chain import Chain
from penstock.rtl_lib.logic import Enabled, Gate, InRange, Logic
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.table_tile import TableTile
from penstock.rtl_lib.tile import Tile
from penstock.sim.cocotb_bench.coverage import Coverage
from penstock.sim.cocotb_bench.cycle_coverage import NO_CHANGE, OFF, ON, ROW, TABLE_OFF, TABLE_ON
from penstock.sim.cocotb_bench.event_coverage import EVENT_BINS, cover_chunks
from penstock.sim.cocotb_bench.experiments import layout_of, word
from penstock.sim.cocotb_bench.run import Experiment
from penstock.sim.cocotb_bench.stimulus import Chunks, Item, Stimulus, Stream

SEED = 13
WIDTHS = (3, 2, 4)
FIXED = 12
"""Subscriptions as gates: number ``n`` wants a code of at least ``n`` in the last field."""
CAPACITY = 70
"""Subscriptions as memory contents: three chunks, the last of them partly."""
ALL_ON = 2**CHUNK_BITS - 1


def table_experiment(event_count: int, patterns: Sequence[str]) -> Experiment:
    """A tile of gates and one of memories, against a model of their contents."""
    chain, fixed, table = _chain()
    rng = Random(SEED)
    contents = _Contents(chain, fixed, table)
    stream = _updates(contents, event_count, rng)
    coverage = Coverage(EVENT_BINS)
    for answer in stream.answers:
        cover_chunks(coverage, answer, len(fixed.place.chunks) + len(table.place.chunks))
    stimulus = Stimulus(layout_of(chain), (stream,), tuple(patterns), SEED)
    return Experiment("table", verilog_of(chain), stimulus, coverage)


def _chain() -> tuple[Chain, Tile, TableTile]:
    nodes: list[InRange | Enabled | Gate] = []
    for number in range(FIXED):
        nodes += [InRange(2, number), Enabled(number)]
        nodes.append(Gate((2 * len(nodes) - 4, 2 * len(nodes) - 2)))
    logic = Logic(tuple(nodes), tuple(range(4, 6 * FIXED, 6)))
    shape = ChainShape(WIDTHS, CHUNK_BITS, 7, 9, stages=max(2, logic.stages))
    fixed = Tile(shape, logic, first_chunk=0)
    fields = range(len(WIDTHS))
    table = TableTile(shape, fields, capacity=CAPACITY, first_chunk=4, base=256)
    return Chain([fixed, table]), fixed, table


class _Contents:
    """What the two tiles hold. Each write returns the item that does the same to the circuit."""

    def __init__(self, chain: Chain, fixed: Tile, table: TableTile) -> None:
        self._chain, self._fixed, self._table = chain, fixed, table
        self._enabled = 2**FIXED - 1
        self._valid = [0] * len(table.place.chunks)
        self._rows: dict[tuple[int, int, int], int] = {}

    @property
    def chunks(self) -> range:
        """Those of the table, counted from 0."""
        return range(len(self._valid))

    def write_enabled(self, bits: int) -> Item:
        before, self._enabled = self._enabled, bits & 2**FIXED - 1
        effects = _effects(before, self._enabled, ON, OFF)
        return Item(word(self._chain, self._fixed.valid_address(0), bits), effects)

    def write_valid(self, chunk: int, bits: int) -> Item:
        before, self._valid[chunk] = self._valid[chunk], bits
        effects = _effects(before, bits, TABLE_ON, TABLE_OFF)
        return Item(word(self._chain, self._table.valid_address(chunk), bits), effects)

    def write_row(self, field: int, code: int, chunk: int, bits: int) -> Item:
        self._rows[field, code, chunk] = bits
        return Item(word(self._chain, self._table.row_address(field, code, chunk), bits), (ROW,))

    def answer(self, codes: Sequence[int]) -> Chunks:
        found = {0: 2 ** (codes[2] + 1) - 1 & self._enabled}
        for chunk, bits in enumerate(self._valid):
            for field, code in enumerate(codes):
                bits &= self._rows.get((field, code, chunk), 0)
            room = min(CHUNK_BITS, CAPACITY - chunk * CHUNK_BITS)
            found[self._table.place.chunks[chunk]] = bits & 2**room - 1
        return tuple((chunk, bits) for chunk, bits in found.items() if bits)


def _effects(before: int, after: int, on: str, off: str) -> tuple[str, ...]:
    effects = [on] * bool(after & ~before) + [off] * bool(before & ~after)
    return tuple(effects) or (NO_CHANGE,)


def _updates(contents: _Contents, event_count: int, rng: Random) -> Stream:
    """Every row is written, as a reset leaves the memories; then words fall between events."""
    items: list[Item] = []
    answers: list[Chunks] = []

    def send_event() -> None:
        codes = tuple(rng.randrange(2**width) for width in WIDTHS)
        items.append(Item(_packed(codes)))
        answers.append(contents.answer(codes))

    for _ in range(20):
        send_event()
    for field, width in enumerate(WIDTHS):
        for code in range(2**width):
            for chunk in contents.chunks:
                items.append(contents.write_row(field, code, chunk, _bits(rng)))
    while len(answers) < event_count:
        kind = rng.random()
        if kind < 0.15:
            field = rng.randrange(len(WIDTHS))
            code, chunk = rng.randrange(2 ** WIDTHS[field]), rng.choice(contents.chunks)
            items.append(contents.write_row(field, code, chunk, _bits(rng)))
        elif kind < 0.3:
            items.append(contents.write_valid(rng.choice(contents.chunks), _bits(rng)))
        elif kind < 0.35:
            items.append(contents.write_enabled(_bits(rng)))
        else:
            send_event()
    return Stream("updates", tuple(items), tuple(answers))


def _bits(rng: Random) -> int:
    """All, none, or half of the bits."""
    return rng.choice((ALL_ON, ALL_ON, 0, rng.getrandbits(CHUNK_BITS), rng.getrandbits(CHUNK_BITS)))


def _packed(codes: Sequence[int]) -> int:
    packed = 0
    for code, width in zip(reversed(codes), reversed(WIDTHS), strict=True):
        packed = packed << width | code
    return packed
