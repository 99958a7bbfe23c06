"""BE-Tree: the three rules, and answers equal to testing every expression."""

from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from tree_strategies import (
    NAME,
    PRICE,
    SCHEMA,
    X,
    Y,
    events,
    expressions,
    matches,
    mixed_event,
    mixed_expression,
    random_conjunction,
    random_event,
    wide_schema,
    within,
    x_in,
)

from penstock.gen.normal import Conjunction, make_event
from penstock.gen.schema import Schema
from penstock.sim.be_tree import BETree
from penstock.sim.tree_nodes import Box, box_of

NARROW = {X.index: (-1, 2), NAME.index: (2**60, 2**62), PRICE.index: (-5, 5)}
"""Domains that leave out values in use on both sides."""


def x_and_y(x: int, y_high: int) -> Conjunction:
    return Conjunction((within(X, x, x + 1), within(Y, 0, y_high + 1)), ())


def tree_of(conjunctions, *, leaf_capacity=2, domains=None) -> BETree:
    tree = BETree(SCHEMA, leaf_capacity=leaf_capacity, domains=domains)
    for id, conjunction in conjunctions.items():
        tree.insert(id, [conjunction])
        tree.check()
    return tree


def lines(tree: BETree) -> list[str]:
    return tree.outline().splitlines()


def test_insertion_takes_the_smallest_bucket_that_encloses():
    tree = tree_of(
        {"far": x_in(6, 7), "near": x_in(0, 0), "across": x_in(3, 4), "low": x_in(0, 3)},
        domains={X.index: (0, 7)},
    )
    assert lines(tree) == [
        "root:",
        "  x [0, 7]: across/0",
        "    x [0, 3]: low/0, near/0",
        "    x [4, 7]: far/0",
    ]


def test_forced_split_comes_before_partitioning_and_atomic_buckets_are_partitioned():
    tree = tree_of(
        {f"e{y}": x_and_y(1, y) for y in range(3)}, domains={X.index: (0, 1), Y.index: (0, 3)}
    )
    assert lines(tree) == [
        "root:",
        "  x [0, 1]:",
        "    x [0, 0]:",
        "    x [1, 1]:",
        "      y [0, 3]: e2/0",
        "        y [0, 1]: e0/0, e1/0",
        "        y [2, 3]:",
    ]


def test_what_cannot_be_moved_overflows():
    always = Conjunction((), ())
    tree = tree_of({f"e{i}": always for i in range(5)})
    assert tree.statistics().largest_l_node == 5
    same = tree_of({f"e{i}": x_in(1, 1) for i in range(5)}, domains={X.index: (0, 3)})
    assert same.statistics().overflowing_l_nodes == 1
    assert "x [1, 1]: e0/0, e1/0, e2/0, e3/0, e4/0" in same.outline()


def test_leaf_halves_merge_into_an_open_parent_only():
    domains = {X.index: (0, 7)}
    tree = tree_of({f"e{x}": x_in(x, x) for x in (0, 3, 7)}, domains=domains)
    assert len(lines(tree)) == 4
    tree.delete("e7")
    tree.check()
    assert lines(tree) == ["root:", "  x [0, 7]: e0/0, e3/0"]

    def across(y: int) -> Conjunction:
        return Conjunction((x_in(2, 5).tests[0], within(Y, y, y + 1)), ())

    points = {f"e{x}": x_in(x, x) for x in (0, 6, 7)}
    partitioned = tree_of(points | {f"y{y}": across(y) for y in range(3)}, domains=domains)
    partitioned.delete("e6")
    partitioned.delete("e7")
    assert partitioned.statistics().p_nodes == 2
    partitioned.delete("y0")
    partitioned.delete("y1")
    partitioned.check()
    assert "x [0, 3]: e0/0" in partitioned.outline()  # fits its parent, which is not open
    partitioned.delete("y2")
    partitioned.check()
    assert lines(partitioned) == ["root:", "  x [0, 7]: e0/0"]


def test_a_test_that_absence_satisfies_is_never_used_to_place():
    absent_or_one = within(X, 1, 2, null=True)
    never_present = within(X, null=True)
    tree = BETree(SCHEMA, leaf_capacity=1)
    for number in range(4):
        tree.insert(f"or{number}", [Conjunction((absent_or_one,), ())])
        tree.insert(f"only{number}", [Conjunction((never_present,), ())])
    tree.check()
    assert tree.statistics().p_nodes == 0
    assert len(tree.match(make_event({}, SCHEMA.attributes))) == 8


def test_box_of_strings_keeps_the_place_its_end_shares():
    low, high = box_of(within(NAME, "a", "penstockz"))
    assert low == NAME.type.grid("a")
    assert high == NAME.type.grid("penstocks") == NAME.type.grid("penstockz")
    assert box_of(within(X, 3, 5)) == Box(3, 4)
    assert box_of(within(X, -(2**31))) == Box(-(2**31), 2**31 - 1)
    assert box_of(within(X, 1, 2, null=True)) is None


def test_ids_are_unique_and_reported_once():
    tree = tree_of({"a": x_in(0, 5)})
    with pytest.raises(ValueError, match="'a' is in the tree already"):
        tree.insert("a", [])
    with pytest.raises(KeyError, match="'b'"):
        tree.delete("b")
    tree.insert("b", [x_in(0, 5), x_in(1, 9), Conjunction((), ())])
    assert tree.match(make_event({X.index: 3}, SCHEMA.attributes)) == ["a", "b"]
    assert "b" in tree
    assert len(tree) == 2


def test_a_refused_expression_leaves_no_trace():
    other = Schema.of({"z": "STRING"})["z"]
    tree = BETree(SCHEMA)
    with pytest.raises(ValueError, match="not in the schema"):
        tree.insert("a", [x_in(0, 1), Conjunction((within(other, "a"),), ())])
    with pytest.raises(ValueError, match="negative weight"):
        tree.insert("a", [Conjunction((within(X, 1, weight=-1),), ())])
    assert "a" not in tree
    tree.check()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"leaf_capacity": 0}, "leaf_capacity must be at least 1"),
        ({"domains": {0: (3, 2)}}, "domain of attribute 0 is empty"),
        ({"domains": {9: (0, 2)}}, "attribute 9"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BETree(SCHEMA, **arguments)


@given(
    boxes=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=3, max_size=20),
    passing=st.lists(st.integers(0, 15), max_size=8),
    seed=st.integers(0, 99),
)
def test_clusters_depend_on_the_expressions_alone(boxes, passing, seed):
    """Where all expressions test one attribute, order and what was deleted leave no mark."""
    kept = {f"e{i}": x_in(min(box), max(box)) for i, box in enumerate(boxes)}
    straight = tree_of(kept, domains={X.index: (0, 15)})
    shuffled = list(kept.items())
    Random(seed).shuffle(shuffled)
    # The guests come once the root is partitioned: that choice is not taken back.
    guests = {f"guest{i}": x_in(x, x) for i, x in enumerate(passing)}
    other = tree_of(dict(shuffled) | guests, domains={X.index: (0, 15)})
    for id in guests:
        other.delete(id)
        other.check()
    assert other.outline() == straight.outline()


@given(
    pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 15)), max_size=30),
    seed=st.integers(0, 99),
)
def test_order_leaves_no_mark_where_one_attribute_always_ranks_first(pairs, seed):
    """All y-ranges share y = 0, so y spares no event anything and x ranks first, always."""
    kept = {f"e{i}": x_and_y(x, y) for i, (x, y) in enumerate(pairs)}
    shuffled = list(kept.items())
    Random(seed).shuffle(shuffled)
    domains = {X.index: (0, 3), Y.index: (0, 15)}
    straight = tree_of(kept, domains=domains)
    assert tree_of(dict(shuffled), domains=domains).outline() == straight.outline()


@pytest.mark.parametrize("domains", [None, NARROW], ids=["whole", "narrow"])
@pytest.mark.parametrize("leaf_capacity", [1, 3])
def test_mixed_types_agree_with_testing_all(leaf_capacity, domains):
    rng = Random(leaf_capacity)
    tree = BETree(SCHEMA, leaf_capacity=leaf_capacity, domains=domains)
    held = {}
    for number in range(400):
        held[f"e{number}"] = mixed_expression(rng)
        tree.insert(f"e{number}", held[f"e{number}"])
        if rng.random() < 0.4:
            gone = rng.choice(sorted(held))
            tree.delete(gone)
            del held[gone]
        if number % 20 == 0:
            tree.check()
        event = mixed_event(rng)
        want = sorted(id for id, parts in held.items() if any(matches(p, event) for p in parts))
        assert tree.match(event) == want, (number, event)
    for id in sorted(held):
        tree.delete(id)
    tree.check()
    assert lines(tree) == ["root:"]


def test_large_tree_agrees_with_testing_all_and_visits_few():
    rng = Random(11)
    attribute_count, cardinality = 40, 50
    tree = BETree(
        wide_schema(attribute_count),
        leaf_capacity=8,
        domains=dict.fromkeys(range(attribute_count), (0, cardinality - 1)),
    )
    held = {}
    for number in range(2000):
        parts = [
            random_conjunction(rng, attribute_count, cardinality)
            for _ in range(rng.choice([1, 1, 1, 2]))
        ]
        held[f"e{number:04}"] = parts
        tree.insert(f"e{number:04}", parts)
    for id in rng.sample(sorted(held), 500):
        tree.delete(id)
        del held[id]
    tree.check()
    for _ in range(200):
        event = random_event(rng, attribute_count, cardinality, pairs=12)
        want = sorted(id for id, parts in held.items() if any(matches(p, event) for p in parts))
        assert tree.match(event) == want
    numbers = tree.statistics()
    assert numbers.expressions == 1500
    assert numbers.conjunctions == sum(map(len, held.values()))
    assert numbers.events == 200
    assert numbers.checked < 200 * numbers.conjunctions / 8, f"visits too many:\n{numbers}"


class BETreeMachine(RuleBasedStateMachine):
    """Any order of inserts, deletes and matches; the invariant after every step."""

    ids = Bundle("ids")

    @initialize(capacity=st.integers(1, 3), domains=st.sampled_from([None, NARROW]))
    def plant(self, capacity, domains):
        self.tree = BETree(SCHEMA, leaf_capacity=capacity, domains=domains)
        self.held = {}
        self.serial = count()

    @rule(target=ids, batch=st.lists(expressions(), min_size=1, max_size=4))
    def insert(self, batch):
        named = {f"e{next(self.serial)}": parts for parts in batch}
        for id, parts in named.items():
            self.tree.insert(id, parts)
        self.held |= named
        return list(named)

    @rule(batch=consumes(ids))
    def delete(self, batch):
        for id in batch:
            self.tree.delete(id)
            del self.held[id]

    @rule(event=events())
    def match(self, event):
        held = self.held.items()
        want = sorted(id for id, parts in held if any(matches(part, event) for part in parts))
        assert self.tree.match(event) == want

    @invariant()
    def holds_its_invariant(self):
        if hasattr(self, "tree"):
            self.tree.check()
            assert len(self.tree) == len(self.held)


TestBETreeMachine = pytest.mark.fuzz(BETreeMachine.TestCase)
TestBETreeMachine.settings = settings(stateful_step_count=30)
