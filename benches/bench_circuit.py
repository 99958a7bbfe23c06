"""How large is the circuit of 1,000 subscriptions, and how long does Verilog take?

Area is what Yosys counts for an ECP5 (``synth_ecp5``): the chain of tiles with its collector,
fed with codes that the host makes or, with what makes the codes in front of it, with values. A
CCU2C takes the place of two LUT4, a TRELLIS_DPR16X4 of six; they are counted apart. 8
attributes of 32 bits, 4 predicates each, all six comparisons alike; constants drawn from the
whole range or from a pool of 50 per attribute.
"""

import sys
import tempfile
from pathlib import Path

from timing import Figure, report, seconds

import penstock
from penstock.gen.build import build
from penstock.gen.synthesis import synthesise
from penstock.sim.workload import WorkloadSpec, write

OPERATORS = {"<": 1, "<=": 1, "=": 1, ">=": 1, ">": 1, "BETWEEN": 1}
WHOLE_RANGE = 2**31 - 1
POOL = 50


def queries(count: int, cardinality: int) -> penstock.QuerySet:
    spec = WorkloadSpec(
        expressions=count, events=1, attributes=8, pairs=8, pair_spread=0, predicates=4,
        predicate_spread=0, cardinality=cardinality, operators=OPERATORS,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        write(spec, Path(folder, "workload"))
        return penstock.load(Path(folder, "workload"))


def measure_area(count: int, what: str, cardinality: int, *, encode: str, target: float) -> Figure:
    cells = synthesise(build(queries(count, cardinality), encode=encode).circuit).cells
    return Figure(
        f"{count:,} subscriptions, constants {what}, codes by the {encode}: area",
        [cells["LUT4"] / count],
        unit="LUT4 each",
        target=target,
        parameters={
            "subscriptions": count,
            "cardinality": cardinality,
            "encode": encode,
            "cells": cells,
        },
    )


def measure_build(count: int, target: float | None) -> Figure:
    loaded = queries(count, WHOLE_RANGE)
    return Figure(
        f"{count:,} subscriptions: plan to Verilog",
        seconds(lambda: build(loaded), repeats=1, warm_up=0),
        target=target,
        parameters={"subscriptions": count},
    )


def main() -> None:
    figures = [
        *(
            measure_area(1_000, what, cardinality, encode=encode, target=target)
            for encode in ("host", "device")
            for what, cardinality, target in (("anywhere", WHOLE_RANGE, 9), ("from 50", POOL, 6))
        ),
        measure_build(1_000, target=None),
        measure_build(10_000, target=30),
    ]
    report("circuit", (sys.modules[__name__].__doc__ or "").splitlines()[0], figures)


if __name__ == "__main__":
    main()
