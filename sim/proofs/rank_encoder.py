"""A rank is the number of thresholds that the value reaches, while thresholds are replaced."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from penstock.rtl_lib.rank_encoder import RankEncoder
from penstock.sim.proofs.harness import Inside, Proof, claim, cover, implies, invariant
from penstock.sim.proofs.run import Claim


@dataclass(frozen=True, slots=True)
class Seen:
    """A stage of the pipeline as the harness follows it: what entered, and what it may see.

    ``values`` and ``exist`` are all the thresholds there were when it entered, position 1 first.
    """

    is_filled: Value
    value: Value
    writes: Value
    position: Value
    exists: Value
    values: tuple[Value, ...]
    exist: tuple[Value, ...]

    @property
    def all(self) -> Value:
        return Cat(
            self.is_filled, self.value, self.writes, self.position, self.exists,
            *self.values, *self.exist,
        )  # fmt: skip

    @property
    def rank(self) -> Value:
        """How many thresholds the value reaches, counted one by one."""
        total: Value = self.reaches(1)
        for position in range(2, len(self.values) + 1):
            total = total + self.reaches(position)
        return total

    def reaches(self, position: int) -> Value:
        return self.exist[position - 1] & (self.value >= self.values[position - 1])

    @property
    def is_ordered(self) -> Value:
        """Whether thresholds ascend and empty positions lie above them."""
        neighbours = zip(self.values, self.values[1:], self.exist, self.exist[1:], strict=False)
        return Cat(
            ~above | (below & (low <= high)) for low, high, below, above in neighbours
        ).all()  # fmt: skip

    @property
    def is_ranked(self) -> Value:
        """Whether the stage holds a value whose rank is defined."""
        return self.is_filled & ~self.writes & self.is_ordered

    def after(self) -> Value:
        """The thresholds that the next to enter sees, as in ``Cat(*values, *exist)``."""
        values, exist = list(self.values), list(self.exist)
        for index in range(len(values)):
            is_written = self.writes & (self.position == index + 1)
            values[index] = Mux(is_written, self.value, values[index])
            exist[index] = Mux(is_written, self.exists, exist[index])
        return Cat(*values, *exist)


class RankEncoderProof(Proof):
    """Every value carries the thresholds it may see along with it, stage by stage.

    Then each level's memory holds what the item that comes to it may see, however many writes
    are under way, and the bits found so far are those of the counted rank.
    """

    dut: RankEncoder

    @property
    def _row(self) -> data.StructLayout:
        return data.StructLayout({"value": self.dut.width, "exists": 1})

    @property
    def _item(self) -> data.StructLayout:
        dut = self.dut
        return data.StructLayout(
            {"value": dut.width, "rank": dut.rank_bits, "exists": 1, "writes": 1}
        )

    def state(self, m: Module, inside: Inside) -> None:
        dut = self.dut
        stages = [self._stage(number) for number in range(dut.latency_cycles + 1)]
        entering = Cat(Const(1, 1), dut.value, dut.writes, dut.position, dut.exists)
        # What enters now sees what the one before it saw, and that one's own write.
        m.d.comb += stages[0].all.eq(Cat(entering, stages[1].after()))
        with m.If(dut.enable):
            m.d.sync += [new.all.eq(old.all) for old, new in pairwise(stages)]
        out = stages[-1]
        claim(m, "rank counts the thresholds reached", implies(out.is_ranked, dut.rank == out.rank))
        for newer, older in pairwise(stages[1:]):
            seen = Cat(*newer.values, *newer.exist)
            invariant(m, "a write is seen by what comes after it", seen == older.after())
        for level in range(dut.rank_bits):
            self._level(m, inside, level, stages)
        cover(m, "a value reaches all thresholds", out.is_ranked & dut.rank.all())
        cover(m, "a value comes just before a write", out.is_ranked & stages[-2].writes)
        is_late = out.is_ranked & (stages[-1].exist[0] & stages[-2].writes & (out.rank == 0))
        cover(m, "a value stays below a threshold", is_late)

    def _stage(self, number: int) -> Seen:
        """Registers that start with the thresholds of the circuit; stage 0 is the input."""
        dut = self.dut
        given = dut.thresholds

        def register(name: str, width: int, init: int = 0) -> Signal:
            return Signal(width, name=f"{name}_{number}", init=init)

        positions = range(2**dut.rank_bits - 1)
        starts = [given[index] if index < len(given) else 0 for index in positions]
        return Seen(
            register("is_filled", 1),
            register("value", dut.width),
            register("writes", 1),
            register("position", dut.rank_bits),
            register("exists", 1),
            tuple(register(f"seen_{i}", dut.width, starts[i]) for i in positions),
            tuple(register(f"seen_exists_{i}", 1, i < len(given)) for i in positions),
        )

    def _level(self, m: Module, inside: Inside, level: int, stages: list[Seen]) -> None:
        """What a level's memory and registers hold, for the induction."""
        dut = self.dut
        bit, entering = dut.rank_bits - 1 - level, stages[2 * level]
        looking, decided = stages[2 * level + 1], stages[2 * level + 2]
        lookup = inside.part(f"level_{level}")
        step = 2**bit
        for row, memory in enumerate(lookup.part("rows").rows(2**level)):
            place = (2 * row + 1) * step - 1
            invariant(
                m,
                "a level holds what the item that comes to it may see",
                implies(entering.exist[place], memory.value == entering.values[place]),
                memory.exists == entering.exist[place],
            )
        for stage, name in ((looking, "looked_up"), (decided, "decided")):
            held = data.View(self._item, inside[f"{name}_{level}"])
            found = bit + 1 if name == "looked_up" else bit
            invariant(
                m,
                "a stage holds its item, and of a value the rank so far",
                held.value == stage.value,
                held.writes == stage.writes,
                implies(stage.writes, held.exists == stage.exists),
                implies(stage.writes, held.rank == stage.position),
                implies(stage.is_ranked, held.rank[found:] == stage.rank[found : dut.rank_bits]),
                implies(~stage.writes, held.rank[:found] == 0),
            )
        row = data.View(self._row, lookup.all("row")[0])
        reaches = row.exists & (looking.value >= row.value)
        invariant(
            m,
            "the row looked up decides the next bit",
            implies(looking.is_ranked, reaches == looking.rank[bit]),
        )


SAYS = "rank = thresholds reached, thresholds replaced meanwhile, under any stalls"

CLAIMS = (
    Claim("RankEncoder(8, 2), starts with 2 thresholds", SAYS,
          lambda: RankEncoderProof(RankEncoder(8, 2, (3, 200))), cover_depth=10),
    Claim("RankEncoder(8, 3), starts empty", SAYS,
          lambda: RankEncoderProof(RankEncoder(8, 3)), cover_depth=16),
)  # fmt: skip
