"""Wherever the package and the workers are: clusters, Connect, wheels, archives, nowhere."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("spark_program.py")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark deployment")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this project, built from a copy: building leaves files behind."""
    source = tmp_path_factory.mktemp("source")
    left_out = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "tests")
    copy = shutil.copytree(ROOT, source / "penstock", symlinks=True, ignore=left_out)
    build = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel('out'))"
    subprocess.run([sys.executable, "-c", build], cwd=copy, check=True, capture_output=True)
    (made,) = (copy / "out").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Path:
    """A Python with everything that penstock needs, but not penstock itself."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    packages = sysconfig.get_path("purelib")
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(packages)  # without what *its* .pth files would add
    return folder


def python_of(folder: Path) -> str:
    return str(folder / "bin" / "python")


def run(python: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program far from the project, whose folder a worker could import."""
    import pyspark

    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYSPARK", "COV"))}
    home = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": python}
    return subprocess.run(
        [python, str(PROGRAM), *arguments], cwd=Path(sys.prefix, "bin"),
        env={**kept, **home, **environment}, capture_output=True, text=True, timeout=240,
    )  # fmt: skip


def answer(done: subprocess.CompletedProcess[str]) -> dict:
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["right"] == [True] * 3
    return found


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "connect"])
def test_workers_of_their_own_and_connect(master):
    answer(run(sys.executable, master))


def test_an_installed_wheel(wheel, bare, tmp_path):
    """An installer does the same: the wheel's files in the site folder."""
    other = tmp_path / "with wheel"
    shutil.copytree(bare, other, symlinks=True)
    (site,) = other.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    assert answer(run(python_of(other), "local[2]"))["at"].startswith(str(other))


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_an_archive_that_spark_sends(wheel, bare, tmp_path, master):
    archive = shutil.copy(wheel, tmp_path / "penstock.zip")
    found = answer(run(python_of(bare), master, str(archive), PYTHONPATH=str(archive)))
    assert found["at"].startswith(str(archive))


def test_workers_without_the_package(bare):
    done = run(sys.executable, "local[2]", PYSPARK_PYTHON=python_of(bare))
    assert done.returncode != 0
    assert "a Spark worker cannot import penstock: No module named 'penstock'" in done.stderr
    assert "--py-files penstock.zip" in done.stderr
