"""Which circuit makes each code, where the device makes them, and what it is made of."""

import pytest

from penstock import DeviceError, QuerySet, Schema
from penstock.gen import wire
from penstock.gen.explain import plan_text
from penstock.gen.passes import plan_of
from penstock.gen.passes.place_encoders import luts, place_encoders
from penstock.gen.plan import RELATIONS, CodeField, Source
from penstock.gen.wire import thresholds_of, wire_of
from penstock.rtl_lib.compare import Relation


def queries_on(columns: dict[str, str], *conditions: str) -> QuerySet:
    queries = QuerySet(Schema.of(columns))
    for number, condition in enumerate(conditions):
        queries.add(f"q{number}", condition)
    return queries


def source_of(columns: dict[str, str], *conditions: str) -> Source:
    """What makes the only code of a plan."""
    (field,) = plan_of(queries_on(columns, *conditions), encode="device").fields
    return field.source


@pytest.mark.parametrize(
    ("of", "condition", "source"),
    [
        ("BOOLEAN", "a", "direct"),
        ("TINYINT", "a = 3", "direct"),
        ("BIGINT", "a >= 3", "direct"),
        ("DOUBLE", "a IS NULL", "direct"),
        ("INT", "a IN (1, 3, 5)", "direct"),
        ("INT", f"a IN {tuple(range(0, 300, 3))}", "rank"),
        ("DECIMAL(18,2)", f"a IN {tuple(range(0, 300, 3))}", "rank"),
        ("DECIMAL(19,2)", "a = 1", "host"),
        ("STRING", "a = ''", "host"),
    ],
)
def test_few_constants_are_compared_and_many_searched(of: str, condition: str, source: str) -> None:
    assert source_of({"a": of}, condition) == source


@pytest.mark.parametrize(
    ("left", "right", "source"),
    [
        ("INT", "INT", "compare"),
        ("TINYINT", "BIGINT", "compare"),
        ("BOOLEAN", "BOOLEAN", "compare"),
        ("DATE", "DATE", "compare"),
        ("TIMESTAMP", "TIMESTAMP", "compare"),
        ("DOUBLE", "DOUBLE", "compare"),
        ("DECIMAL(18,2)", "DECIMAL(18,2)", "compare"),
        ("DECIMAL(8,2)", "DECIMAL(8,1)", "host"),
        ("INT", "DECIMAL(8,1)", "host"),
        ("FLOAT", "DOUBLE", "host"),
        ("INT", "DOUBLE", "host"),
        ("DATE", "TIMESTAMP", "host"),
    ],
)
def test_pairs_are_compared_where_their_numbers_have_one_order(
    left: str, right: str, source: str
) -> None:
    assert source_of({"a": left, "b": right}, "a < b") == source


def test_relations_have_the_same_numbers_on_host_and_device() -> None:
    names = {"one absent": "ONE_ABSENT", "both absent": "BOTH_ABSENT"}
    names |= {"<": "BELOW", "=": "EQUAL", ">": "ABOVE"}
    assert [names[relation] for relation in RELATIONS] == [r.name for r in Relation]


def test_search_costs_more_by_the_step_and_comparisons_more_by_the_constant() -> None:
    searched, compared = [], []
    for count in (1, 3, 7, 15, 31, 63, 127):
        conditions = [f"a >= {number}" for number in range(1, count)]
        (field,) = plan_of(queries_on({"a": "INT"}, "a IS NULL", *conditions)).fields
        assert isinstance(field, CodeField)
        searched.append(luts(field, Source.RANK))
        compared.append(luts(field, Source.DIRECT))
    assert searched == sorted(set(searched)) and compared == sorted(set(compared))
    assert compared[0] < searched[0] and compared[-1] > searched[-1]


def test_more_thresholds_than_a_word_can_name_are_left_to_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conditions = [f"a >= {number}" for number in range(8)]
    monkeypatch.setattr(wire, "MOST_THRESHOLDS", 9)
    assert source_of({"a": "INT"}, *conditions) is Source.DIRECT
    monkeypatch.setattr(wire, "MOST_THRESHOLDS", 7)
    assert source_of({"a": "INT"}, *conditions) is Source.HOST


@pytest.mark.parametrize(
    ("condition", "thresholds", "codes"),
    [
        ("a = 3", (256 + 131, 256 + 132), (0, 1, 0)),
        ("a < 3", (256, 256 + 131), (0, 1, 0)),
        ("a < 3 OR a IS NULL", (256 + 131,), (0, 1)),
        ("a IS NULL", (256,), (0, 1)),
        ("a >= 127", (256 + 255,), (0, 1)),
    ],
)
def test_thresholds_are_as_values_on_the_wire(
    condition: str, thresholds: tuple[int, ...], codes: tuple[int, ...]
) -> None:
    (field,) = plan_of(queries_on({"a": "TINYINT"}, condition)).fields
    assert isinstance(field, CodeField)
    assert thresholds_of(field) == (thresholds, codes)


def test_value_that_several_codes_need_is_on_the_wire_once() -> None:
    columns = {"s": "STRING", "b": "INT", "a": "TINYINT", "c": "INT"}
    queries = queries_on(columns, "a = 1 AND a < b AND s = 'x'", "a < b OR a = 5")
    found = wire_of(plan_of(queries, encode="device").fields)
    assert [attribute.name for attribute in found.values] == ["b", "a"]
    assert found.value_bits == (32, 8)
    assert found.coded == (0,)
    assert wire_of(plan_of(queries).fields).values == ()


def test_plan_of_the_host_is_left_as_it_is_but_for_the_sources() -> None:
    plan = plan_of(queries_on({"a": "INT", "s": "STRING"}, "a = 1", "s = 'x'"))
    placed = place_encoders(plan)
    assert (placed.nodes, placed.tiles, placed.entries) == (plan.nodes, plan.tiles, plan.entries)
    assert [f.source for f in plan.fields] == ["host", "host"]
    assert [f.source for f in placed.fields] == ["direct", "host"]


def test_explanation_says_where_and_how_codes_are_made() -> None:
    many = f"b IN {tuple(range(0, 300, 3))}"
    queries = queries_on({"a": "INT", "b": "INT", "s": "STRING"}, "a = 1", many, "s > 'x'", "a < b")
    text = plan_text(plan_of(queries, encode="device"))
    codes = text.split("codes\n")[1].split("\n\n")[0].splitlines()
    assert [line.split("bits")[1].strip() for line in codes] == [
        "device: direct",
        "device: rank search of 8 steps",
        "host",
        "device: compare",
    ]
    assert "device:" not in plan_text(plan_of(queries))


def test_nobody_else_makes_codes() -> None:
    with pytest.raises(DeviceError, match="codes are made by host or device, not by 'gpu'"):
        plan_of(queries_on({"a": "INT"}, "a = 1"), encode="gpu")
