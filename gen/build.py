"""A query set as files: circuit, manifest and what they were made from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from penstock.gen.explain import plan_svg, plan_text
from penstock.gen.lower.circuit import circuit_of
from penstock.gen.lower.verilog import TOP, verilog_of
from penstock.gen.lower.yosys import run_yosys
from penstock.gen.manifest import Manifest, manifest_of, to_json
from penstock.gen.passes import plan_of
from penstock.gen.plan import Plan
from penstock.gen.queryset import Progress, QuerySet
from penstock.gen.tables import make_folder, write_text

COUNTED_CELLS = ("LUT4", "CCU2C", "TRELLIS_FF", "DP16KD", "TRELLIS_DPR16X4")


@dataclass(frozen=True, slots=True)
class Build:
    """A plan, its circuit as Verilog, and the manifest that describes it to the host."""

    plan: Plan
    circuit: str
    manifest: Manifest
    event_bits: int
    """Bits of the circuit's event port, configuration words and their flag included."""


def build(queries: QuerySet, progress: Progress | None = None, *, encode: str = "host") -> Build:
    """Compile a query set to a circuit.

    With ``encode="device"`` it takes values, and makes itself the codes that it can make.
    """
    plan = plan_of(queries, progress, encode=encode)
    top = circuit_of(plan, progress)
    if progress:
        progress("writing Verilog", 0, 0)
    text = verilog_of(top)
    return Build(plan, text, manifest_of(plan, queries, text), len(top.i.payload.as_value()))


def write(built: Build, folder: Path) -> None:
    """Write ``circuit.v``, ``manifest.json``, and the plan as ``plan.txt`` and ``plan.svg``."""
    make_folder(folder)
    texts = {
        "circuit.v": built.circuit,
        "manifest.json": to_json(built.manifest) + "\n",
        "plan.txt": plan_text(built.plan) + "\n",
        "plan.svg": plan_svg(built.plan),
    }
    for name, text in texts.items():
        write_text(text, folder / name)


def area(circuit: str, progress: Progress | None = None) -> dict[str, int]:
    """How many cells of each kind an ECP5 needs for a circuit, by Yosys."""
    if progress:
        progress("counting gates with Yosys", 0, 0)
    script = f"read_verilog top.v; synth_ecp5 -nowidelut -top {TOP}; tee -o cells.json stat -json"
    found = json.loads(run_yosys(script, source=("top.v", circuit), result="cells.json"))
    cells = found["design"]["num_cells_by_type"]
    return {cell: int(cells[cell]) for cell in COUNTED_CELLS if cell in cells}
