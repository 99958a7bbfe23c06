"""Scores and rankings in a manifest: the same after a trip through JSON, refused if damaged."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from penstock import DataError, QuerySet, Schema
from penstock.gen.manifest import Manifest, from_json, manifest_of, to_json
from penstock.gen.passes import plan_of
from penstock.gen.scores import Score

Damage = Callable[[dict[str, Any]], object]


def example(spare: int = 0, k: int | None = 10) -> Manifest:
    queries = QuerySet(Schema.of({"n": "INT", "m": "INT", "s": "STRING"}))
    queries.add("z", "weight(n = 1, 3) AND weight(s = 'a', 5) AND weight(n < 7, 2)", weight=4)
    queries.add("b", "m > 5", weight=1)
    queries.add("plain", "m > 6")
    queries.add("depends", "weight(n = 1, 3) OR weight(m = 1, 4)", weight=9)
    queries.add("same", "weight(n = 1, 3) OR weight(n = 2, 3)")
    queries.add("like", "weight(s LIKE '%x', 2) AND n = 1", weight=1)
    queries.add("alone", "s <=> s OR weight(n = 8, 1)")
    queries.add("never", "n < 1 AND n > 2", weight=3)
    return manifest_of(plan_of(queries, spare=spare, k=k), queries, "module top; endmodule")


MANIFEST = example()
N, M, S = MANIFEST.schema.attributes


def test_scores_are_those_of_the_conditions() -> None:
    assert MANIFEST.scores == {
        "z": Score(4, ((N, 5), (S, 5))),
        "b": Score(1),
        "depends": Score(9, None),
        "same": Score(0, ((N, 3),)),
        "like": Score(1, ((S, 2),)),
        "alone": Score(0, None),
        "never": Score(3),
    }
    assert set(MANIFEST.varying) == {"depends", "alone"}


@pytest.mark.parametrize("spare", [0, 40])
def test_ranking_holds_what_the_circuit_decides_and_scores(spare: int) -> None:
    manifest = example(spare)
    ranking = manifest.ranking
    assert ranking is not None
    assert [manifest.ids[entry] for entry in ranking.entries] == ["b", "plain", "same", "z"]
    assert ranking.attributes == (N, S)
    table = manifest.table
    assert ranking.base == (table.base + table.address_count if table else 1)


@pytest.mark.parametrize("spare", [0, 40])
@pytest.mark.parametrize("k", [None, 1, 256])
def test_manifest_is_the_same_after_a_trip_through_json(spare: int, k: int | None) -> None:
    manifest = example(spare, k)
    assert (manifest.ranking is None) == (k is None)
    assert from_json(to_json(manifest), "text") == manifest
    assert manifest.digest != example(spare, 2).digest


def test_ranking_of_nothing_is_none() -> None:
    queries = QuerySet(Schema.of({"s": "STRING"}))
    queries.add("like", "s LIKE '%x'")
    plan = plan_of(queries, k=3)
    assert plan.ranking is not None and plan.ranking.entries == ()
    assert manifest_of(plan, queries, "").ranking is None


@pytest.mark.parametrize("k", [0, -1, 257])
def test_k_that_no_circuit_has_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"k must be from 1 to 256 in a circuit, not {k}"):
        example(k=k)


def set_ranking(name: str, value: Any) -> Damage:
    return lambda found: found["ranking"].__setitem__(name, value)


def set_score(id: str, value: Any) -> Damage:
    return lambda found: found["scores"].__setitem__(id, value)


DAMAGES: dict[str, Damage] = {
    "no scores": lambda found: found.pop("scores"),
    "scores that are a list": lambda found: found.__setitem__("scores", [1]),
    "score of nobody": set_score("zz", [1, {}]),
    "score that is a number": set_score("z", 7),
    "score without weights": set_score("z", [7]),
    "base as text": set_score("b", ["1", {}]),
    "base below zero": set_score("b", [-1, {}]),
    "base that is a fraction": set_score("b", [1.0, {}]),
    "weight as text": set_score("z", [4, {"n": "5", "s": 5}]),
    "weight below zero": set_score("z", [4, {"n": -5, "s": 5}]),
    "weight of no attribute": set_score("z", [4, {"n": 5, "zz": 5}]),
    "weights out of order": set_score("z", [4, {"s": 5, "n": 5}]),
    "attribute twice": set_score("z", [4, {"n": 5, "N": 5, "s": 5}]),
    "weights of another kind": set_score("depends", [9, {"n": 3}]),
    "no conditions": lambda found: found.pop("varying"),
    "conditions that are a list": lambda found: found.__setitem__("varying", ["depends"]),
    "condition that is a number": lambda found: found["varying"].update(depends=1),
    "condition of nobody": lambda found: found["varying"].update(zz="n = 1"),
    "ranking that is nothing": lambda found: found.__setitem__("ranking", None),
    "no k": lambda found: found["ranking"].pop("k"),
    "k of 0": set_ranking("k", 0),
    "huge k": set_ranking("k", 257),
    "k as text": set_ranking("k", "10"),
    "k that is true": set_ranking("k", True),
    "nobody ranked": set_ranking("entries", []),
    "ranks out of order": lambda found: found["ranking"]["entries"].reverse(),
    "ranked twice": lambda found: found["ranking"]["entries"].append(0),
    "ranked as text": set_ranking("entries", ["1"]),
    "ranked that is not there": set_ranking("entries", [100]),
    "ranked that the host finishes": set_ranking("entries", [1, 5]),
    "ranked that depends": set_ranking("entries", [1, 3]),
    "ranked that is nowhere": set_ranking("entries", [1, 7]),
    "attribute missing": set_ranking("attributes", ["n"]),
    "attributes of nobody": set_ranking("attributes", ["n", "m", "s"]),
    "another address": set_ranking("base", 2),
    "address as text": set_ranking("base", "1"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damage_is_an_error_that_names_the_source(damage: Damage) -> None:
    text = to_json(MANIFEST)
    found = json.loads(text)
    damage(found)
    assert json.dumps(found) != text
    with pytest.raises(DataError, match=r"^here\.json is not a manifest: "):
        from_json(json.dumps(found), "here.json")
