# amaranth: UnusedElaboratable=no
"""How conditions are cut into gates: how wide, how many in a row, and where enable bits go."""

import random

import pytest

from penstock import QuerySet, Schema
from penstock.gen.lower.logic import WIDEST_GATE, tile_logic
from penstock.gen.passes import plan_of
from penstock.gen.ranges import Ranges
from penstock.rtl_lib.formula import bit
from penstock.rtl_lib.logic import Enabled, Gate, InRange, Logic
from penstock.rtl_lib.predecoder import Predecoder


def logics_of(queries: QuerySet) -> list[tuple[list[int], Logic]]:
    """The widths of the codes and the logic of each tile."""
    plan = plan_of(queries)
    ranges, widths = Ranges(plan.fields), [field.width for field in plan.fields]
    return [(widths, tile_logic(plan, tile, ranges)) for tile in plan.tiles]


def random_set(count: int, predicates: int, seed: int = 1) -> QuerySet:
    """Conjunctions of comparisons whose constants all differ, so that each bound has wires."""
    rng = random.Random(seed)
    names = [f"a{number}" for number in range(max(8, predicates))]
    queries = QuerySet(Schema.of(dict.fromkeys(names, "INT")))
    for number in range(count):
        tests = [
            f"{name} {rng.choice(('<', '>=', '='))} {rng.randrange(10**9)}"
            for name in rng.sample(names, predicates)
        ]
        queries.add(f"q{number}", " AND ".join(tests))
    return queries


def wires_of(literal: int, logic: Logic, predecoder: Predecoder) -> int:
    """How many wires a gate looks at for one of its inputs."""
    node = logic.nodes[literal >> 1]
    return len(set(predecoder.in_range(bit, node).bits)) if isinstance(node, InRange) else 1


@pytest.mark.parametrize("predicates", [1, 2, 4, 8, 20])
def test_no_gate_is_wider_than_four_luts(predicates: int) -> None:
    for widths, logic in logics_of(random_set(60, predicates)):
        predecoder = Predecoder(widths, [n for n in logic.used() if isinstance(n, InRange)])
        for node in logic.nodes:
            if isinstance(node, Gate):
                wires = sum(wires_of(item, logic, predecoder) for item in node.inputs)
                assert wires <= WIDEST_GATE, node


@pytest.mark.parametrize("predicates", [1, 4, 8, 20])
def test_enable_bits_never_wait(predicates: int) -> None:
    for _, logic in logics_of(random_set(60, predicates)):
        levels = logic.levels()
        users = [
            levels[index]
            for index, node in enumerate(logic.nodes)
            if isinstance(node, Gate)
            and any(isinstance(logic.nodes[item >> 1], Enabled) for item in node.inputs)
        ]
        assert users == [1] * len(logic.outputs)


def test_what_four_luts_can_join_takes_one_stage_and_a_little_more_takes_two() -> None:
    schema = Schema.of({f"b{number}": "BOOLEAN" for number in range(20)})
    for count, stages in [(WIDEST_GATE - 1, 1), (WIDEST_GATE, 2), (2 * WIDEST_GATE - 3, 2)]:
        queries = QuerySet(schema)
        queries.add("all", " AND ".join(f"b{number}" for number in range(min(count, 20))))
        ((_, logic),) = logics_of(queries)
        assert logic.stages == stages, count


def test_long_conjunctions_are_trees() -> None:
    schema = Schema.of({f"b{number}": "BOOLEAN" for number in range(200)})
    queries = QuerySet(schema)
    queries.add("all", " AND ".join(f"b{number}" for number in range(200)))
    ((_, logic),) = logics_of(queries)
    assert logic.stages <= 4  # as a chain it would be 17
