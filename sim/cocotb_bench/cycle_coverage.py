"""What a bench sees of stalls and of configuration words, cycle by cycle."""

from __future__ import annotations

from penstock.sim.cocotb_bench.coverage import Bin, Coverage
from penstock.sim.cocotb_bench.stimulus import Item

STALLS = "stalls, in cycles"
IDLE = Bin(STALLS, "nothing is sent")
BACKPRESSURE = Bin(STALLS, "a match is not taken")
BOTH = Bin(STALLS, "both at once")
BLOCKED = Bin(STALLS, "the input has to wait")
DEEP = Bin(STALLS, "a match waits longer than the latency")

WORDS = "configuration words"
ON, OFF, NO_CHANGE = "valid bits on", "valid bits off", "valid bits as they were"
NO_CHUNK = "valid bits of no chunk"
ROW, TABLE_ON, TABLE_OFF = "row of the table", "table's valid bits on", "table's valid bits off"
EFFECTS = (ON, OFF, NO_CHANGE, NO_CHUNK, ROW, TABLE_ON, TABLE_OFF)
TAKEN, AFTER_WORD, BETWEEN_EVENTS, WHILE_STALLED = "taken", "next word", "in flow", "stalled"
"""Of a word: at all; right behind another; between two events without a gap; under a stall."""

CYCLE_BINS = (
    *(IDLE, BACKPRESSURE, BOTH, BLOCKED, DEEP),
    *(
        Bin(WORDS, effect, column)
        for effect in EFFECTS
        for column in (TAKEN, AFTER_WORD, BETWEEN_EVENTS, WHILE_STALLED)
    ),
)


class CycleCoverage:
    """Fills the bins of one run; a run begins with a reset."""

    def __init__(self, coverage: Coverage, latency_cycles: int) -> None:
        self._coverage, self._latency_cycles = coverage, latency_cycles
        self._before: tuple[Item | None, Item | None] = (None, None)
        self._waited_cycles = 0

    def cycle(
        self,
        item: Item | None,
        *,
        is_blocked: bool,
        is_done: bool,
        is_offered: bool,
        is_taken: bool,
    ) -> None:
        """One cycle: what went in, or had to wait, and whether a match was there and went out."""
        is_stalled = is_offered and not is_taken
        is_idle = item is None and not is_blocked and not is_done
        self._waited_cycles = self._waited_cycles + 1 if is_stalled else 0
        for bin, is_seen in (
            (IDLE, is_idle),
            (BACKPRESSURE, is_stalled),
            (BOTH, is_idle and is_stalled),
            (BLOCKED, is_blocked),
            (DEEP, self._waited_cycles > self._latency_cycles),
        ):
            self._coverage.hit(bin, int(is_seen))
        self._words(item, is_stalled)
        self._before = (self._before[1], item)

    def _words(self, item: Item | None, is_stalled: bool) -> None:
        earlier, before = self._before
        if item is None:
            return
        if item.is_event and before is not None and earlier is not None and earlier.is_event:
            self._effects(before, BETWEEN_EVENTS)
        self._effects(item, TAKEN)
        if before is not None and not before.is_event:
            self._effects(item, AFTER_WORD)
        if is_stalled:
            self._effects(item, WHILE_STALLED)

    def _effects(self, item: Item, column: str) -> None:
        for effect in item.effects:
            self._coverage.hit(Bin(WORDS, effect, column))
