"""Many copies of a circuit in one model: each bit becomes a word with a lane for every copy.

Gates do the same to all bits of a word, so a simulator that evaluates the widened circuit once
has evaluated 64 copies of the circuit, each with events of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.gen.lower.verilog import TOP
from penstock.gen.lower.yosys import run_yosys

LANES = 64
SHARED_PORTS = ("clk", "rst")
"""Inputs of one bit that all copies have in common."""

GATES = {
    "$_NOT_": "~{A}",
    "$_AND_": "{A} & {B}",
    "$_OR_": "{A} | {B}",
    "$_XOR_": "{A} ^ {B}",
    "$_MUX_": "{A} ^ ({S} & ({A} ^ {B}))",
}
REGISTERS = {
    "$_DFF_P_": "{D}",
    "$_DFFE_PP_": "{Q} ^ ({E} & ({D} ^ {Q}))",
    "$_SDFF_PP0_": "{D} & ~{R}",
    "$_SDFF_PP1_": "{D} | {R}",
    "$_SDFFE_PP0P_": "({Q} ^ ({E} & ({D} ^ {Q}))) & ~{R}",
    "$_SDFFE_PP1P_": "({Q} ^ ({E} & ({D} ^ {Q}))) | {R}",
    "$_SDFFCE_PP0P_": "{Q} ^ ({E} & (({D} & ~{R}) ^ {Q}))",
    "$_SDFFCE_PP1P_": "{Q} ^ ({E} & (({D} | {R}) ^ {Q}))",
}
SCRIPT = (
    f"read_verilog top.v; hierarchy -top {TOP}; proc; flatten; opt; techmap; opt -fast; simplemap; "
    f"dfflegalize {' '.join(f'-cell {register} 01' for register in REGISTERS)}; opt -fast; "
    "clean; delete t:$scopeinfo; write_json top.json"
)


def widened(verilog: str) -> str:
    """A circuit without memories as one that is `LANES` copies of it.

    Ports keep their names and directions. Bit ``n`` of a port becomes the bits from ``64 * n``
    on, a bit for each copy; clock and reset stay single.
    """
    (text,) = run_yosys(SCRIPT, source=("top.v", verilog), results=["top.json"])
    netlist = json.loads(text)
    module = netlist["modules"][TOP]
    lines = [
        f"module {TOP}({', '.join(module['ports'])});",
        *(line for name, port in module["ports"].items() for line in _port(name, port)),
        *_cells(module["cells"].values(), _initial_bits(module["netnames"].values())),
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _port(name: str, port: Mapping[str, Any]) -> Iterator[str]:
    """A port, and the words between it and the gates."""
    bits = port["bits"]
    if name in SHARED_PORTS:
        yield f"input {name};"
        yield f"wire [{LANES - 1}:0] {_word(bits[0])} = {{{LANES}{{{name}}}}};"
        return
    yield f"{port['direction']} [{LANES * len(bits) - 1}:0] {name};"
    if port["direction"] == "input":
        for number, bit in enumerate(bits):
            yield f"wire [{LANES - 1}:0] {_word(bit)} = {name}[{LANES * number} +: {LANES}];"
    else:
        yield f"assign {name} = {{{', '.join(_word(bit) for bit in reversed(bits))}}};"


def _cells(cells: Sequence[Mapping[str, Any]], ones: frozenset[int]) -> Iterator[str]:
    """The gates as words, and the registers, all in one block."""
    updates = []
    for cell in cells:
        words = {pin: _word(bits[0]) for pin, bits in cell["connections"].items()}
        if cell["type"] in GATES:
            formula = GATES[cell["type"]].format(**words)
            yield f"wire [{LANES - 1}:0] {words['Y']} = {formula};"
        else:
            initial = _word("1" if cell["connections"]["Q"][0] in ones else "0")
            yield f"reg [{LANES - 1}:0] {words['Q']} = {initial};"
            updates.append(f"  {words['Q']} <= {REGISTERS[cell['type']].format(**words)};")
    yield "always @(posedge clk) begin"
    yield from updates
    yield "end"


def _word(bit: int | str) -> str:
    """The word of a bit; what is constant is so in all copies, and what is open is 0."""
    if isinstance(bit, int):
        return f"n{bit}"
    return f"{{{LANES}{{1'b{'1' if bit == '1' else '0'}}}}}"


def _initial_bits(nets: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """The bits that are 1 at power-up."""
    return frozenset(
        bit
        for net in nets
        for bit, value in zip(
            net["bits"], reversed(net["attributes"].get("init", "")), strict=False
        )
        if value == "1"
    )
