"""Lattice ECP5: the parts that the open tools place and route for.

The numbers are those of nextpnr's own utilisation report. By it the 12F has all that the 25F
has: the two are the same silicon.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """An FPGA: how it is named to nextpnr, and how much of each kind of cell it has."""

    name: str
    options: tuple[str, ...]
    """Device, package and speed grade, as nextpnr-ecp5 takes them."""
    luts: int
    """LUT4s; carry chains and small memories are made of them too."""
    flip_flops: int
    block_rams: int
    """Memories of 18 Kbit (DP16KD)."""


def _part(name: str, device: str, luts: int, block_rams: int) -> Part:
    options = (device, "--package", "CABGA381", "--speed", "6")
    return Part(name, options, luts, flip_flops=luts, block_rams=block_rams)  # one behind each LUT


PARTS = {
    part.name: part
    for part in (
        _part("LFE5U-12F", "--12k", 24_288, 56),
        _part("LFE5U-25F", "--25k", 24_288, 56),
        _part("LFE5U-45F", "--45k", 43_848, 108),
        _part("LFE5U-85F", "--85k", 83_640, 208),
    )
}
"""All parts by their names, from small to large."""
DEFAULT_PART = "LFE5U-85F"


def part_named(name: str) -> Part:
    """The part of a name, in capitals or not; ValueError if there is none."""
    part = PARTS.get(name.upper())
    if part is None:
        raise ValueError(f"unknown part {name!r}; known: {', '.join(PARTS)}")
    return part
