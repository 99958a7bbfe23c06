# amaranth: UnusedElaboratable=no
"""Tests of fronts: raw values become codes, whatever the stalls and the words in between."""

import random

import pytest
from models import bits_of, chunks_of, config_item, random_logic
from streams import STALLS, run_streams
from tiles import check_chain, chunk_numbers

from penstock.rtl_lib.chain import Chain
from penstock.rtl_lib.front import Front
from penstock.rtl_lib.raw_matcher import RawMatcher
from penstock.rtl_lib.shape import ChainShape
from penstock.rtl_lib.sources import Compared, Direct, Passed, Ranked
from penstock.rtl_lib.tile import Tile

CHUNK_BITS = 32


def front_of(value_bits, sources, *, address_bits=5):
    widths = tuple(source.code_bits for source in sources)
    shape = ChainShape(widths, CHUNK_BITS, 8, address_bits, 2)
    return Front(shape, value_bits, sources)


def raw_item(front, passed, values):
    """An event of ready-made codes and raw values, ``None`` where one is absent."""
    word, offset = 0, 0
    widths = [s.code_bits for s in front.sources if isinstance(s, Passed)]
    for code, width in zip(passed, widths, strict=True):
        word |= code << offset
        offset += width
    return {"word": {"codes": word}, "values": front.pack_values(values), "is_config": 0}


def raw(value, bits):
    """A raw value, with its presence bit."""
    return 0 if value is None else 1 << bits | value


def outputs(front, items, count, **options):
    """What comes out, in plain numbers: codes side by side, or (address, bits)."""
    traffic = run_streams(front, {"i": items}, {"o": count}, limit_cycles=8000, **options)
    return [
        (int(item.word.config.address), int(item.word.config.bits))
        if item.is_config
        else int(item.word.codes)
        for item in traffic["o"].items
    ], traffic


def check_events(front, events, **options):
    """Each event, ready-made codes and raw values, has the codes that the model gives it."""
    items = [raw_item(front, passed, values) for passed, values in events]
    want = [front.shape.pack(front.compute(passed, values)) for passed, values in events]
    got, traffic = outputs(front, items, len(items), **options)
    assert got == want
    return traffic


def edge_values(bits, thresholds):
    """Absence, the extremes, and both sides of each threshold."""
    near = {threshold + step for threshold in thresholds for step in (-1, 0, 1)}
    present = {1 << bits, (2 << bits) - 1, *(v for v in near if v >> bits == 1)}
    return [0, *sorted(present)]


STRETCHES = [
    (4, (), (3,)),
    (1, (2,), (0, 1)),
    (1, (2, 3), (0, 2, 1)),
    (4, (21,), (0, 3)),
    (4, (16, 17, 25, 31), (0, 2, 1, 0, 4)),
    (8, tuple(range(256, 300, 3)), tuple(random.Random(3).choices(range(9), k=16))),
]


@pytest.mark.parametrize("kind", [Ranked, Direct])
@pytest.mark.parametrize(("bits", "thresholds", "codes"), STRETCHES)
def test_code_is_that_of_the_stretch_and_of_absence(kind, bits, thresholds, codes):
    front = front_of([bits], [kind(0, thresholds, codes)])
    values = edge_values(bits, thresholds)
    check_events(front, [((), (value,)) for value in values])
    assert front.compute((), (0,)) == (codes[0],)


def test_wide_values_are_ranked_and_compared():
    rng = random.Random(4)
    cuts = tuple(sorted(1 << 64 | rng.getrandbits(64) for _ in range(6)))
    codes = tuple(range(7))
    front = front_of([64, 64], [Ranked(0, cuts, codes), Direct(1, cuts, codes), Compared(0, 1, 64)])
    values = edge_values(64, cuts)
    check_events(front, [((), (left, right)) for left in values for right in rng.sample(values, 4)])


@pytest.mark.parametrize(("left_bits", "right_bits"), [(3, 3), (1, 1), (2, 4), (4, 2), (3, 8)])
def test_pairs_of_any_widths_compare_as_signed_numbers(left_bits, right_bits):
    source = Compared(0, 1, max(left_bits, right_bits))
    front = front_of([left_bits, right_bits], [source])
    rng = random.Random(5)
    lefts = [None, *range(2**left_bits)]
    rights = [None, *sorted(rng.sample(range(2**right_bits), min(16, 2**right_bits)))]
    pairs = [(left, right) for left in lefts for right in rights]
    events = [((), (raw(left, left_bits), raw(right, right_bits))) for left, right in pairs]
    check_events(front, events)
    for (left, right), (_, values) in zip(pairs, events, strict=True):
        (relation,) = front.compute((), values)
        if left is None or right is None:
            assert relation == (left is right)
        else:
            first, second = left - 2**left_bits // 2, right - 2**right_bits // 2
            assert relation == 3 + (first > second) - (first < second)


def mixed_front():
    """Every kind of source, a value used twice, searches of different depth."""
    return front_of(
        [6, 1, 4],
        [
            Passed(3),
            Ranked(0, (70, 80, 90, 100, 127), (0, 3, 1, 2, 5, 4)),
            Direct(1, (2, 3), (0, 2, 1)),
            Compared(0, 2, 6),
            Ranked(2, (16,), (0, 1)),
            Passed(5),
        ],
    )


def mixed_event(rng, front):
    passed = rng.randrange(8), rng.randrange(32)
    values = (rng.choice([0, 1 << bits | rng.getrandbits(bits)]) for bits in front.value_bits)
    return passed, tuple(values)


@pytest.mark.parametrize("stalls", STALLS)
def test_all_sources_side_by_side_keep_step(stalls):
    rng = random.Random(6)
    front = mixed_front()
    check_events(front, [mixed_event(rng, front) for _ in range(200)], stalls=stalls)


def test_event_per_cycle_and_latency_as_documented():
    rng = random.Random(7)
    front = mixed_front()
    traffic = check_events(front, [mixed_event(rng, front) for _ in range(50)])
    assert front.latency_cycles == 2 + 2 * 3 + 1
    pairs = zip(traffic["o"].cycles, traffic["i"].cycles, strict=True)
    assert {out - into for out, into in pairs} == {front.latency_cycles}
    assert traffic["i"].cycles == list(range(1, 51))


@pytest.mark.parametrize("stalls", STALLS)
def test_words_for_tiles_stay_between_the_events_they_came_between(stalls):
    rng = random.Random(8)
    front = mixed_front()
    items, want = [], []
    for _ in range(250):
        if rng.random() < 0.3:
            address, bits = rng.randrange(32), rng.getrandbits(CHUNK_BITS)
            items.append({**config_item(address, bits), "values": rng.getrandbits(14)})
            want.append((address, bits))
        else:
            passed, values = mixed_event(rng, front)
            items.append(raw_item(front, passed, values))
            want.append(front.shape.pack(front.compute(passed, values)))
    assert outputs(front, items, len(want), stalls=stalls)[0] == want


def test_words_in_a_row_wait_for_events_but_not_for_each_other():
    front = mixed_front()
    event = raw_item(front, (1, 2), (0, 0, 0))
    items = [event, *(config_item(number, number) for number in range(20)), event]
    _, traffic = outputs(front, items, len(items))
    cycles = traffic["o"].cycles
    assert cycles[1:21] == list(range(cycles[0] + 1, cycles[0] + 21))


@pytest.mark.parametrize("stalls", STALLS)
def test_written_thresholds_and_codes_hold_for_the_events_after_them(stalls):
    """The last threshold comes and goes, others move between their neighbours, codes change."""
    rng = random.Random(9)
    front = mixed_front()
    search = front.sources[1]
    thresholds, codes = list(search.thresholds), [*search.codes, 0, 0]
    items, want = [], []
    for _ in range(400):
        chance, position = rng.random(), rng.randrange(len(thresholds)) if thresholds else 0
        if chance < 0.1 and len(thresholds) < 7:
            thresholds.append(rng.randint(thresholds[-1] if thresholds else 64, 127))
            items.append(front.threshold_word(1, len(thresholds), thresholds[-1]))
        elif chance < 0.2 and thresholds:
            items.append(front.threshold_word(1, len(thresholds), None))
            thresholds.pop()
        elif chance < 0.3 and thresholds:
            low = thresholds[position - 1] if position else 64
            high = thresholds[position + 1] if position + 1 < len(thresholds) else 127
            thresholds[position] = rng.randint(low, high)
            items.append(front.threshold_word(1, position + 1, thresholds[position]))
        elif chance < 0.4:
            rank = rng.randrange(8)
            codes[rank] = rng.randrange(8)
            items.append(front.code_word(1, rank, codes[rank]))
        elif chance < 0.45:
            items.append(config_item(3, 5))
            want.append((3, 5))
        else:
            passed, values = mixed_event(rng, front)
            made = list(front.compute(passed, values))
            made[1] = codes[sum(threshold <= values[0] for threshold in thresholds)]
            items.append(raw_item(front, passed, values))
            want.append(front.shape.pack(made))
    assert outputs(front, items, len(want), stalls=stalls)[0] == want


def test_word_of_one_search_leaves_the_others_alone():
    sources = [Ranked(value, (16, 20, 24), (0, 1, 2, 3)) for value in (0, 0, 1)]
    front = front_of([4, 4], sources)
    event = raw_item(front, (), (21, 21))
    items = [front.threshold_word(1, 2, 22), front.code_word(2, 2, 0), event]
    assert outputs(front, items, 1)[0] == [front.shape.pack((2, 1, 0))]


def test_words_at_addresses_of_nobody_are_dropped():
    sources = [Passed(1)] * 8
    front = front_of([], sources, address_bits=1)
    assert front.first_address == 8
    event = raw_item(front, [1] * 8, ())
    items = [
        event,
        *(config_item(address, 7) for address in (2, 4, 7, 8, 15)),
        config_item(1, 7),
        event,
    ]
    assert outputs(front, items, 3)[0] == [255, (1, 7), 255]


@pytest.mark.parametrize("stalls", STALLS[:2])
def test_front_and_chain_answer_as_the_chain_alone(stalls):
    rng = random.Random(10)
    sources = [Ranked(0, (64, 70, 90), (0, 1, 2, 3)), Passed(3), Direct(1, (2, 3), (0, 1, 2))]
    widths = (2, 3, 2)
    logics = [random_logic(rng, widths, 5), random_logic(rng, widths, 3)]
    firsts, count = chunk_numbers([5, 3], 8)
    shape = ChainShape(widths, 8, count, 5, max(logic.stages for logic in logics))
    tiles = [Tile(shape, lg, first_chunk=n) for lg, n in zip(logics, firsts, strict=True)]
    front = Front(shape, [6, 1], sources)
    items, events = [], []
    for _ in range(120):
        passed, values = (rng.randrange(8),), (raw(rng.randrange(64), 6), rng.choice([0, 2, 3]))
        codes = front.compute(passed, values)
        items.append(raw_item(front, passed, values))
        events.append([])
        for tile in tiles:
            hits = bits_of(tile.logic.compute(codes, [True] * len(tile.logic.outputs)))
            events[-1] += chunks_of(hits, 8, tile.place.first_chunk)
    check_chain(RawMatcher(front, Chain(tiles)), items, events, stalls=stalls)


def test_front_of_another_shape_than_the_chain_is_refused():
    shape = ChainShape((1,), 8, 1, 1, 3)
    logic = random_logic(random.Random(1), (1,), 2)
    chain = Chain([Tile(ChainShape((1,), 8, 1, 1, 4), logic, first_chunk=0)])
    with pytest.raises(ValueError, match="another shape"):
        RawMatcher(Front(shape, [], [Passed(1)]), chain)


@pytest.mark.parametrize(
    ("value_bits", "source", "message"),
    [
        ([], Passed(0), "at least one bit"),
        ([4], Ranked(1, (16,), (0, 1)), "an event has 1 values, not all of"),
        ([4], Compared(0, -1, 4), "an event has 1 values, not all of"),
        ([4, 4], Compared(0, 1, 5), "neither value has 5 bits"),
        ([4], Ranked(0, (16,), (0, 1, 2)), "1 thresholds make 2 codes, not 3"),
        ([4], Direct(0, (17, 16), (0, 1, 2)), "ascending order"),
        ([4], Direct(0, (16, 16), (0, 1, 2)), "each once"),
        ([4], Ranked(0, (32,), (0, 1)), "must fit into 5 bits"),
        ([4], Direct(0, (16,), (0, -1)), "must not be negative"),
        ([40], Ranked(0, tuple(range(2**15)), (*[0] * 2**15, 1)), "a write .* takes 34"),
    ],
)
def test_sources_that_no_front_can_have_are_refused(value_bits, source, message):
    with pytest.raises(ValueError, match=message):
        Front(ChainShape((3,), CHUNK_BITS, 1, 1, 2), value_bits, [source])


def test_codes_wider_than_the_chain_takes_are_refused():
    with pytest.raises(ValueError, match=r"codes of \(4,\) bits do not fit into \(3,\)"):
        Front(ChainShape((3,), CHUNK_BITS, 1, 1, 2), [], [Passed(4)])


def test_only_searches_are_written_and_only_where_they_have_a_place():
    front = mixed_front()
    with pytest.raises(ValueError, match="code 2 is not made by a search"):
        front.code_word(2, 0, 0)
    with pytest.raises(ValueError, match="code 1 has no position 8"):
        front.threshold_word(1, 8, 70)
    with pytest.raises(ValueError, match="value 128 does not fit into 6 bits"):
        front.code_word(1, 1, 128)
