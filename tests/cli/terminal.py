"""The command as a user runs it: as a process, and on a terminal of 80 columns."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

COMMAND = [sys.executable, "-m", "penstock.cli.main"]
# What developers and CI set and users do not: it changes buffering, colours and widths.
_UNUSUAL = ("PYTHONUNBUFFERED", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "LINES")
USUAL = {name: value for name, value in os.environ.items() if name not in _UNUSUAL}
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def piped(
    *argv: str | Path, command: Sequence[str] = COMMAND, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command with its output in pipes."""
    words, env = [*command, *map(str, argv)], {**USUAL, **environment}
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env=env)


def on_terminal(
    *argv: str | Path, columns: int = 80, command: Sequence[str] = COMMAND
) -> tuple[int, str]:
    """Exit code and all that the command writes to a terminal."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [*command, *map(str, argv)], stdin=side, stdout=side, stderr=side,
        env={**USUAL, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(side)
    written = b""
    try:
        while chunk := os.read(main, 65536):
            written += chunk
    except OSError:  # how Linux says that nobody is left to write
        pass
    finally:
        os.close(main)
    return process.wait(timeout=60), written.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    """The text without colours and movements of the cursor."""
    return _CODES.sub("", text)
