"""Prove everything and print a line per claim. Exit code 1 if something is not proved."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from penstock.gen.errors import DeviceError
from penstock.sim.proofs.claims import CLAIMS
from penstock.sim.proofs.run import Claim, Outcome, Result, prove

TRACES = Path("build", "proofs")
"""Where counterexamples are left."""


def line(result: Result, name_width: int) -> str:
    """A result on one line, and on the next what broke it."""
    claim = result.claim
    text = f"{result.outcome.value:<10}  {claim.name:<{name_width}}  {claim.method:<19}"
    text += f"{result.seconds:6.1f} s  {claim.says}"
    if result.outcome is Outcome.PROVED:
        return text
    trace = f"; see {result.trace}" if result.trace else ""
    return f"{text}\n    {result.broken or 'the tools do not say what'}{trace}"


def prove_all(claims: Sequence[Claim], traces: Path) -> bool:
    """Prove the claims, as many at once as there are cores; whether all hold."""
    started = time.monotonic()
    name_width = max(len(claim.name) for claim in claims)
    shows_progress = sys.stderr.isatty()
    proved = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, result in enumerate(pool.map(lambda claim: prove(claim, traces), claims), 1):
            print(line(result, name_width), flush=True)
            proved += result.is_proved
            if shows_progress:
                print(f"{done} of {len(claims)}", end="\r", file=sys.stderr, flush=True)
    seconds = time.monotonic() - started
    print(f"{proved} of {len(claims)} claims proved in {seconds:.0f} s")
    return proved == len(claims)


def main() -> int:
    try:
        return 0 if prove_all(CLAIMS, TRACES) else 1
    except DeviceError as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
