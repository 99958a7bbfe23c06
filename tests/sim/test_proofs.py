"""The proofs hold, and each of them fails on a component with a bug in it."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, TypeVar

import pytest
from amaranth.lib import wiring
from markdown_blocks import ROOT, tables

from penstock.rtl_lib import rank_encoder as rank_encoder_module
from penstock.rtl_lib.best_queue import BestQueue
from penstock.rtl_lib.collector import Collector
from penstock.rtl_lib.compare import DirectRanges, PairCompare
from penstock.rtl_lib.logic import InRange
from penstock.rtl_lib.lookup import Lookup
from penstock.rtl_lib.merge import Merge
from penstock.rtl_lib.predecoder import Predecoder
from penstock.rtl_lib.rank_encoder import RankEncoder
from penstock.rtl_lib.serialiser import Serialiser
from penstock.rtl_lib.skid_buffer import SkidBuffer
from penstock.sim.proofs.best_queue import FORMAT, SEQUENCE_BITS, BestQueueProof
from penstock.sim.proofs.claims import CLAIMS
from penstock.sim.proofs.collector import CollectorProof
from penstock.sim.proofs.compare import DirectRangesProof, PairCompareProof
from penstock.sim.proofs.harness import INVARIANT
from penstock.sim.proofs.merge import MergeProof
from penstock.sim.proofs.predecoder import OFTEN, ONCE, WIDTHS, PredecoderProof
from penstock.sim.proofs.rank_encoder import RankEncoderProof
from penstock.sim.proofs.run import Claim, Outcome, prove
from penstock.sim.proofs.serialiser import SerialiserProof
from penstock.sim.proofs.skid_buffer import SkidBufferProof

pytestmark = pytest.mark.xdist_group("proofs")  # each runs several processes of its own

T = TypeVar("T")

HARNESSES: dict[type, Callable[[Any], wiring.Component]] = {
    DirectRanges: lambda broken: DirectRangesProof(broken(4, ((3, 5), (9, 9)))),
    PairCompare: lambda broken: PairCompareProof(broken(34)),
    RankEncoder: lambda broken: RankEncoderProof(broken(3, 2, (2, 5))),
    SkidBuffer: lambda broken: SkidBufferProof(broken(2)),
    Collector: lambda broken: CollectorProof(broken(2, 4, sequence_bits=2)),
    Merge: lambda broken: MergeProof(broken(2, 4)),
    BestQueue: lambda broken: BestQueueProof(broken(2, FORMAT, SEQUENCE_BITS)),
    Serialiser: lambda broken: SerialiserProof(
        broken(9, chunk_bits=2, chunk_count=13, first_chunk=8)
    ),
}

# A component, what its source says, and what it says with the bug.
QUICK_BUGS = [
    (DirectRanges, "self.value <= high", "self.value < high"),
    (PairCompare, "low_left < low_right, low", "low_left <= low_right, low"),
    (RankEncoder, "Cat(row.value, row.exists))[", "Cat(row.value, row.exists) - 1)["),
    (SkidBuffer, "moves | (is_spare_empty & ~self.i.valid)", "moves | is_spare_empty"),
    (Collector, "self.i.ready.eq(self.o.ready | ~self.i.p.some)", "self.i.ready.eq(1)"),
    (Merge, "joined.p.last.eq(before.p.last & ~own.p.some)", "joined.p.last.eq(before.p.last)"),
    (Serialiser, "~is_busy | (takes_next &", "~is_busy | (1 &"),
    (BestQueue, "Cat(~self.i.p.rank,", "Cat(self.i.p.rank,"),
]
SLOW_BUGS = [
    (DirectRanges, "self.present & Cat", "Cat"),
    (DirectRanges, "with m.If(self.enable):\n            m.d.sync += self.inside",
     "with m.If(1):\n            m.d.sync += self.inside"),
    (PairCompare, "is_below, is_equal = left < right", "is_below, is_equal = left <= right"),
    (PairCompare, "~self.left_present, ~self.right_present", "~self.left_present, 0"),
    (PairCompare, "delayed(m, absent, 1, self.enable)", "delayed(m, absent, 1, 1)"),
    (RankEncoder, "Cat(row.value, row.exists))[", "Cat(row.value, Const(1)))["),
    (RankEncoder, "with m.If(self.enable)", "with m.If(1)"),
    (RankEncoder, "Cat(before, ~is_below)", "Cat(~is_below, before)"),
    (RankEncoder, "self.position[self.rank_bits - level :]", "self.position[:level]"),
    (RankEncoder, "self.levels[level]", "self.levels.any()"),
    (RankEncoder, "rank_bits - lowest.bit_length()", "lowest.bit_length() - 1"),
    (SkidBuffer, "item.eq(spare)", "item.eq(self.i.payload)"),
    (SkidBuffer, "moves.eq(self.o.ready | ~self.o.valid)", "moves.eq(1)"),
    (SkidBuffer, "moves.eq(self.o.ready | ~self.o.valid)", "moves.eq(self.o.ready)"),
    (Collector, "self.i.valid & self.i.ready & self.i.p.last", "self.i.valid & self.i.p.last"),
    (Collector, "self.o.valid.eq(self.i.valid & self.i.p.some)", "self.o.valid.eq(self.i.valid)"),
    (Merge, "(is_own_turn | ends_before) & ~joined", "ends_before & ~joined"),
    (Merge, "takes_own.eq(is_own_turn | ~before.p.some |", "takes_own.eq(is_own_turn |"),
    (Merge, "joined.ready & ~is_own_turn & (own.valid", "joined.ready & (own.valid"),
    (Merge, "(own.valid | ~needs_own)),\n            ends_before",
     "own.valid),\n            ends_before"),
    (BestQueue, "(new.key > cell.key)", "(new.key < cell.key)"),
    (BestQueue, "~leaving[0].valid | (out.i.ready & is_final)", "out.i.ready"),
    (BestQueue, "taken.valid & ~self.i.p.last", "taken.valid"),
    (BestQueue, "with m.If(self.i.valid & self.i.ready):", "with m.If(self.i.valid):"),
    (BestQueue, "~self.i.p.last | ~leaving", "~leaving"),
    (BestQueue, "out.i.p.last.eq(is_final)", "out.i.p.last.eq(0)"),
    (BestQueue, "place.eq(following[number])", "place.eq(cells[number])"),
    (Serialiser, "out.i.p.last.eq(~rest.any())", "out.i.p.last.eq(1)"),
    (Serialiser, "self.first_chunk | _index", "_index"),
    (Serialiser, "register.eq(0)", "register.eq(register)"),
    (Serialiser, "~is_busy | (takes_next", "(takes_next"),
    (Serialiser, "combinations(flags, 2)", "zip(flags, flags[1:])"),
    (Serialiser, "return within | _several(Cat(*(group.any() for group in groups)))",
     "return within"),
    (Serialiser, "rest.eq(next_some & ~_lowest(next_some))", "rest.eq(next_some)"),
    (Serialiser, "with m.Elif(takes)", "with m.Else()"),
    (Serialiser, "m.d.sync += [chosen.eq(_lowest(rest))", "m.d.sync += [chosen.eq(rest)"),
]  # fmt: skip


def with_bug(component: type[T], right: str, wrong: str) -> type[T]:
    """The component from a copy of its module in which one place reads otherwise."""
    module = sys.modules[component.__module__]
    source = inspect.getsource(module)
    assert source.count(right) == 1, f"{right!r} must be there once to be replaced"
    copy = ModuleType(module.__name__)
    exec(source.replace(right, wrong), copy.__dict__)
    broken: type[T] = getattr(copy, component.__name__)
    return broken


def assert_refuted(harness: Callable[[], wiring.Component]) -> None:
    """There is a run in which the component breaks a promise; invariants are left out of it."""
    claim = Claim("planted", "nothing is wrong", harness, depth=12, by_induction=False)
    result = prove(claim)
    assert result.outcome is Outcome.REFUTED, result
    assert result.broken and INVARIANT not in result.broken, result


FIRST = {claim.name.split("(")[0]: claim for claim in reversed(CLAIMS)}
"""One claim on each component; the others are left to `make verify`."""


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(c, id=c.name, marks=[] if c in FIRST.values() else [pytest.mark.slow])
        for c in CLAIMS
    ],
)
def test_claim_is_proved(claim: Claim) -> None:
    result = prove(claim)
    assert result.is_proved, result


def test_page_lists_what_is_proved() -> None:
    page = ROOT / "docs" / "proofs.md"
    (rows,) = (rows for head, rows in tables(page) if head[0] == "component")
    assert sorted(row[0].strip("`") for row in rows) == sorted(FIRST)
    assert all(claim.by_induction for claim in CLAIMS), "the page says so"
    assert f"{len(CLAIMS)} of {len(CLAIMS)} claims proved" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("component", "right", "wrong"),
    [*QUICK_BUGS, *(pytest.param(*bug, marks=pytest.mark.slow) for bug in SLOW_BUGS)],
)
def test_planted_bug_is_found(component: type, right: str, wrong: str) -> None:
    broken = with_bug(component, right, wrong)
    assert_refuted(lambda: HARNESSES[component](broken))


class OffByOne(Predecoder):
    """A bound is taken for the one below it."""

    def in_range(self, wire, range_):  # type: ignore[no-untyped-def]
        low = range_.low - (range_.low > 1 and range_.field == 3)
        return super().in_range(wire, replace(range_, low=low))


class OtherWire(Predecoder):
    """A wire is taken for its neighbour."""

    def in_range(self, wire, range_):  # type: ignore[no-untyped-def]
        return super().in_range(lambda index: wire(max(0, index - 1)), range_)


@pytest.mark.parametrize(
    ("broken", "ranges"),
    [
        (OffByOne, OFTEN),
        pytest.param(OtherWire, OFTEN, marks=pytest.mark.slow),
        pytest.param(OtherWire, ONCE, marks=pytest.mark.slow),
    ],
)
def test_planted_bug_in_a_predecoder_is_found(
    broken: type[Predecoder], ranges: list[InRange]
) -> None:
    assert_refuted(lambda: PredecoderProof(broken(WIDTHS, ranges), WIDTHS, ranges))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("write.en.eq(self.enable & self.writes)", "write.en.eq(self.writes)"),
        ("with m.If(self.enable & ~self.writes)", "with m.If(~self.writes)"),
    ],
)
def test_planted_bug_in_the_memories_of_ranks_is_found(
    monkeypatch: pytest.MonkeyPatch, right: str, wrong: str
) -> None:
    monkeypatch.setattr(rank_encoder_module, "Lookup", with_bug(Lookup, right, wrong))
    assert_refuted(lambda: HARNESSES[RankEncoder](RankEncoder))
