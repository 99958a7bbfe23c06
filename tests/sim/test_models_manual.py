"""The trees drawn in docs/models.md are the trees that are built."""

from pathlib import Path

import pytest
from tree_strategies import within

from penstock.gen.normal import Conjunction, make_event
from penstock.gen.schema import Schema
from penstock.sim.be_star_tree import BEStarTree
from penstock.sim.be_tree import BETree

MANUAL = Path(__file__).parents[2] / "docs" / "models.md"
SCHEMA = Schema.of({"price": "INT", "size": "INT"})
PRICE, SIZE = SCHEMA.attributes
EXPRESSIONS = {
    "cheap": within(PRICE, 0, 4),
    "dear": within(PRICE, 6, 8),
    "mid": within(PRICE, 2, 6),
    "free": within(PRICE, 0, 1),
    "bulk": within(SIZE, 5, 8),
}


@pytest.mark.parametrize(
    ("tree", "column"),
    [
        (BETree(SCHEMA, leaf_capacity=2, domains={PRICE.index: (0, 7)}), slice(4, 46)),
        (BEStarTree(SCHEMA, leaf_capacity=2), slice(46, None)),
    ],
    ids=["BE-Tree", "BE*-Tree"],
)
def test_figure_shows_the_tree(tree, column):
    for id, test in EXPRESSIONS.items():
        tree.insert(id, [Conjunction((test,), ())])
    rows = MANUAL.read_text(encoding="utf-8").splitlines()
    start = next(number for number, row in enumerate(rows) if row.startswith("    root:"))
    drawn = [row[column].rstrip() for row in rows[start : rows.index("", start)]]
    assert [row for row in drawn if row] == tree.outline().splitlines()
    assert tree.match(make_event({0: 0, 1: 6}, SCHEMA.attributes)) == ["bulk", "cheap", "free"]
