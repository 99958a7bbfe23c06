"""`make spark` runs what a new user would, and shows what it should."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_blocks import ROOT, recipe

import penstock

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark deployment")]
TRADES = 3_000


def test_make_spark_shows_alerts_of_every_kind():
    command = " ".join(line.rstrip("\\") for line in recipe("spark"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYSPARK", "COV"))}
    done = subprocess.run(
        ["sh", "-c", command.replace("$(ARGS)", str(TRADES))],
        cwd=ROOT, env={**kept, "PATH": path}, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    by_rule = done.stdout.partition("alerts by rule")[2].partition("the two best")[0]
    counts = dict(re.findall(r"\|(\w+) *\|(\d+) *\|", by_rule))
    assert set(counts) == set(penstock.load(ROOT / "examples" / "trades" / "rules.sql").ids)
    assert all(0 < int(count) < TRADES for count in counts.values())
    best = done.stdout.partition("the two best")[2].partition("the same rules")[0]
    times = [int(count) for count in re.findall(r"\|\w+ *\|(\d+) *\|\d+ *\|", best)]
    assert TRADES < sum(times) <= 2 * TRADES
    assert re.search(r"\|alarming\|\n\+-+\+\n\| *\d+\|", done.stdout)
