"""Clock, reset, a source and a sink for the ports of a circuit, for every bench alike.

Agents set their pins at the falling edge and look at all pins right after, when they have settled
to what the next rising edge will see. So no agent races with the circuit or with another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from penstock.sim.cocotb_bench.claims import Record
from penstock.sim.cocotb_bench.cycle_coverage import CycleCoverage
from penstock.sim.cocotb_bench.stimulus import Item, Layout

CYCLE_NS = 10
RESET_CYCLES = 3
COUNTERS = ("events", "chunks", "stalls")


class Source:
    """Offers items in turn, in the cycles that its pattern allows; an offer is not taken back."""

    def __init__(self, dut: Any, items: Sequence[Item], may_send: Iterator[bool]) -> None:
        self._payload, self._valid, self._ready = dut.i__payload, dut.i__valid, dut.i__ready
        self._every_bit = (1 << len(dut.i__payload)) - 1
        self._items, self._may_send = items, may_send
        self._next = 0
        self._is_offering = False

    @property
    def is_done(self) -> bool:
        return self._next == len(self._items)

    def drive(self) -> None:
        self._is_offering = not self.is_done and (self._is_offering or next(self._may_send))
        self._valid.value = int(self._is_offering)
        payload = 0 if self.is_done else self._items[self._next].payload
        # Without `valid` the payload means nothing: a word for an event, an event for a word.
        self._payload.value = payload if self._is_offering else payload ^ self._every_bit

    def taken(self) -> Item | None:
        """The item that goes in at the next rising edge."""
        if not (self._is_offering and self._ready.value):
            return None
        self._next += 1
        self._is_offering = False
        return self._items[self._next - 1]

    @property
    def is_waiting(self) -> bool:
        """Whether an item is offered and stays so, asked after `taken`."""
        return self._is_offering


class Sink:
    """Takes payloads in the cycles that its pattern allows."""

    def __init__(self, dut: Any, may_take: Iterator[bool]) -> None:
        self._payload, self._valid, self._ready = dut.o__payload, dut.o__valid, dut.o__ready
        self._may_take = may_take
        self.is_ready = False

    def drive(self) -> None:
        self.is_ready = next(self._may_take)
        self._ready.value = int(self.is_ready)

    def offered(self) -> int | None:
        """The payload that the circuit has for the sink, whether that takes it or not."""
        return self._payload.value.to_unsigned() if self._valid.value else None


class Bench:
    """A circuit between a source and a sink, from reset until nothing more comes out."""

    def __init__(self, dut: Any, layout: Layout, coverage: CycleCoverage) -> None:
        self._dut, self._layout, self._coverage = dut, layout, coverage
        self._quiet_limit = 4 * layout.latency_cycles + 50
        Clock(dut.clk, CYCLE_NS, unit="ns").start()

    async def reset(self) -> None:
        self._dut.rst.value = 1
        self._dut.i__valid.value = 0
        self._dut.o__ready.value = 0
        for _ in range(RESET_CYCLES):
            await FallingEdge(self._dut.clk)
        self._dut.rst.value = 0

    async def run(
        self, items: Sequence[Item], may_send: Iterator[bool], may_take: Iterator[bool]
    ) -> Record:
        """Send all items, and take what comes until there has been nothing for long."""
        source, sink = Source(self._dut, items, may_send), Sink(self._dut, may_take)
        record, waiting = Record(), None
        cycle = quiet_cycles = 0
        while quiet_cycles < self._quiet_limit:
            source.drive()
            sink.drive()
            await ReadOnly()
            item, offered = source.taken(), sink.offered()
            self._coverage.cycle(
                item, is_blocked=source.is_waiting, is_done=source.is_done,
                is_offered=offered is not None, is_taken=sink.is_ready,
            )  # fmt: skip
            if item is not None:
                record.sent_cycles.append(cycle)
            if waiting not in (None, offered):
                record.moved_cycles.append(cycle)
            waiting = None
            if offered is not None and sink.is_ready:
                record.matches.append(self._layout.match_of(offered))
                record.match_cycles.append(cycle)
            elif offered is not None:
                waiting = offered
                record.stalled_cycles += 1
            quiet_cycles = quiet_cycles + 1 if source.is_done and offered is None else 0
            cycle += 1
            await FallingEdge(self._dut.clk)
        record.counters = {name: getattr(self._dut, name).value.to_unsigned() for name in COUNTERS}
        cocotb.log.info("%d items, %d matches, %d cycles", len(items), len(record.matches), cycle)
        return record
