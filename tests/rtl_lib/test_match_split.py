# amaranth: UnusedElaboratable=no
"""Tests of match bits parted into ranked ones and others."""

import random

import pytest
from rankings import match_items
from streams import STALLS, run_streams

from penstock.rtl_lib.match_split import MatchSplit

MASKS = [0b0000, 0b1111, 0b0110, 0b1000]


class Set(MatchSplit):
    """One that ranks from the start, or never."""

    def __init__(self, ranks, masks=MASKS):
        super().__init__(4, 16, masks)
        self.is_on = ranks

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.ranks.eq(self.is_on)
        return m


def parted(items, ranks):
    ranked, rest = [], []
    for item in items:
        mask = MASKS[item["chunk"]] if ranks else 0
        if ranks and (item["bits"] & mask or item["last"]):
            ranked.append({**item, "bits": item["bits"] & mask})
        if item["bits"] & ~mask:
            rest.append({**item, "bits": item["bits"] & ~mask})
    return ranked, rest


def random_items(rng):
    return match_items(
        [
            [(chunk, rng.randrange(1, 16)) for chunk in range(4) if rng.random() < 0.5]
            for _ in range(80)
        ]
    )


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize("ranks", [0, 1])
def test_bits_go_where_they_belong_once_and_in_order(ranks, stalls):
    dut = Set(ranks)
    items = random_items(random.Random(3))
    ranked, rest = parted(items, ranks)
    sinks = {"ranked": len(ranked), "rest": len(rest)}
    traffic = run_streams(dut, {"i": items}, sinks, stalls=stalls)
    for name, want in (("ranked", ranked), ("rest", rest)):
        assert traffic[name].items == [dut.layout.const(item) for item in want]


def test_chunk_per_cycle_after_one_cycle():
    items = [{"bits": 0b1111, "chunk": 2, "sequence": n, "last": 1} for n in range(20)]
    traffic = run_streams(Set(1), {"i": items}, {"ranked": 20, "rest": 20})
    assert traffic["i"].cycles == list(range(1, 21))
    assert traffic["ranked"].cycles == traffic["rest"].cycles == list(range(2, 22))


def test_one_chunk():
    items = [{"bits": 3, "chunk": 0, "sequence": 0, "last": 1}]
    traffic = run_streams(Set(1, [1]), {"i": items}, {"ranked": 1, "rest": 1})
    assert [int(traffic[name].items[0].bits) for name in ("ranked", "rest")] == [1, 2]


def test_mask_beyond_the_chunk_is_refused():
    with pytest.raises(ValueError, match="a mask is wider than the 4 bits"):
        MatchSplit(4, 16, [16])
