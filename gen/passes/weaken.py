"""Replace what the device cannot do by something weaker that loses no match."""

from __future__ import annotations

from penstock.gen.normal import FALSE, AllOf, AnyOf, Normal, Pair, Pattern, Test
from penstock.gen.normalise.merge import merge
from penstock.gen.normalise.to_sets import prefixed
from penstock.gen.schema import Attribute
from penstock.gen.values import ValueSet, present

WIDEST_PAIR_BITS = 64


def weaken(node: Normal, *, widest_pair_bits: int = WIDEST_PAIR_BITS) -> tuple[Normal, str]:
    """A condition for the device that holds whenever the node does, and why it is not the node.

    symbol LIKE 'A%B' AND price > 5   ->   symbol LIKE 'A%' AND price > 5

    The reason is empty where nothing had to be weakened, or where what is left never holds: then
    nor does the node. Two attributes are left to the device if they are compared in a type of up
    to ``widest_pair_bits``. Weights are dropped: the device decides what matches, not what it is
    worth.
    """
    reasons: dict[str, None] = {}
    weaker = merge(_weaken(node, widest_pair_bits, reasons))
    return weaker, "" if weaker == FALSE else "; ".join(reasons)


def _weaken(node: Normal, widest_pair_bits: int, reasons: dict[str, None]) -> Normal:
    match node:
        case AllOf(children):
            return AllOf(tuple(_weaken(child, widest_pair_bits, reasons) for child in children))
        case AnyOf(children):
            return AnyOf(tuple(_weaken(child, widest_pair_bits, reasons) for child in children))
        case Test(attribute, values):
            return Test(attribute, values)
        case Pattern(attribute, pattern, escape, negated):
            reasons[f"LIKE {pattern!r} is more than a prefix"] = None
            if negated:
                return Test(attribute, present(attribute.type))
            return Test(attribute, _beginning(pattern, escape))
        case Pair(left, op, right, common):
            bits = common.key_bits
            if bits is not None and bits <= widest_pair_bits:
                return Pair(left, op, right, common)
            reasons[f"{left.name} {op} {right.name} compares {common}"] = None
            return _both_present(left, op, right)


def _both_present(left: Attribute, op: str, right: Attribute) -> Normal:
    """What is left of a comparison that only the host can make."""
    if op in ("<=>", "NOT <=>"):
        return AllOf(())
    return AllOf((Test(left, present(left.type)), Test(right, present(right.type))))


def _beginning(pattern: str, escape: str) -> ValueSet:
    """All strings that begin as the pattern does, up to its first wildcard."""
    known: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character in "%_" and character != escape:
            break
        known.append(next(characters) if character == escape else character)
    return prefixed("".join(known))
