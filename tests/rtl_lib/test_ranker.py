# amaranth: UnusedElaboratable=no
"""Tests of the end of a chain that ranks."""

import random

import pytest
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from rankings import best_items, best_of, match_items, random_worths, rest_of, sent
from streams import STALLS, run_streams, simulate

from penstock.rtl_lib.ranker import Ranker
from penstock.rtl_lib.scores import ScoreFormat, Worth

CHUNK_BITS, CHUNKS, BASE, FACTORS, FACTOR_BITS = 4, 5, 40, 6, 16
POSITIONS = [n for n in range(CHUNK_BITS * CHUNKS) if n % 3 and n // CHUNK_BITS != 2]


def ranker_of(worths, k=3, **other):
    score_format = ScoreFormat.of(worths.values(), FACTORS, FACTOR_BITS)
    sizes = {"chunk_bits": CHUNK_BITS, "chunk_count": CHUNKS, "address_bits": 6}
    made = {**sizes, "k": k, "score_format": score_format, "worths": worths, "base": BASE}
    return Ranker(**{**made, **other})


class Configured(wiring.Component):
    """A ranker that gets some words after reset, and matches after those."""

    def __init__(self, ranker, words):
        self.ranker, self.words = ranker, words
        members = ranker.signature.members
        i = stream.Signature(ranker.i.payload.shape())
        super().__init__({"i": In(i), "o": members["o"], "best": members["best"], "busy": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.ranker = ranker = self.ranker
        connect(m, ranker.o, flipped(self.o))
        connect(m, ranker.best, flipped(self.best))
        m.d.comb += [ranker.i.payload.eq(self.i.payload), self.busy.eq(ranker.busy)]
        with m.FSM():
            for number, (address, bits) in enumerate(self.words):
                with m.State(f"{number}"):
                    m.d.comb += [
                        ranker.has_word.eq(1),
                        ranker.word.address.eq(address),
                        ranker.word.bits.eq(bits),
                    ]
                    m.next = f"{number + 1}"
            with m.State(f"{len(self.words)}"):
                m.d.comb += [ranker.i.valid.eq(self.i.valid), self.i.ready.eq(ranker.i.ready)]
        return m


def random_events(rng, count=70):
    return [
        [(chunk, rng.randrange(1, 16)) for chunk in range(CHUNKS) if rng.random() < 0.4]
        for _ in range(count)
    ]


@pytest.mark.parametrize("stalls", STALLS)
@pytest.mark.parametrize("k", [1, 3, 20])
def test_best_of_every_event_and_the_rest_as_they_are(k, stalls):
    rng = random.Random(k)
    worths = random_worths(rng, POSITIONS, factor_count=FACTORS, most_terms=4, highest=2**31 - 1)
    factors = [rng.choice([0, 1, 2, 15]) for _ in range(FACTORS)]
    words = [(BASE, 1), *((BASE + 1 + n, factor) for n, factor in enumerate(factors)), (7, 0)]
    events = random_events(rng)
    best = {n: best_of(chunks, CHUNK_BITS, worths, factors, k) for n, chunks in enumerate(events)}
    want = best_items(best)
    rest = [
        (number, *chunk)
        for number, chunks in enumerate(events)
        for chunk in rest_of(chunks, CHUNK_BITS, worths)
    ]
    traffic = run_streams(
        Configured(ranker_of(worths, k), words),
        {"i": match_items(events)},
        {"o": len(rest), "best": len(want)},
        stalls=stalls,
    )
    assert sent(traffic["best"].items) == want
    found = [(int(i.sequence), int(i.chunk), int(i.bits)) for i in traffic["o"].items]
    assert found == rest


@pytest.mark.parametrize("words", [[], [(BASE, 1), (BASE, 0)], [(BASE - 1, 1), (7, 1)]])
def test_everything_passes_while_it_is_off(words):
    rng = random.Random(2)
    worths = random_worths(rng, POSITIONS, factor_count=FACTORS, most_terms=2, highest=3)
    items = match_items(random_events(rng))
    dut = Configured(ranker_of(worths), words)
    traffic = run_streams(dut, {"i": items}, {"o": len(items), "best": 0}, stalls=(0.2, 0.2))
    layout = dut.i.payload.shape()
    assert traffic["o"].items == [layout.const(item) for item in items]


def test_factors_are_one_after_reset():
    worths = {n: Worth(n, 0, ((n, 2 + n),)) for n in range(4)}
    dut = Configured(ranker_of(worths), [(BASE, 1)])
    traffic = run_streams(dut, {"i": match_items([[(0, 0b1011)]])}, {"o": 0, "best": 3})
    assert sent(traffic["best"].items) == [(0, 3, 5, 0), (0, 1, 3, 0), (0, 0, 2, 1)]


def test_factor_takes_all_its_bits_and_no_more():
    ranker = ranker_of({0: Worth(0, 0, ((0, 1),))}, chunk_bits=32, chunk_count=1)
    dut = Configured(ranker, [(BASE, 1), (BASE + 1, 2**32 - 2)])
    traffic = run_streams(dut, {"i": match_items([[(0, 1)]])}, {"o": 0, "best": 1})
    assert sent(traffic["best"].items) == [(0, 0, 2**FACTOR_BITS - 2, 1)]


def test_match_per_cycle_and_the_latency_it_says():
    worths = {n: Worth(n, 1, ((0, 1),)) for n in range(CHUNK_BITS)}
    dut = Configured(ranker_of(worths, k=3), [(BASE, 1)])
    events = [[(0, 1)], *([[(0, 15)]] * 10)]
    traffic = run_streams(dut, {"i": match_items(events)}, {"o": 0, "best": 31})
    first = traffic["i"].cycles[0]
    scorer_cycles = 4
    assert traffic["best"].cycles[0] == first + 4 + scorer_cycles
    assert traffic["i"].cycles[2:] == [first + 2 + 4 * n for n in range(9)]


@pytest.mark.parametrize("stall", [0.0, 0.6])
def test_busy_from_what_comes_until_it_has_left(stall):
    worths = {n: Worth(n, 1) for n in range(6)}
    dut = Configured(ranker_of(worths, k=2), [(BASE, 1)])
    items = match_items([[(0, 15)], [(3, 1)], [(1, 15), (4, 2)], [(3, 8)]])
    left = {"o": 0, "best": 0}

    async def bench(ctx):
        rng, waiting, is_busy = random.Random(4), list(items), False
        while waiting or sum(left.values()) < 8 or is_busy:
            ctx.set(dut.i.valid, bool(waiting))
            if waiting:
                ctx.set(dut.i.payload, waiting[0])
            is_sent = {}
            for name in left:
                port = getattr(dut, name)
                ctx.set(port.ready, rng.random() >= stall)
                is_sent[name] = bool(ctx.get(port.valid) and ctx.get(port.ready))
            is_taken = bool(ctx.get(dut.i.valid) and ctx.get(dut.i.ready))
            await ctx.tick()
            for name in left:
                left[name] += is_sent[name]
            waiting = waiting[is_taken:]
            is_busy = ctx.get(dut.busy)
            assert is_busy or sum(left.values()) == 8 or len(waiting) == len(items)

    simulate(dut, bench)
    assert left == {"o": 4, "best": 4}


def test_addresses_beyond_the_word_are_refused():
    with pytest.raises(ValueError, match="addresses 60 to 66 do not fit into 6 bits"):
        ranker_of({0: Worth(0, 1)}, base=60)


def test_equal_ranks_are_refused():
    with pytest.raises(ValueError, match="two matches have the same rank"):
        ranker_of({0: Worth(0, 1), 1: Worth(0, 2)})
