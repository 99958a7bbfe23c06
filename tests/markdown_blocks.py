"""The runnable parts of a Markdown page: fenced blocks, the files they name, tables, links.

- A block after a line that ends in "`name.ext`:" is that file.
- In a ``console`` block a line starting with "$ " is a command, and what follows is its output.
- A ``python`` block runs; a ``text`` block right after it is what it prints.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
RUN_PAGES = tuple(
    ROOT / name
    for name in (
        "README.md",
        "docs/language.md",
        "docs/policies.md",
        "docs/python.md",
        "docs/host-api.md",
        "docs/software-engine.md",
        "docs/command-line.md",
        "docs/circuit.md",
    )
)
COMMANDS = ("penstock ", "cat ")
"""What a ``console`` block may run in the page's folder."""

_FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_FILE_NAME = re.compile(r"`([\w-]+\.\w+)`:\s*$")
_SECONDS = re.compile(r"\b\d+\.\d+ s\b")
_VERILOG = re.compile(r"\b[\d,]+ bytes of Verilog\b")


@dataclass(frozen=True)
class Block:
    """A fenced block: its info string, its text, where it starts, and the file it is, if any."""

    info: str
    text: str
    line: int
    file: str | None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        before = text[: fence.start()]
        name = _FILE_NAME.search(before)
        line = before.count("\n") + 1
        found.append(Block(fence[1], fence[2], line, name[1] if name else None))
    return found


def tables(page: Path) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The header and the rows of each table; cells are stripped."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for found in re.finditer(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        header, _, *rows = (
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in found[0].splitlines()
        )
        yield header, rows


def code_spans(text: str) -> list[str]:
    """What stands in backquotes."""
    return [span.strip() for _, span in re.findall(r"(`+)(.+?)\1(?!`)", text)]


def masked(output: str) -> str:
    """Output without what differs from run to run: timings, and blanks at the ends of lines.

    Nor with the size of circuits, which every change to their parts changes.
    """
    output = _VERILOG.sub("0 bytes of Verilog", _SECONDS.sub("0.00 s", output))
    lines = (line.rstrip() for line in output.strip().splitlines())
    return "\n".join(lines)


class PageRunner:
    """Runs the blocks of one page, in order, in one folder and one Python session.

    `wrong` collects what the page shows and what came instead.
    """

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict[str, Any] = {}
        self.exit_code = 0
        self.wrong: list[str] = []

    def run(self) -> list[str]:
        """Run everything; what is wrong, one string each."""
        found = blocks(self.page)
        for block, following in zip(found, [*found[1:], None], strict=True):
            if block.file:
                (self.folder / block.file).write_text(block.text, encoding="utf-8")
            elif block.info == "console":
                self._console(block)
            elif block.info == "python":
                shown = following.text if following and following.info == "text" else ""
                self._compare(block, "the Python block", shown, self._python(block))
        if self.exit_code:
            self.wrong.append(f"{self.page.name}: the last command failed without `echo $?`")
        return self.wrong

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):
            exec(compile(block.text, f"{self.page.name}:{block.line}", "exec"), self.names)
        return printed.getvalue()

    def _console(self, block: Block) -> None:
        for session in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, shown = session.partition("\n")
            if command == "echo $?":
                self._compare(block, "the exit code", shown, str(self.exit_code))
                self.exit_code = 0
                continue
            if self.exit_code:
                self.wrong.append(f"{self.page.name}:{block.line}: before `{command}` one failed")
            if command == "make run":
                output = "".join(self._shell(line, ROOT) for line in recipe("run"))
            else:
                assert command.startswith(COMMANDS), f"{command!r} is not one of {COMMANDS}"
                output = self._shell(command, self.folder)
            self._compare(block, f"`{command}`", shown, output)

    def _shell(self, command: str, folder: Path) -> str:
        """The command's standard output, then its standard error."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        plain = {"COLUMNS": "200", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env={**os.environ, **plain, "PATH": path},
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        self.exit_code = done.returncode
        return done.stdout + done.stderr

    def _compare(self, block: Block, what: str, shown: str, came: str) -> None:
        if masked(shown) != masked(came):
            self.wrong.append(
                f"{self.page.name}:{block.line}: {what} is shown to print\n{shown}\n"
                f"but prints\n{came}"
            )


def recipe(target: str) -> list[str]:
    """The commands of a Makefile target, without what sets up their environment."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert found, f"the Makefile has no target {target}"
    return [line.strip().removeprefix("@$(IN_VENV) ") for line in found[1].splitlines()]


def make_targets() -> set[str]:
    """The targets that the Makefile offers."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
