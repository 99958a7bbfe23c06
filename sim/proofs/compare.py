"""The comparators say what their specification says, for every value and for absent ones."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Mux, Signal, Value

from penstock.rtl_lib.compare import DirectRanges, PairCompare, Relation
from penstock.sim.proofs.harness import Inside, Proof, before, claim, cover, implies, invariant
from penstock.sim.proofs.run import Claim


class DirectRangesProof(Proof):
    """The verdict on the value of the last enabled cycle, worked out one value at a time."""

    dut: DirectRanges

    def state(self, m: Module, inside: Inside) -> None:
        dut = self.dut
        verdicts = sum(dut.compute(value) << value for value in range(2 ** len(dut.value)))
        is_known, wanted = Signal(), Signal(name="wanted")
        with m.If(dut.enable):
            m.d.sync += is_known.eq(1)
            m.d.sync += wanted.eq(
                dut.present & Const(verdicts, 2 ** len(dut.value)).bit_select(dut.value, 1)
            )
        claim(m, "inside is the verdict", implies(is_known, dut.inside == wanted))
        was_off = before(m, ~dut.enable & is_known)
        if any(dut.compute(value) for value in range(2 ** len(dut.value))):
            cover(m, "a value lies in a range, and the verdict stays", dut.inside & was_off)
        cover(m, "a value lies in no range", is_known & ~dut.inside & was_off)


class PairCompareProof(Proof):
    """The relation of the pair that went in ``latency_cycles`` enabled cycles ago."""

    dut: PairCompare

    def state(self, m: Module, inside: Inside) -> None:
        dut = self.dut
        pair = Cat(dut.left, dut.right, dut.left_present, dut.right_present)
        is_filled, pairs = [Const(1, 1)], [pair]
        for stage in range(dut.latency_cycles):
            is_filled.append(Signal(name=f"is_filled_{stage}"))
            pairs.append(Signal(len(pair), name=f"pair_{stage}"))
            with m.If(dut.enable):
                m.d.sync += [is_filled[-1].eq(is_filled[-2]), pairs[-1].eq(pairs[-2])]
        wanted = self._relation(pairs[-1])
        claim(m, "relation is that of the pair", implies(is_filled[-1], dut.relation == wanted))
        if dut.latency_cycles == 2:
            self._first_stage(m, inside, is_filled[1], pairs[1])
        was_off = before(m, ~dut.enable & is_filled[-1])
        for relation in Relation:
            reached = is_filled[-1] & was_off & (dut.relation == relation)
            cover(m, f"a pair is {relation.name}", reached)

    def _first_stage(self, m: Module, inside: Inside, is_filled: Value, pair: Value) -> None:
        """What the registers between the stages hold, for the induction."""
        width, half = self.dut.width, self.dut.width // 2
        low_left, left = pair[:half], pair[half:width]
        low_right, right = pair[width : width + half], pair[width + half : 2 * width]
        absent, halves = inside.all("held")
        invariant(
            m,
            "the halves are compared first",
            implies(is_filled, absent == ~pair[2 * width :]),
            implies(is_filled, halves[0] == (left < right)),
            implies(is_filled, halves[1] == (left == right)),
            implies(is_filled, halves[2] == (low_left < low_right)),
            implies(is_filled, halves[3] == (low_left == low_right)),
        )

    def _relation(self, pair: Value) -> Value:
        width = self.dut.width
        left, right = pair[:width], pair[width : 2 * width]
        left_present, right_present = pair[2 * width], pair[2 * width + 1]
        order = Mux(left == right, Relation.EQUAL, Relation.ABOVE)
        order = Mux(left < right, Relation.BELOW, order)
        some = Mux(left_present | right_present, Relation.ONE_ABSENT, Relation.BOTH_ABSENT)
        return Mux(left_present & right_present, order, some)


RANGES = ((0, 0), (3, 5), (6, 6), (9, 12), (15, 15))
SAYS_RANGES = "inside iff present and in a range, for every value"
SAYS_PAIRS = "the relation of every pair, absent ones too"

CLAIMS = (
    Claim("DirectRanges(4), 5 ranges", SAYS_RANGES,
          lambda: DirectRangesProof(DirectRanges(4, RANGES))),
    Claim("DirectRanges(8), 2 ranges", SAYS_RANGES,
          lambda: DirectRangesProof(DirectRanges(8, ((17, 99), (200, 255))))),
    Claim("DirectRanges(4), no range", SAYS_RANGES, lambda: DirectRangesProof(DirectRanges(4, ()))),
    Claim("PairCompare(64), 2 stages", SAYS_PAIRS, lambda: PairCompareProof(PairCompare(64))),
    Claim("PairCompare(16), 1 stage", SAYS_PAIRS, lambda: PairCompareProof(PairCompare(16))),
)  # fmt: skip
