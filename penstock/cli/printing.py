"""Text from files and users on the terminal: as it is, never as markup or control codes."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

from rich.console import Console

from penstock.constraints.ecp5 import Part
from penstock.gen.estimate import Estimate

# Control characters, invisible ones that reorder what is shown, halves of characters, and
# separators that some terminals take for the end of a line.
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would exit with code 1; `main` knows better


def console(*, stderr: bool = False) -> Console:
    """A console that prints what it is given; styles only where a style is asked for."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one line of JSON: on a terminal in ASCII, so that no character in it acts on that."""
    print(json.dumps(value, ensure_ascii=sys.stdout.isatty()))


def counted(number: int, noun: str, ending: str = "s") -> str:
    """``1 event``, ``2,000 events``."""
    return f"{number:,} {noun}{'' if number == 1 else ending}"


def estimate_line(estimate: Estimate, part: Part) -> str:
    """``estimate: 1,010 LUT4, 1.2 % of LFE5U-85F, and 1,590 flip-flops, 1.9 %``."""
    luts, flip_flops = estimate.luts / part.luts, estimate.flip_flops / part.flip_flops
    doubt = "; likely too large" if max(luts, flip_flops) > 1 else ""
    if estimate.left_out:
        doubt = f", without {' and '.join(estimate.left_out)}{doubt}"
    return (
        f"estimate: {estimate.luts:,} LUT4, {luts:.1%} of {part.name}, "
        f"and {estimate.flip_flops:,} flip-flops, {flip_flops:.1%}{doubt}"
    )


def visible(text: str, *, keep: str = "\n\t") -> str:
    """The text with one visible character for each that a terminal would act on."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep else _picture(c) for c in text)


def _picture(character: str) -> str:
    if unicodedata.category(character) not in _UNSEEN:
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
