"""The part of a manifest that is about scores: what matches are worth, and what is ranked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from penstock.gen.plan import MOST_BEST, Ranking
from penstock.gen.schema import Attribute, Schema
from penstock.gen.scores import NOTHING, Score


def scores_to_json(scores: Mapping[str, Score]) -> dict[str, Any]:
    """By id the base, and the weights by the names of attributes."""
    return {
        id: [score.base, {attribute.name: weight for attribute, weight in score.weights or ()}]
        for id, score in scores.items()
    }


def scores_from_json(scores: Any, varying: Collection[str], schema: Schema) -> dict[str, Score]:
    """The scores; ValueError if they are none. Those of ``varying`` have no fixed weights."""
    made = {}
    for id, (base, by_name) in scores.items():
        weights = tuple((schema[name], weight) for name, weight in by_name.items())
        if not all(type(number) is int and number >= 0 for number in (base, *by_name.values())):
            raise ValueError(f"the score of {id!r} is not made of whole numbers")
        places = [attribute.index for attribute, _ in weights]
        if places != sorted(set(places)) or (weights and id in varying):
            raise ValueError(f"the weights of {id!r} are out of order, or not to be there")
        made[id] = Score(base, None if id in varying else weights)
    if not set(varying) <= set(made):
        raise ValueError("a condition is to be scored that has no score")
    return made


def ranking_to_json(ranking: Ranking) -> dict[str, Any]:
    return {
        "k": ranking.k,
        "entries": list(ranking.entries),
        "attributes": [attribute.name for attribute in ranking.attributes],
        "base": ranking.base,
    }


def ranking_from_json(
    ranking: Any, by_circuit: Sequence[str | None], scores: Mapping[str, Score], base: int
) -> Ranking:
    """The ranking of subscriptions that the circuit decides alone; ValueError if it is none.

    Of those ``by_circuit`` has the ids. The addresses of the ranking begin at ``base``.
    """
    k, entries = ranking["k"], tuple(ranking["entries"])
    if type(k) is not int or not 1 <= k <= MOST_BEST or not entries:
        raise ValueError(f"the {k!r} best of {len(entries)} subscriptions are ranked")
    if not all(type(entry) is int and 0 <= entry < len(by_circuit) for entry in entries):
        raise ValueError("a subscription is ranked that is not there")
    ids = [id for id in (by_circuit[entry] for entry in entries) if id is not None]
    if len(ids) < len(entries) or ids != sorted(set(ids)):
        raise ValueError("what is ranked is out of order, or not for the circuit to rank")
    weights = (weight for id in ids for weight in scores.get(id, NOTHING).weights or ())
    attributes = tuple(sorted({attribute for attribute, _ in weights}, key=_index))
    if ranking["attributes"] != [attribute.name for attribute in attributes]:
        raise ValueError("what is ranked has weights on other attributes")
    if type(ranking["base"]) is not int or ranking["base"] != base:
        raise ValueError(f"the ranking is at address {ranking['base']!r}, not {base}")
    return Ranking(k, entries, attributes, base)


def _index(attribute: Attribute) -> int:
    return attribute.index
