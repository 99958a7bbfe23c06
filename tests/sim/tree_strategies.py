"""Conjunctions and events that collide: few values, every kind of type, every kind of leaf."""

from collections.abc import Mapping
from decimal import Decimal
from random import Random

from hypothesis import strategies as st

from penstock.gen.normal import Conjunction, Event, Pair, Pattern, Test, holds, make_event
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import INT, Key, Value
from penstock.gen.values import ValueSet

SCHEMA = Schema.of(
    {"x": "INT", "y": "INT", "name": "STRING", "rate": "DOUBLE", "price": "DECIMAL(5,2)",
     "live": "BOOLEAN"}
)  # fmt: skip
X, Y, NAME, RATE, PRICE, LIVE = SCHEMA.attributes
NAN, INFINITY = float("nan"), float("inf")

# Strings agree in their first 8 bytes, or in their places on the grid though they differ.
POOLS: Mapping[Attribute, list[Value]] = {
    X: [-2147483648, *range(-3, 7), 2147483647],
    Y: [0, 1, 2, 3],
    NAME: ["", "\0", "a", "a\0", "ab", "penstock", "penstock\0", "penstocks", "penstockz",
           "pensto\u00e9", "\u00e9", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffff" * 3],
    RATE: [-INFINITY, -1.5, -0.0, 0.0, 5e-324, 1.5, INFINITY, NAN],
    PRICE: [Decimal(text) for text in ("-999.99", "-0.01", "0", "0.01", "9.99", "999.99")],
    LIVE: [False, True],
}  # fmt: skip
PATTERNS = ["%", "a%b", "_", "%stock%", "pen_tock", ""]
PAIR_OPS = ["=", "<>", "<", "<=", ">", ">=", "<=>", "NOT <=>"]
WEIGHTS = [0, 0, 0, 1, 2, 5]


def _cut_keys(attribute: Attribute) -> list[Key]:
    of = attribute.type
    keys = {of.key(value) for value in POOLS[attribute]} | {of.lowest}
    keys |= {of.after(key) for key in keys}
    return sorted(key for key in keys if of.highest is None or not key > of.highest)


CUT_KEYS = {attribute: _cut_keys(attribute) for attribute in SCHEMA}


def within(attribute: Attribute, *cuts: Key, null: bool = False, weight: int = 0) -> Test:
    return Test(attribute, ValueSet(cuts, null), weight)  # pytest would collect the name `Test`


def x_in(low: int, high: int, weight: int = 0) -> Conjunction:
    return Conjunction((within(X, low, high + 1, weight=weight),), ())


def value_sets(attribute: Attribute) -> st.SearchStrategy[ValueSet]:
    cuts = st.lists(st.sampled_from(CUT_KEYS[attribute]), unique=True, min_size=1, max_size=4)
    near = st.integers(0, len(CUT_KEYS[attribute]) - 2).map(
        lambda at: tuple(CUT_KEYS[attribute][at : at + 2])
    )
    sets = st.builds(ValueSet, st.one_of(near, cuts.map(sorted).map(tuple)))
    unusual = st.builds(ValueSet, st.one_of(st.just(()), near), null=st.booleans())
    return st.one_of(sets, sets, unusual)


_TESTS = {
    attribute: st.builds(Test, st.just(attribute), value_sets(attribute), st.sampled_from(WEIGHTS))
    for attribute in SCHEMA
}
_PAIRS = st.builds(
    Pair, st.just(X), st.sampled_from(PAIR_OPS), st.just(Y), st.just(INT), st.sampled_from(WEIGHTS)
)
_PATTERNS = st.builds(
    Pattern,
    st.just(NAME),
    st.sampled_from(PATTERNS),
    st.just("\\"),
    st.booleans(),
    st.sampled_from(WEIGHTS),
)


@st.composite
def conjunctions(draw: st.DrawFn) -> Conjunction:
    """At most one test per attribute; often few attributes, so that l-nodes fill up."""
    used = draw(st.sets(st.sampled_from(range(len(SCHEMA))), max_size=3))
    tests = tuple(draw(_TESTS[SCHEMA.attributes[index]]) for index in sorted(used))
    others = draw(st.lists(st.one_of(_PAIRS, _PATTERNS), max_size=2)) if draw(st.booleans()) else ()
    return Conjunction(tests, tuple(others))


def points_of_x() -> st.SearchStrategy[Conjunction]:
    """``x = v AND y in ...``: what fills an atomic bucket until it is partitioned."""
    return st.builds(
        lambda value, test: Conjunction((within(X, value, value + 1), test), ()),
        st.integers(-1, 1),
        _TESTS[Y],
    )


def expressions() -> st.SearchStrategy[list[Conjunction]]:
    return st.lists(st.one_of(points_of_x(), conjunctions()), max_size=3)


def events() -> st.SearchStrategy[Event]:
    values = {attribute.index: st.sampled_from(POOLS[attribute]) for attribute in SCHEMA.attributes}
    return st.fixed_dictionaries({}, optional=values).map(
        lambda present: make_event(present, SCHEMA.attributes)
    )


def mixed_expression(rng: Random) -> list[Conjunction]:
    """Like `expressions`, but cheap enough for thousands."""
    return [_mixed_conjunction(rng) for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3]))]


def _mixed_conjunction(rng: Random) -> Conjunction:
    tests, others = [], []
    for index in sorted(rng.sample(range(len(SCHEMA)), rng.choice([0, 1, 1, 2, 2, 3]))):
        keys = CUT_KEYS[SCHEMA.attributes[index]]
        count = rng.randint(1, min(3, len(keys)))
        cuts = tuple(keys[at] for at in sorted(rng.sample(range(len(keys)), count)))
        if rng.random() < 0.5:
            start = rng.randrange(len(keys) - 1)
            cuts = (keys[start], keys[start + 1])
        null, weight = rng.random() < 0.15, rng.choice(WEIGHTS)
        tests.append(within(SCHEMA.attributes[index], *cuts, null=null, weight=weight))
    if rng.random() < 0.15:
        others.append(Pair(X, rng.choice(PAIR_OPS), Y, INT, rng.choice(WEIGHTS)))
    if rng.random() < 0.15:
        negated = rng.random() < 0.5
        others.append(Pattern(NAME, rng.choice(PATTERNS), "\\", negated, rng.choice(WEIGHTS)))
    return Conjunction(tuple(tests), tuple(others))


def mixed_event(rng: Random) -> Event:
    present = rng.sample(SCHEMA.attributes, rng.randint(0, len(SCHEMA)))
    values = {attribute.index: rng.choice(POOLS[attribute]) for attribute in present}
    return make_event(values, SCHEMA.attributes)


def random_conjunction(rng: Random, attribute_count: int, cardinality: int) -> Conjunction:
    """One to four tests on INT attributes: points, short ranges, and now and then ``<>``."""
    attributes = wide_schema(attribute_count).attributes
    tests = []
    for index in sorted(rng.sample(range(attribute_count), rng.randint(1, 4))):
        start = rng.randrange(cardinality)
        cuts: tuple[int, ...] = (start, start + rng.choice([1, 1, 3, cardinality // 5]))
        if rng.random() < 0.1:
            cuts = (-(2**31), start, start + 1)
        tests.append(Test(attributes[index], ValueSet(cuts), rng.choice(WEIGHTS)))
    return Conjunction(tuple(tests), ())


def random_event(rng: Random, attribute_count: int, cardinality: int, pairs: int) -> Event:
    values = {i: rng.randrange(cardinality) for i in rng.sample(range(attribute_count), pairs)}
    return make_event(values, wide_schema(attribute_count).attributes)


def wide_schema(attribute_count: int) -> Schema:
    return Schema.of({f"a{index}": "INT" for index in range(attribute_count)})


def matches(conjunction: Conjunction, event: Event) -> bool:
    return all(holds(leaf, event) for leaf in conjunction.leaves)
