"""What is refused because it does not fit: the figure, the limit and what would work."""

import re

import pytest

from penstock import DeviceError, QuerySet, Schema
from penstock.constraints.ecp5 import part_named
from penstock.gen.estimate import Estimate
from penstock.gen.fit import (
    MAX_EVENT_BITS,
    check_cells,
    check_estimate,
    check_event_bits,
    lut_count,
)
from penstock.gen.passes import plan_of
from penstock.gen.plan import Plan

SMALL, LARGE = part_named("LFE5U-25F"), part_named("LFE5U-85F")


def plan_with(bits: int) -> Plan:
    """A plan of so many attributes of one bit each."""
    queries = QuerySet(Schema.of({f"a{number}": "BOOLEAN" for number in range(bits)}))
    for number in range(bits):
        queries.add(f"q{number}", f"a{number}")
    return plan_of(queries)


def test_events_of_as_many_bits_as_the_limit_pass() -> None:
    check_event_bits(plan_with(MAX_EVENT_BITS))


def test_one_bit_more_is_refused() -> None:
    with pytest.raises(DeviceError) as caught:
        check_event_bits(plan_with(MAX_EVENT_BITS + 1))
    assert str(caught.value) == (
        "an event takes 1,025 bits in 1,025 codes; the circuit takes at most 1,024\n"
        "the widest: a0 (1), a1 (1), a2 (1)\n"
        "hint: split the set, so that each part tests fewer attributes or constants"
    )


@pytest.mark.parametrize(
    "cells",
    [
        {"LUT4": SMALL.luts, "TRELLIS_FF": SMALL.flip_flops, "DP16KD": SMALL.block_rams},
        {"LUT4": SMALL.luts - 8, "CCU2C": 1, "TRELLIS_DPR16X4": 1},
        {},
    ],
)
def test_circuit_that_fills_the_part_passes(cells: dict[str, int]) -> None:
    check_cells(cells, SMALL)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"LUT4": 24_289}, "24,289 LUT4; LFE5U-25F has 24,288"),
        ({"LUT4": 24_287, "CCU2C": 1}, "24,289 LUT4; LFE5U-25F has 24,288"),
        ({"LUT4": 24_283, "TRELLIS_DPR16X4": 1}, "24,289 LUT4; LFE5U-25F has 24,288"),
        ({"LUT4": 1, "TRELLIS_FF": 24_289}, "24,289 flip-flops; LFE5U-25F has 24,288"),
        ({"DP16KD": 57}, "57 block RAMs; LFE5U-25F has 56"),
    ],
)
def test_one_cell_more_is_refused_with_the_figure_and_the_limit(
    cells: dict[str, int], said: str
) -> None:
    with pytest.raises(DeviceError) as caught:
        check_cells(cells, SMALL)
    assert str(caught.value) == (
        f"the circuit needs {said}\nhint: LFE5U-45F or LFE5U-85F would be large enough"
    )


def test_circuit_for_which_no_part_is_large_enough_is_to_be_split() -> None:
    with pytest.raises(DeviceError) as caught:
        check_cells({"LUT4": 100, "TRELLIS_FF": 83_641}, LARGE)
    assert str(caught.value) == (
        "the circuit needs 83,641 flip-flops; LFE5U-85F has 83,640\n"
        "hint: no known part is large enough; split the set"
    )


def test_luts_of_carry_chains_and_memories_count() -> None:
    assert lut_count({"LUT4": 100, "CCU2C": 10, "TRELLIS_DPR16X4": 1, "TRELLIS_FF": 9}) == 126


def test_estimate_refuses_only_what_is_twice_too_large() -> None:
    for luts, flip_flops in ((48_576, 0), (0, 48_576)):
        check_estimate(Estimate(luts, flip_flops), SMALL)
    for estimate, what in ((Estimate(48_577, 9), "LUT4"), (Estimate(9, 48_577), "flip-flops")):
        said = f"the circuit needs about 48,577 {what}; LFE5U-25F has 24,288\nhint: LFE5U-85F"
        with pytest.raises(DeviceError, match=re.escape(said)):
            check_estimate(estimate, SMALL)
