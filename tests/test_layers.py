"""Who may import whom: the layer table, and proof that breaking it is noticed."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("rtl_lib", "gen", "sim", "host", "spark_bridge", "constraints")
OUTSIDE = ("penstock", "benches", "examples")

# Other people's packages that draw a line through the project. Any other package is free
# to every layer that lists LIBRARIES, and the standard library is free to all.
GUARDED = ("amaranth", "pyspark")
LIBRARIES = "any package that is neither guarded nor ours"

# The rule of a module is the longest name here that it lies within. A room's name stands for
# `penstock.<room>`; `penstock` for the public API and the command line.
MAY_IMPORT = {
    "rtl_lib": ("rtl_lib", "amaranth"),
    "gen": ("gen", LIBRARIES),
    "gen.lower": ("gen", "rtl_lib", "amaranth", LIBRARIES),
    "gen.build": ("gen", "constraints", LIBRARIES),
    "gen.fit": ("gen", "constraints", LIBRARIES),
    "gen.route": ("gen", "constraints", LIBRARIES),
    "sim": ("sim", "gen", "rtl_lib", "host", LIBRARIES),
    "sim.proofs": ("sim.proofs", "rtl_lib", "gen.errors", "amaranth"),
    "host": (
        "host",
        "gen.schema",
        "gen.types",
        "gen.expr",
        "gen.errors",
        "gen.language",  # a manifest holds conditions as SQL
        "gen.values",
        "gen.queryset",
        "gen.instants",
        "gen.predicates",  # tables of them become flat arrays
        "gen.table_columns",  # predicates as a saved set keeps them
        "gen.plan",
        "gen.manifest",
        "gen.scores",
        "gen.wire",
        "gen.casting",
        "gen.arrow",
        "gen.normal",
        "gen.normalise",
        "gen.passes.weaken",  # of the passes only this: a table's subscriptions come without a plan
        "gen.render",
        LIBRARIES,
    ),
    "spark_bridge": (
        "spark_bridge",
        "penstock",  # the public API: workers open engines by name
        "host",
        "gen.schema",
        "gen.types",
        "gen.errors",
        "gen.queryset",
        "gen.arrow",
        "pyspark",
        LIBRARIES,
    ),
    "spark_bridge.sources": (
        "spark_bridge",
        "penstock",
        "host",
        "gen.schema",
        "gen.types",
        "gen.errors",
        "gen.queryset",
        "gen.policy",
        "gen.arrow",
        "gen.tables",  # files as the command line reads them
        "sim.workload",  # who draws the events of streams
        "pyspark",
        LIBRARIES,
    ),
    "constraints": ("constraints", "amaranth", LIBRARIES),
    "penstock": ("penstock", *ROOMS, "pyspark", LIBRARIES),
    "benches": (
        "benches",
        "penstock",
        "sim.workload",
        "sim.simulated.compile",  # it knows the machine's compiler
        "gen.build",
        "gen.passes.cluster",  # what sizes tiles have
        "gen.synthesis",
        "gen.route",
        "constraints",
        "spark_bridge",
        "pyspark",
        LIBRARIES,
    ),
    "examples": ("examples", "penstock", "spark_bridge", "sim.workload", "pyspark", LIBRARIES),
}


def is_within(name: str, outer: str) -> bool:
    return name == outer or name.startswith(f"{outer}.")


def room_name(name: str) -> str:
    """``penstock.gen.types`` -> ``gen.types``; names outside the rooms stay as they are."""
    inner = name.removeprefix("penstock.")
    return inner if inner.split(".")[0] in ROOMS else name


def module_name(path: Path) -> str:
    """The full name of the module in a file, whose path is relative to the project."""
    parts = path.with_suffix("").parts
    if parts[0] in ROOMS:
        parts = ("penstock", *parts)
    return ".".join(parts)  # a package keeps its `.__init__`: relative imports count from there


def imports_of(source: str, module: str) -> Iterator[str]:
    """Full names of all that a module imports, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            # `from penstock import gen` imports a room, so the imported names count too.
            yield from (
                origin if alias.name == "*" else f"{origin}.{alias.name}" for alias in node.names
            )


def is_allowed(name: str, allowed: tuple[str, ...]) -> bool:
    top = name.split(".")[0]
    if top in ROOMS:
        return False  # `gen` by its bare name: a second copy of `penstock.gen`
    if top in sys.stdlib_module_names or any(is_within(room_name(name), ok) for ok in allowed):
        return True
    return LIBRARIES in allowed and top not in (*GUARDED, *OUTSIDE)


def violations(root: Path, layer: str) -> list[str]:
    """What a layer imports against its rule, as ``file imports name``."""
    found = []
    for path in sorted((root / layer).rglob("*.py")):
        file = path.relative_to(root)
        module = module_name(file)
        rule = max((r for r in MAY_IMPORT if is_within(room_name(module), r)), key=len)
        names = imports_of(path.read_text(encoding="utf-8"), module)
        found += [
            f"{file.as_posix()} imports {name}"
            for name in names
            if not is_allowed(name, MAY_IMPORT[rule])
        ]
    return found


def plant(root: Path, file: str, source: str) -> list[str]:
    path = root / file
    path.parent.mkdir(parents=True)
    path.write_text(source)
    return violations(root, Path(file).parts[0])


@pytest.mark.parametrize("layer", [*ROOMS, *OUTSIDE])
def test_layer_imports_only_what_its_rule_allows(layer):
    assert violations(ROOT, layer) == []


@pytest.mark.parametrize(
    ("file", "source", "name"),
    [
        ("gen/parse.py", "import amaranth.hdl", "amaranth.hdl"),
        ("gen/parse.py", "import host.device", "host.device"),
        ("gen/parse.py", "from gen import types", "gen.types"),
        ("gen/parse.py", "import penstock", "penstock"),
        ("gen/parse.py", "from ..host import device", "penstock.host.device"),
        ("gen/__init__.py", "from .. import host", "penstock.host"),
        ("gen/passes/share.py", "from penstock.rtl_lib import *", "penstock.rtl_lib"),
        ("gen/lower/tile.py", "import penstock.constraints", "penstock.constraints"),
        ("gen/lowering.py", "import penstock.rtl_lib", "penstock.rtl_lib"),
        ("gen/build.py", "from amaranth.back import verilog", "amaranth.back.verilog"),
        ("gen/estimate.py", "import penstock.constraints.ecp5", "penstock.constraints.ecp5"),
        ("gen/route.py", "from penstock.rtl_lib import chain", "penstock.rtl_lib.chain"),
        ("constraints/ecp5.py", "from penstock.gen import plan", "penstock.gen.plan"),
        ("gen/manifest.py", "from penstock.rtl_lib import shape", "penstock.rtl_lib.shape"),
        ("host/encode.py", "from penstock.gen import passes", "penstock.gen.passes"),
        ("host/decode.py", "import penstock.gen.lower.logic", "penstock.gen.lower.logic"),
        ("host/device.py", "def f():\n    import pyspark", "pyspark"),
        ("host/device.py", "from penstock.gen import parse", "penstock.gen.parse"),
        ("host/device.py", "from penstock.gen import Plan", "penstock.gen.Plan"),
        ("rtl_lib/rank.py", "import numpy", "numpy"),
        ("spark_bridge/match.py", "import penstock.gen.plan", "penstock.gen.plan"),
        ("sim/oracle.py", "import penstock.spark_bridge", "penstock.spark_bridge"),
        ("sim/oracle.py", "import amaranth", "amaranth"),
        ("sim/proofs/tile.py", "import penstock.gen.plan", "penstock.gen.plan"),
        ("penstock/cli/main.py", "import amaranth", "amaranth"),
        ("benches/bench_load.py", "from penstock import gen", "penstock.gen"),
        ("examples/trades/run.py", "import penstock.host", "penstock.host"),
    ],
)
def test_forbidden_import_is_reported(tmp_path, file, source, name):
    assert plant(tmp_path, file, source) == [f"{file} imports {name}"]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (
            "gen/parse.py",
            "import json, sqlglot\nfrom . import types\nfrom penstock.gen import expr",
        ),
        ("gen/lower.py", "from penstock.rtl_lib import rank"),
        ("gen/lower/tile.py", "from ...rtl_lib.rank import Rank\nfrom ..plan import Plan"),
        ("gen/lower/verilog.py", "from amaranth.back import verilog"),
        ("host/encode.py", "from penstock.gen.casting import cast\nimport penstock.gen.manifest"),
        ("gen/build/ecp5.py", "import penstock.constraints.ulx3s"),
        ("gen/route.py", "from penstock.constraints.ecp5 import Part"),
        ("host/device.py", "from penstock.gen.plan import Plan\nfrom penstock.gen import schema"),
        ("rtl_lib/rank.py", "from amaranth.lib import wiring"),
        ("sim/device.py", "import penstock.host, penstock.rtl_lib, penstock.gen.lower"),
        ("sim/proofs/tile.py", "import amaranth\nfrom penstock.rtl_lib.tile import Tile"),
        ("spark_bridge/match.py", "import pyspark.sql\nimport penstock.host"),
        ("penstock/cli/main.py", "from penstock.sim import oracle\nfrom . import check"),
        ("benches/bench_load.py", "import penstock\nfrom penstock.sim.workload import events"),
        ("examples/trades/run.py", "from penstock import Schema\nimport pyspark"),
    ],
)
def test_permitted_import_passes(tmp_path, file, source):
    assert plant(tmp_path, file, source) == []
