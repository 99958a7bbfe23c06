"""Choose what the circuit ranks itself."""

from __future__ import annotations

from dataclasses import replace

from penstock.gen.plan import Entry, Plan, Ranking

MOST_TERMS = 8
"""Attributes whose weights one subscription can earn on the circuit: each takes a multiplier."""
WIDEST_WEIGHT_BITS = 32


def rank(plan: Plan, k: int) -> Plan:
    """Let the circuit keep the k best of the subscriptions whose scores it can work out.

    big: weight(price > 5, 2) and live   ->   ranked: big, by weights of price
    odd: weight(price > 5, 2) or live         odd: the host

    A match that only the host can decide must not push out a true one, so those stay out of the
    circuit's ranking as well. The host scores what is left and joins it with the circuit's best.
    """
    placed = [index for tile in plan.tiles for index in tile.entries]
    ranked = sorted(
        (index for index in placed if not why_not_ranked(plan.entries[index])),
        key=lambda index: plan.entries[index].id,
    )
    attributes = {a for index in ranked for a, _ in plan.entries[index].score.weights or ()}
    ordered = tuple(sorted(attributes, key=lambda attribute: attribute.index))
    ranking = Ranking(k, tuple(ranked), ordered, base=plan.address_count)
    return replace(plan, ranking=ranking)


def why_not_ranked(entry: Entry) -> str:
    """Why a subscription that can match is ranked by the host; empty if the circuit ranks it."""
    weights = entry.score.weights
    if entry.root is None:
        return "on the host alone"
    if entry.residual is not None:
        return "finished on the host"
    if weights is None:
        return "its score depends on which side of an OR holds"
    if len(weights) > MOST_TERMS:
        return f"it has weights on {len(weights)} attributes, more than {MOST_TERMS}"
    if any(weight.bit_length() > WIDEST_WEIGHT_BITS for _, weight in weights):
        return f"a weight takes more than {WIDEST_WEIGHT_BITS} bits"
    return ""
