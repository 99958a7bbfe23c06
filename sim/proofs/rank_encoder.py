"""A rank is the number of thresholds that the value reaches, those written meanwhile included."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from amaranth import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from penstock.rtl_lib.rank_encoder import RankEncoder
from penstock.sim.proofs.harness import (
    Inside,
    Proof,
    assume,
    claim,
    cover,
    implies,
    invariant,
    named,
)
from penstock.sim.proofs.run import Claim


@dataclass(frozen=True, slots=True)
class Stage:
    """What a stage of the pipeline has to hold: a value whose rank is defined, or anything."""

    is_defined: Signal
    value: Signal


class RankEncoderProof(Proof):
    """The thresholds are written down as they come in, and every value is followed to its rank.

    No value is kept from being under way when a threshold is written: it only stops being
    followed, as its rank is not defined then.
    """

    dut: RankEncoder

    def state(self, m: Module, inside: Inside) -> None:
        dut = self.dut
        writes = named(m, dut.enable & dut.levels.any(), 1, "writes")
        self._write(m, writes)
        stages = [self._stage(number) for number in range(dut.latency_cycles + 1)]
        m.d.comb += [stages[0].is_defined.eq(~dut.levels.any()), stages[0].value.eq(dut.value)]
        with m.If(dut.enable):
            for old, new in pairwise(stages):
                m.d.sync += [new.is_defined.eq(old.is_defined & ~writes), new.value.eq(old.value)]
        out = stages[-1]
        is_ranked = out.is_defined & self._is_ordered()
        claim(m, "rank counts the thresholds reached",
              implies(is_ranked, dut.rank == self._rank(out.value)))  # fmt: skip
        for level in range(dut.rank_bits):
            looking, decided = stages[2 * level + 1], stages[2 * level + 2]
            self._level(m, inside, level, looking, decided)
        self._covers(m, is_ranked, writes)

    def _write(self, m: Module, writes: Value) -> None:
        """The thresholds there are, position 1 first, and what may be written."""
        dut, given = self.dut, self.dut.thresholds
        self._values, self._exist = [], []
        assume(m, implies(writes, dut.position != 0))
        assume(m, implies(writes & ~dut.exists, dut.value == 0))
        for position in range(1, 2**dut.rank_bits):
            init = given[position - 1] if position <= len(given) else 0
            value = Signal(dut.width, name=f"value_at_{position}", init=init)
            exists = Signal(name=f"exists_at_{position}", init=position <= len(given))
            is_written = named(m, writes & (dut.position == position), 1, "is_written")
            with m.If(is_written):
                m.d.sync += [value.eq(dut.value), exists.eq(dut.exists)]
            # One by one: of a table Yosys makes a memory, and an induction has anything in it.
            level = dut.level_bit(position, dut.rank_bits)
            assume(m, implies(is_written, dut.levels == level))
            invariant(m, "an empty position is 0", implies(~exists, value == 0))
            self._values.append(value)
            self._exist.append(exists)

    def _rank(self, value: Value) -> Value:
        """How many thresholds the value reaches, counted one by one."""
        reached = (
            exists & (value >= threshold)
            for threshold, exists in zip(self._values, self._exist, strict=True)
        )
        return sum(reached, start=Value.cast(0))[: self.dut.rank_bits]

    def _is_ordered(self) -> Value:
        """Whether thresholds ascend and empty positions lie above them."""
        neighbours = zip(pairwise(self._values), pairwise(self._exist), strict=True)
        return Cat(
            ~above | (below & (low <= high)) for (low, high), (below, above) in neighbours
        ).all()  # fmt: skip

    def _stage(self, number: int) -> Stage:
        """Registers that are followed; stage 0 is the input."""
        return Stage(
            Signal(name=f"is_defined_{number}"), Signal(self.dut.width, name=f"value_{number}")
        )

    def _level(self, m: Module, inside: Inside, level: int, looking: Stage, decided: Stage) -> None:
        """What a level's memory and registers hold, for the induction."""
        bit = self.dut.rank_bits - 1 - level
        lookup = inside.part(f"level_{level}")
        for index, memory in enumerate(lookup.part("rows").rows(2**level)):
            place = (2 * index + 1) * 2**bit - 1
            invariant(
                m,
                "a level holds its thresholds",
                memory.value == self._values[place],
                memory.exists == self._exist[place],
            )
        row = data.View(
            data.StructLayout({"value": self.dut.width, "exists": 1}), lookup.all("row")[0]
        )
        reaches = row.exists & (looking.value >= row.value)
        invariant(m, "a row without a threshold is 0", implies(~row.exists, row.value == 0))
        before = inside[f"before_{level}"] if level else Const(0, 0)
        for stage, value, found in (
            # The row that was looked up decides the next bit.
            (looking, inside[f"looked_up_{level}"], Cat(before, reaches)),
            (decided, inside[f"decided_{level}"], inside[f"after_{level}"]),
        ):
            is_ranked = stage.is_defined & self._is_ordered()
            invariant(
                m,
                "a stage holds its value and the rank so far",
                implies(stage.is_defined, value == stage.value),
                implies(is_ranked, found[::-1] == self._rank(stage.value)[bit:]),
            )

    def _covers(self, m: Module, is_ranked: Value, writes: Value) -> None:
        dut = self.dut
        was_ranked, was_emptied, was_stalled = Signal(), Signal(), Signal()
        is_emptied = writes & ~dut.exists & Cat(self._exist).all()
        m.d.sync += [
            was_ranked.eq(was_ranked | (is_ranked & dut.rank.all())),
            was_emptied.eq(was_emptied | (was_ranked & is_emptied)),
            was_stalled.eq(was_stalled | (was_emptied & ~dut.enable)),
        ]
        cover(m, "a value reaches all thresholds", is_ranked & dut.rank.all())
        cover(m, "a value stays below all thresholds",
              is_ranked & (dut.rank == 0) & Cat(self._exist).all())  # fmt: skip
        cover(m, "one is taken away, and a value reaches the others, after a stall",
              is_ranked & was_stalled & (dut.rank == 2**dut.rank_bits - 2))  # fmt: skip


SAYS = "rank = thresholds reached, those written since included, under any stalls"

CLAIMS = (
    Claim("RankEncoder(8, 2), starts with 2 thresholds", SAYS,
          lambda: RankEncoderProof(RankEncoder(8, 2, (3, 200))), cover_depth=16),
    Claim("RankEncoder(8, 3), starts empty", SAYS,
          lambda: RankEncoderProof(RankEncoder(8, 3)), cover_depth=26),
)  # fmt: skip
