"""BE*-Tree: boxes that fit, halves that never overlap, and the k best exactly."""

from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from score_oracle import SCORES, ranking, weighted_sum
from tree_strategies import (
    NAME,
    PRICE,
    SCHEMA,
    X,
    Y,
    events,
    expressions,
    mixed_event,
    mixed_expression,
    random_conjunction,
    random_event,
    wide_schema,
    within,
    x_in,
)

from penstock.gen.normal import Conjunction, Pair, Pattern, make_event
from penstock.gen.types import INT
from penstock.sim.be_star_tree import BEStarTree, best_cut
from penstock.sim.tree_nodes import Box


def x_and_y(x: int, y: int) -> Conjunction:
    return Conjunction((within(X, x, x + 1), within(Y, y, y + 1)), ())


def tree_of(conjunctions, *, leaf_capacity=2) -> BEStarTree:
    tree = BEStarTree(SCHEMA, leaf_capacity=leaf_capacity)
    for id, conjunction in conjunctions.items():
        tree.insert(id, [conjunction])
        tree.check()
    return tree


def lines(tree: BEStarTree) -> list[str]:
    return tree.outline().splitlines()


def test_buckets_cover_only_what_is_there_and_what_lies_across_stays():
    tree = tree_of(
        {"a": x_in(0, 2), "b": x_in(1, 3), "c": x_in(900, 901), "d": x_in(905, 999),
         "across": x_in(2, 950)}
    )  # fmt: skip
    assert lines(tree) == [
        "root:",
        "  x [0, 999]: across/0",
        "    x [0, 3]: a/0, b/0",
        "    x [900, 999]: c/0, d/0",
    ]


def test_boxes_widen_from_the_bottom_up_and_shrink_again():
    tree = tree_of({"a": x_in(10, 12), "b": x_in(11, 12), "c": x_in(50, 51)})
    before = tree.outline()
    tree.insert("far", [x_in(70, 99)])
    tree.check()
    assert lines(tree) == [
        "root:",
        "  x [10, 99]:",
        "    x [10, 12]: a/0, b/0",
        "    x [50, 99]: c/0, far/0",
    ]
    tree.delete("far")
    tree.check()
    assert tree.outline() == before


def test_an_atomic_partitioned_bucket_is_wrapped_when_others_join():
    tree = BEStarTree(SCHEMA, leaf_capacity=2)
    for x in range(3):
        tree.insert(f"x{x}", [x_in(x, x)])
    for y in range(3):
        tree.insert(f"y{y}", [x_and_y(2, y)])
    tree.delete("x2")
    tree.check()
    assert tree.statistics().p_nodes == 2
    for id, box in {"above": (2, 5), "beyond": (4, 4), "around": (2, 3)}.items():
        tree.insert(id, [x_in(*box)])
        tree.check()
    assert tree.match(make_event({X.index: 2, Y.index: 1}, SCHEMA.attributes)) == [
        "above", "around", "y1",
    ]  # fmt: skip


def test_best_cut_parts_the_clusters_and_weighs_what_lies_across():
    clusters = [Box(0, 1), Box(0, 2), Box(7, 8), Box(8, 9)]
    assert best_cut(clusters, Box(0, 9)) == 2
    assert best_cut([Box(0, 9)] * 3, Box(0, 9)) == 4
    assert best_cut([Box(low, 9) for low in range(8)], Box(0, 9)) == 3


def test_rising_values_do_not_make_a_chain():
    tree = BEStarTree(SCHEMA, leaf_capacity=2)
    for x in range(1000):
        tree.insert(f"e{x:03}", [x_in(x, x + x % 2)])
    tree.check()
    assert tree.statistics().depth <= 24
    for x in range(990):
        tree.delete(f"e{x:03}")
    tree.check()
    assert tree.match(make_event({X.index: 992}, SCHEMA.attributes)) == ["e991", "e992"]
    assert tree.statistics().c_nodes < 30


def test_ties_go_by_id_and_an_id_counts_its_best_conjunction():
    tree = BEStarTree(SCHEMA, leaf_capacity=1)
    tree.insert("d", [x_in(0, 9, weight=2)])
    tree.insert("c", [x_in(0, 5, weight=1), x_in(0, 7, weight=2), x_in(8, 9, weight=7)])
    tree.insert("b", [x_in(0, 9)], base=2)
    tree.insert("a", [x_in(4, 4)])
    event = make_event({X.index: 4}, SCHEMA.attributes)
    everything = [("b", 2), ("c", 2), ("d", 2), ("a", 0)]
    for k in range(6):
        assert tree.top_k(event, k) == everything[:k]
    assert tree.top_k(event, 2, weights={X.index: 3}) == [("c", 6), ("d", 6)]


def test_every_leaf_on_one_attribute_counts_in_the_bound():
    """What earns twice on one attribute lies deep; the rival, without a box, at the root."""
    twice = Conjunction(
        (within(X, 3, 4),),
        (Pattern(NAME, "%a%b", "\\", False, 8), Pattern(NAME, "a%b%", "\\", False, 8)),
    )
    rival = Conjunction((within(X, 3, 4, null=True, weight=9),), ())
    tree = tree_of({"rival": rival, "twice": twice}, leaf_capacity=1)
    assert lines(tree) == ["root: rival/0", "  x [3, 3]: twice/0"]
    event = make_event({X.index: 3, NAME.index: "ab"}, SCHEMA.attributes)
    assert tree.top_k(event, 1) == [("twice", 16)]


def test_weights_that_no_box_shows_still_count_in_the_bound():
    """A pattern, a pair, and a test that absence satisfies, deep in the tree."""
    rich = Conjunction(
        (within(X, 3, 4), within(NAME, "a", null=True, weight=5)),
        (Pattern(NAME, "%b%", "\\", False, 4), Pair(X, "NOT <=>", Y, INT, 6)),
    )
    tree = BEStarTree(SCHEMA, leaf_capacity=1)
    for x in range(6):
        tree.insert(f"plain{x}", [x_in(x, 3 + x, weight=9)])
    tree.insert("rich", [rich, Conjunction((*rich.tests, within(PRICE, 0)), ())])
    tree.check()
    present = make_event({X.index: 3, NAME.index: "ab"}, SCHEMA.attributes)
    assert tree.top_k(present, 1) == [("rich", 15)]
    assert tree.top_k(present, 1, weights={NAME.index: 0}) == [("plain0", 9)]
    absent = make_event({X.index: 3}, SCHEMA.attributes)
    assert tree.top_k(absent, 1) == [("plain0", 9)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tree, event: tree.insert("a", [], base=-1), "negative base"),
        (lambda tree, event: tree.top_k(event, -1), "k=-1"),
        (lambda tree, event: tree.top_k(event, 1, weights={0: -2}), "-2"),
    ],
)
def test_negative_weights_and_counts_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(BEStarTree(SCHEMA), make_event({}, SCHEMA.attributes))


@pytest.mark.parametrize("leaf_capacity", [1, 3])
def test_mixed_types_agree_with_scoring_all(leaf_capacity):
    rng = Random(leaf_capacity)
    tree = BEStarTree(SCHEMA, leaf_capacity=leaf_capacity)
    held = {}
    for number in range(400):
        held[f"e{number}"] = mixed_expression(rng), rng.choice([0, 0, 1, 4])
        tree.insert(f"e{number}", *held[f"e{number}"])
        if rng.random() < 0.4:
            gone = rng.choice(sorted(held))
            tree.delete(gone)
            del held[gone]
        if number % 20 == 0:
            tree.check()
        event, k = mixed_event(rng), rng.randint(1, 8)
        weights = {rng.randrange(len(SCHEMA)): rng.randint(0, 3) for _ in range(3)}
        score, scored = rng.choice(SCORES)
        want = ranking(held, event, weights, scored)
        assert tree.match(event) == sorted(id for id, _ in want), (number, event)
        assert tree.top_k(event, k, weights=weights, score=score) == want[:k], (number, event)
    for id in sorted(held):
        tree.delete(id)
    tree.check()
    assert lines(tree) == ["root:"]


def test_large_tree_agrees_with_testing_all_and_stops_early():
    rng = Random(12)
    attribute_count, cardinality = 40, 50
    tree = BEStarTree(wide_schema(attribute_count), leaf_capacity=8)
    held = {}
    for number in range(2000):
        parts = [
            random_conjunction(rng, attribute_count, cardinality)
            for _ in range(rng.choice([1, 1, 1, 2]))
        ]
        held[f"e{number:04}"] = parts, rng.choice([0, 0, 0, 3])
        tree.insert(f"e{number:04}", *held[f"e{number:04}"])
    for id in rng.sample(sorted(held), 500):
        tree.delete(id)
        del held[id]
    tree.check()
    drawn = [random_event(rng, attribute_count, cardinality, pairs=12) for _ in range(200)]
    rankings = [ranking(held, event, {}, weighted_sum) for event in drawn]
    for event, want in zip(drawn, rankings, strict=True):
        assert tree.match(event) == sorted(id for id, _ in want)
    matched = tree.statistics()
    assert matched.checked < 200 * matched.conjunctions / 8, f"visits too many:\n{matched}"
    for event, want in zip(drawn, rankings, strict=True):
        assert tree.top_k(event, 3) == want[:3]
    ranked = tree.statistics()
    assert ranked.events == 400
    assert ranked.checked - matched.checked < matched.checked / 2, f"stops late:\n{ranked}"


@given(boxes=st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 6)), min_size=2, max_size=9))
def test_best_cut_lies_inside_the_box(boxes):
    spans = [Box(low, low + length) for low, length in boxes]
    around = Box(min(box.low for box in spans), max(box.high for box in spans))
    if around.low < around.high:
        assert around.low <= best_cut(spans, around) < around.high


class BEStarTreeMachine(RuleBasedStateMachine):
    """Any order of inserts, deletes, matches and rankings; the invariant after every step."""

    ids = Bundle("ids")

    @initialize(capacity=st.integers(1, 3))
    def plant(self, capacity):
        self.tree = BEStarTree(SCHEMA, leaf_capacity=capacity)
        self.held = {}
        self.serial = count()

    @rule(
        target=ids,
        batch=st.lists(
            st.tuples(expressions(), st.sampled_from([0, 0, 1, 4])), min_size=1, max_size=4
        ),
    )
    def insert(self, batch):
        named = {f"e{next(self.serial)}": given for given in batch}
        for id, (parts, base) in named.items():
            self.tree.insert(id, parts, base)
        self.held |= named
        return list(named)

    @rule(batch=consumes(ids))
    def delete(self, batch):
        for id in batch:
            self.tree.delete(id)
            del self.held[id]

    @rule(event=events())
    def match(self, event):
        want = ranking(self.held, event, {}, weighted_sum)
        assert self.tree.match(event) == sorted(id for id, _ in want)

    @rule(
        event=events(),
        k=st.integers(0, 5),
        weights=st.dictionaries(st.integers(0, len(SCHEMA) - 1), st.integers(0, 3), max_size=4),
        scores=st.sampled_from(SCORES),
    )
    def rank(self, event, k, weights, scores):
        score, scored = scores
        got = self.tree.top_k(event, k, weights=weights, score=score)
        assert got == ranking(self.held, event, weights, scored)[:k]

    @invariant()
    def holds_its_invariant(self):
        if hasattr(self, "tree"):
            self.tree.check()
            assert len(self.tree) == len(self.held)


TestBEStarTreeMachine = pytest.mark.fuzz(BEStarTreeMachine.TestCase)
TestBEStarTreeMachine.settings = settings(stateful_step_count=30)
