"""The rewrites in order."""

from __future__ import annotations

from penstock.gen.expr import Expression
from penstock.gen.normal import Normal
from penstock.gen.normalise.merge import merge
from penstock.gen.normalise.push_negation import push_negation
from penstock.gen.normalise.to_sets import to_sets


def normalise(condition: Expression) -> Normal:
    """The normal form of a condition.

    NOT (price <= 10 OR NOT live) AND price < 20   ->   price in (11, 20) AND live in (1,)
    """
    return merge(to_sets(push_negation(condition)))
