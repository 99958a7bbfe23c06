"""A query set as files: circuit, manifest and what they were made from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.gen.lower.circuit import circuit_of
from penstock.gen.lower.verilog import verilog_of
from penstock.gen.manifest import Manifest, manifest_of, to_json
from penstock.gen.passes import plan_of
from penstock.gen.plan import Plan
from penstock.gen.queryset import Progress, QuerySet


@dataclass(frozen=True, slots=True)
class Build:
    """A plan, its circuit as Verilog, and the manifest that describes it to the host."""

    plan: Plan
    circuit: str
    manifest: Manifest
    event_bits: int
    """Bits of the circuit's event port, configuration words and their flag included."""


def build(queries: QuerySet, progress: Progress | None = None) -> Build:
    """Compile a query set to a circuit."""
    plan = plan_of(queries, progress)
    chain = circuit_of(plan, progress)
    if progress:
        progress("writing Verilog", 0, 0)
    text = verilog_of(chain)
    return Build(plan, text, manifest_of(plan, queries, text), len(chain.i.payload.as_value()))


def write(built: Build, folder: Path) -> None:
    """Write ``circuit.v`` and ``manifest.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "circuit.v").write_text(built.circuit, encoding="utf-8")
    (folder / "manifest.json").write_text(to_json(built.manifest) + "\n", encoding="utf-8")
