"""What an installed package has: the files that are no modules, too."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("gen", "host", "rtl_lib", "sim", "spark_bridge", "constraints")


def test_files_that_are_no_modules_are_packaged():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_dir() or path.suffix == ".py" or "__pycache__" in path.parts:
                continue
            name = ".".join(("penstock", *path.relative_to(ROOT).parent.parts))
            assert path.name in declared["package-data"].get(name, []), path
