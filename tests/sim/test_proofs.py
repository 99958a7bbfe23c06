"""The proofs hold, and each of them fails on a component with a bug in it."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import TypeVar

import pytest
from amaranth.lib import wiring

from penstock.rtl_lib import rank_encoder as rank_encoder_module
from penstock.rtl_lib.collector import Collector
from penstock.rtl_lib.compare import DirectRanges, PairCompare
from penstock.rtl_lib.logic import InRange
from penstock.rtl_lib.lookup import Lookup
from penstock.rtl_lib.merge import Merge
from penstock.rtl_lib.predecoder import Predecoder
from penstock.rtl_lib.rank_encoder import RankEncoder
from penstock.rtl_lib.serialiser import Serialiser
from penstock.rtl_lib.skid_buffer import SkidBuffer
from penstock.sim.proofs.claims import CLAIMS
from penstock.sim.proofs.collector import CollectorProof
from penstock.sim.proofs.compare import DirectRangesProof, PairCompareProof
from penstock.sim.proofs.merge import MergeProof
from penstock.sim.proofs.predecoder import ONCE, OFTEN, WIDTHS, PredecoderProof
from penstock.sim.proofs.rank_encoder import RankEncoderProof
from penstock.sim.proofs.run import Claim, Outcome, Result, prove
from penstock.sim.proofs.serialiser import SerialiserProof
from penstock.sim.proofs.skid_buffer import SkidBufferProof

pytestmark = pytest.mark.xdist_group("proofs")  # each runs several processes of its own

T = TypeVar("T")
Harness = Callable[[type], wiring.Component]

DIRECT_RANGES: Harness = lambda broken: DirectRangesProof(broken(4, ((3, 5), (9, 9))))
PAIR_COMPARE: Harness = lambda broken: PairCompareProof(broken(8))
PAIR_COMPARE_HALVED: Harness = lambda broken: PairCompareProof(broken(34))
RANK_ENCODER: Harness = lambda broken: RankEncoderProof(broken(3, 2, (2, 5)))
SKID_BUFFER: Harness = lambda broken: SkidBufferProof(broken(2))
COLLECTOR: Harness = lambda broken: CollectorProof(broken(2, 4, sequence_bits=2))
MERGE: Harness = lambda broken: MergeProof(broken(2, 4))
SERIALISER: Harness = lambda broken: SerialiserProof(
    broken(5, chunk_bits=2, chunk_count=7, first_chunk=4)
)

# The component, what is changed in its source, its harness, and the assertion that breaks.
QUICK_BUGS = [
    (DirectRanges, "self.value <= high", "self.value < high", DIRECT_RANGES, "inside is"),
    (PairCompare, "low_left < low_right, low", "low_left <= low_right, low", PAIR_COMPARE_HALVED,
     "relation is"),
    (RankEncoder, "looked_up.value >= row.value", "looked_up.value > row.value", RANK_ENCODER,
     "rank counts"),
    (SkidBuffer, "moves | (is_spare_empty & ~self.i.valid)", "moves | is_spare_empty", SKID_BUFFER,
     "as many wait"),
    (Collector, "self.i.ready.eq(self.o.ready | ~self.i.p.some)", "self.i.ready.eq(1)", COLLECTOR,
     "a chunk goes out when it comes in"),
    (Merge, "joined.p.last.eq(before.p.last & ~own.p.some)", "joined.p.last.eq(before.p.last)",
     MERGE, "the last item ends the event"),
    (Serialiser, "~is_busy | (takes_next &", "~is_busy | (1 &", SERIALISER, "there is an event"),
]  # fmt: skip
SLOW_BUGS = [
    (DirectRanges, "self.present & Cat", "Cat", DIRECT_RANGES, "inside is"),
    (PairCompare, "is_below, is_equal = left < right", "is_below, is_equal = left <= right",
     PAIR_COMPARE, "relation is"),
    (PairCompare, "~self.left_present, ~self.right_present", "~self.left_present, 0", PAIR_COMPARE,
     "relation is"),
    (RankEncoder, "reaches = row.exists & ", "reaches = ", RANK_ENCODER, "rank counts"),
    (RankEncoder, "with m.If(~looked_up.writes)", "with m.If(~here.writes)", RANK_ENCODER,
     "rank counts"),
    (SkidBuffer, "item.eq(spare)", "item.eq(self.i.payload)", SKID_BUFFER, "the oldest item"),
    (SkidBuffer, "moves.eq(self.o.ready | ~self.o.valid)", "moves.eq(1)", SKID_BUFFER,
     "an offered item stays"),
    (SkidBuffer, "moves.eq(self.o.ready | ~self.o.valid)", "moves.eq(self.o.ready)", SKID_BUFFER,
     "an item takes one cycle"),
    (Collector, "self.i.valid & self.i.ready & self.i.p.last", "self.i.valid & self.i.p.last",
     COLLECTOR, "events counts"),
    (Collector, "self.o.valid.eq(self.i.valid & self.i.p.some)", "self.o.valid.eq(self.i.valid)",
     COLLECTOR, "a chunk goes out when it comes in"),
    (Merge, "(is_own_turn | ends_before) & ~joined", "ends_before & ~joined", MERGE, "any other"),
    (Merge, "takes_own.eq(is_own_turn | ~before.p.some |", "takes_own.eq(is_own_turn |", MERGE,
     "a chunk is its side's next"),
    (Merge, "joined.ready & ~is_own_turn & (own.valid", "joined.ready & (own.valid", MERGE,
     "nothing taken is hidden"),
    (Serialiser, "out.i.p.last.eq(~rest.any())", "out.i.p.last.eq(1)", SERIALISER, "the lowest"),
    (Serialiser, "self.first_chunk | _index", "_index", SERIALISER, "the lowest"),
    (Serialiser, "register.eq(0)", "register.eq(register)", SERIALISER, "the lowest"),
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


def attempt(harness: Callable[[], wiring.Component], depth: int = 12) -> Result:
    return prove(Claim("planted", "", harness, depth=depth))


def assert_refuted(result: Result, broken: str) -> None:
    assert (result.outcome, broken in result.broken) == (Outcome.REFUTED, True), result


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(claim, id=claim.name, marks=[pytest.mark.slow] if claim.is_slow else [])
        for claim in CLAIMS
    ],
)
def test_claim_is_proved(claim: Claim) -> None:
    result = prove(claim)
    assert result.is_proved, result


@pytest.mark.parametrize(
    ("component", "right", "wrong", "harness", "broken"),
    [
        *(pytest.param(*bug, id=f"{bug[0].__name__}-{bug[2]}") for bug in QUICK_BUGS),
        *(
            pytest.param(*bug, id=f"{bug[0].__name__}-{bug[2]}", marks=pytest.mark.slow)
            for bug in SLOW_BUGS
        ),
    ],
)
def test_planted_bug_is_found(
    component: type, right: str, wrong: str, harness: Harness, broken: str
) -> None:
    component = with_bug(component, right, wrong)
    assert_refuted(attempt(lambda: harness(component)), broken)


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
    result = attempt(lambda: PredecoderProof(broken(WIDTHS, ranges), ranges))
    assert_refuted(result, "in_range is right about field 3")


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
    assert_refuted(attempt(lambda: RANK_ENCODER(RankEncoder)), "rank counts")
