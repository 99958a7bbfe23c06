"""The command ``penstock``.

Exit codes: 0 done, 1 something the user can mend, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from penstock.cli import build, check, explain, generate, match, why
from penstock.cli.printing import console, visible
from penstock.gen.errors import PenstockError

COMMANDS = {
    "check": check,
    "match": match,
    "why": why,
    "explain": explain,
    "build": build,
    "generate": generate,
}


def parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    root = argparse.ArgumentParser(
        prog="penstock",
        description="Test every event of a stream against many standing queries at once.",
    )
    root.add_argument("--version", action="version", version=_version())
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").strip().splitlines()[0]
        command = commands.add_parser(name, help=summary, description=summary)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    _print_anything()
    arguments = parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except (PenstockError, ValueError) as error:
        _complain(str(error))
    except KeyError as error:
        _complain(str(error.args[0]))
    except KeyboardInterrupt:
        _complain("stopped")
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _give_up_stdout()
        return 0
    except OSError as error:
        _give_up_stdout()
        _complain(str(error))
    return 1


def _print_anything() -> None:
    """Write what the terminal's encoding lacks as an escape, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _complain(message: str) -> None:
    err = console(stderr=True)
    err.print("penstock:", style="bold red", end=" ")
    err.print(visible(message))


def _give_up_stdout() -> None:
    """What is left in the buffer goes nowhere, so that Python does not fail on it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _version() -> str:
    import penstock

    return f"penstock {penstock.__version__}"


if __name__ == "__main__":
    sys.exit(main())
