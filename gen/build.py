"""A query set as files: circuit, manifest and what they were made from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from penstock.constraints.ecp5 import Part
from penstock.gen.errors import DeviceError
from penstock.gen.estimate import Estimate, estimate_of
from penstock.gen.explain import plan_svg, plan_text
from penstock.gen.fit import check_estimate, check_event_bits
from penstock.gen.lower.circuit import circuit_of
from penstock.gen.lower.verilog import verilog_of
from penstock.gen.manifest import Manifest, manifest_of, to_json
from penstock.gen.passes import plan_of
from penstock.gen.passes.cluster import TILE_SIZE
from penstock.gen.plan import Plan
from penstock.gen.queryset import Progress, QuerySet
from penstock.gen.tables import make_folder, write_text

MEMORY = re.compile(r"^ *reg (\[\d+:\d+\] )?\S+ +\[\d+:\d+\];", re.MULTILINE)
"""How Yosys declares one in Verilog."""


@dataclass(frozen=True, slots=True)
class Build:
    """A plan, its circuit as Verilog, and the manifest that describes it to the host."""

    plan: Plan
    circuit: str
    """Empty if nothing of the set is on the device."""
    manifest: Manifest
    event_bits: int
    """Bits of the circuit's event port, configuration words and their flag included."""
    estimate: Estimate

    @property
    def has_memories(self) -> bool:
        """Whether the circuit has memories, and not only gates and registers."""
        return MEMORY.search(self.circuit) is not None


def build(
    queries: QuerySet,
    progress: Progress | None = None,
    *,
    part: Part | None = None,
    spare: int = 0,
    encode: str = "host",
    k: int | None = None,
    tile_size: int = TILE_SIZE,
) -> Build:
    """Compile a query set to a circuit, with room for ``spare`` subscriptions that come later.

    Its tiles have up to ``tile_size`` subscriptions. With ``encode="device"`` it takes values, and
    makes itself the codes that it can make. With ``k`` it can also rank, and send only the k best
    of each event.
    DeviceError if events are too wide for any circuit, or if this one is far too large for the
    part, if one is named.
    """
    plan = plan_of(queries, progress, spare=spare, encode=encode, k=k, tile_size=tile_size)
    check_event_bits(plan)
    estimate = estimate_of(plan)
    if part is not None:
        check_estimate(estimate, part)
    if not plan.tiles and plan.table is None:
        return Build(plan, "", manifest_of(plan, queries, ""), 0, estimate)
    top = circuit_of(plan, progress)
    if progress:
        progress("writing Verilog", 0, 0)
    text = verilog_of(top)
    event_bits = len(top.i.payload.as_value())
    return Build(plan, text, manifest_of(plan, queries, text), event_bits, estimate)


def write(built: Build, folder: Path) -> None:
    """Write ``circuit.v``, ``manifest.json``, and the plan as ``plan.txt`` and ``plan.svg``.

    DeviceError if there is no circuit.
    """
    if not built.circuit:
        raise DeviceError(
            "there is no circuit to build: nothing of the set is on the device, as its "
            "subscriptions can never match or are tested by the host alone\n"
            "hint: penstock explain says which and why"
        )
    make_folder(folder)
    texts = {
        "circuit.v": built.circuit,
        "manifest.json": to_json(built.manifest) + "\n",
        "plan.txt": plan_text(built.plan) + "\n",
        "plan.svg": plan_svg(built.plan),
    }
    for name, text in texts.items():
        write_text(text, folder / name)
