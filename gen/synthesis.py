"""A circuit as the cells of an ECP5, by Yosys."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from penstock.gen.lower.verilog import TOP
from penstock.gen.lower.yosys import run_yosys
from penstock.gen.queryset import Progress

COUNTED_CELLS = ("LUT4", "CCU2C", "TRELLIS_FF", "DP16KD", "TRELLIS_DPR16X4")
SCRIPT = (
    # Without wide LUTs: those would spare no LUT4, and take the freedom to place them.
    f"read_verilog top.v; synth_ecp5 -nowidelut -top {TOP} -json netlist.json; "
    "tee -o cells.json stat -json"
)


@dataclass(frozen=True, slots=True)
class Netlist:
    """The cells of a circuit and the wires between them: what is counted, placed and routed."""

    text: str
    """As nextpnr reads it: JSON."""
    cells: dict[str, int]
    """How many there are of each of the counted kinds."""
    seconds: float
    """How long it took to make."""


def synthesise(circuit: str, progress: Progress | None = None) -> Netlist:
    """Map a circuit, as Verilog, to the cells of an ECP5."""
    if progress:
        progress("counting gates with Yosys", 0, 0)
    started = time.perf_counter()
    text, stat = run_yosys(
        SCRIPT, source=("top.v", circuit), results=["netlist.json", "cells.json"]
    )
    cells = json.loads(stat)["design"]["num_cells_by_type"]
    return Netlist(
        text,
        {cell: int(cells[cell]) for cell in COUNTED_CELLS if cell in cells},
        time.perf_counter() - started,
    )
