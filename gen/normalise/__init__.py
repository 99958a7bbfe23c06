"""Rewrites from typed expressions to the normal form, one per file."""

from penstock.gen.normalise.disjuncts import MAX_DISJUNCTS, TooManyDisjuncts, disjuncts
from penstock.gen.normalise.merge import merge
from penstock.gen.normalise.normalise import normalise
from penstock.gen.normalise.verdict import verdict

__all__ = ["MAX_DISJUNCTS", "TooManyDisjuncts", "disjuncts", "merge", "normalise", "verdict"]
