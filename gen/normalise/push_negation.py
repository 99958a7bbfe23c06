"""Push NOT down to the predicates."""

from __future__ import annotations

from penstock.gen.expr import Always, And, Expression, Not, Or


def push_negation(expression: Expression, negated: bool = False) -> Expression:
    """Leave NOT only directly above predicates; true in three-valued logic too.

    NOT (a > 1 AND NOT b = 2)   ->   NOT a > 1 OR b = 2
    """
    match expression:
        case Not(child):
            return push_negation(child, not negated)
        case And(children) | Or(children):
            pushed = tuple(push_negation(child, negated) for child in children)
            return And(pushed) if isinstance(expression, And) != negated else Or(pushed)
        case Always(value):
            return Always(value if value is None else value != negated)
    return Not(expression) if negated else expression
