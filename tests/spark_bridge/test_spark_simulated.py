"""The simulated circuit in Spark: right, and compiled once however many workers want it at once."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.sim.simulated.compile import compiler

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark deployment")]

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
import penstock
from penstock.spark_bridge import match, top_k

spark = SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false").getOrCreate()
rules = penstock.QuerySet(penstock.Schema.of({"n": "INT", "s": "STRING"}))
for number in range(40):
    text = f"n >= {number} AND s LIKE '%{number % 10}' OR n = {-number}"
    rules.add(f"r{number:02}", text, weight=number)
columns = ["CAST(id - 20 AS INT) AS n", "IF(id % 7 = 0, NULL, string(id)) AS s"]
frame = spark.range(0, 60, 1, 4).selectExpr(*columns)
found = {}
for engine in ("simulated", "software"):
    rows = frame.transform(match(rules, engine=engine)).collect()
    best = frame.transform(top_k(rules, 3, engine=engine, output="pairs")).collect()
    found[engine] = sorted(map(str, rows)), sorted(map(str, best))
    assert any(row.matches for row in rows)
print(json.dumps(found["simulated"] == found["software"]))
spark.stop()
"""


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_workers_that_start_together_compile_a_circuit_once(tmp_path, master):
    import pyspark

    log = tmp_path / "links"
    watched = tmp_path / "watched-c++"
    real = shlex.join(compiler())
    watched.write_text(
        f'#!/bin/sh\ncase " $* " in *" -shared "*) echo link >> "{log}";; esac\nexec {real} "$@"\n'
    )
    watched.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYSPARK", "COV"))}
    own = {
        "SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable,
        "PENSTOCK_CACHE": str(tmp_path / "cache"), "CXX": str(watched),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, master], cwd=Path(sys.prefix, "bin"),
        env={**kept, **own}, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.strip().splitlines()[-1]) is True
    assert log.read_text().split() == ["link"]
