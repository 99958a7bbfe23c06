"""Random conditions in which some predicates carry weights."""

from hypothesis import strategies as st
from sql_texts import Pools, predicates
from strategies import Case, _candidates, pools, present, schemas

from penstock.gen.schema import Schema


@st.composite
def weighted_cases(draw: st.DrawFn, texts: int = 5, events: int = 10) -> Case:
    """A case as `strategies.cases` makes them, with weights in its texts."""
    schema, around = draw(schemas(max_size=3)), draw(pools())
    drawn = draw(st.lists(weighted(schema, around), min_size=texts, max_size=texts))
    values = st.tuples(
        *(st.none() | st.sampled_from(_candidates(a, around, drawn, schema)) for a in schema)
    )
    rows = draw(st.lists(values, min_size=events, max_size=events))
    return Case(schema, tuple(drawn), tuple(present(row) for row in rows))


def weighted(schema: Schema, around: Pools) -> st.SearchStrategy[str]:
    """Conditions of a few predicates, some of them weighted."""
    plain = predicates(schema, around)
    leaf = plain | st.builds("weight({}, {})".format, plain, st.integers(0, 9))
    joined = st.sampled_from(["({} AND {})", "({} OR {})", "(NOT {} AND {})", "NOT ({} OR {})"])
    return st.recursive(
        leaf, lambda inner: st.builds(lambda f, a, b: f.format(a, b), joined, inner, inner),
        max_leaves=5,
    )  # fmt: skip
