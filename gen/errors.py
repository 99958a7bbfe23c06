"""What can go wrong, told so that the reader can mend it.

A `Problem` says what is wrong, where, and what would work. `QueryError` carries one or
many of them: one bad subscription does not hide the others.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NAMES_SHOWN = 8
LINE_SHOWN = 120
"""How much of a long line is shown to either side of the place."""


class PenstockError(Exception):
    """Base of every error that the user of Penstock can mend."""


class DataError(PenstockError):
    """Events, tables or saved files that do not fit the schema or the format."""


class DeviceError(PenstockError):
    """An engine that cannot be opened or that refuses what it is asked."""


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of source text: ``line`` and ``column`` count from 1, in characters."""

    source: str
    line: int
    column: int
    length: int
    text: str
    """The source line, for showing; of a long one the part around the place."""
    skipped: int = 0
    """How many characters of the line are left out before ``text``."""

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"

    def underlined(self) -> str:
        """The source line with the stretch marked below it."""
        start = self.column - 1 - self.skipped
        padding = "".join(_blank(character) for character in self.text[:start])
        marked = self.text[start : start + self.length]
        width = sum(len(_blank(character)) for character in marked)
        return f"  {self.text}\n  {padding}{'^' * max(1, width)}"


def _blank(character: str) -> str:
    """What takes as much room as the character on a line of its own."""
    if character == "\t":
        return "\t"
    if unicodedata.combining(character):
        return ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "


def place_at(source: str, text: str, start: int, stop: int, line: int | None = None) -> Place:
    """The place of ``text[start:stop]``; ``source`` names the text.

    ``line`` is the number of the line, for callers that know it; it is counted otherwise.
    """
    start = min(max(start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_stop = text.find("\n", start)
    line_stop = len(text) if line_stop < 0 else line_stop
    first = max(line_start, start - LINE_SHOWN)
    return Place(
        source=source,
        line=text.count("\n", 0, start) + 1 if line is None else line,
        column=start - line_start + 1,
        length=max(1, stop - start),
        text=text[first : min(line_stop, start + LINE_SHOWN)].rstrip("\r"),
        skipped=first - line_start,
    )


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: what, where and what would work."""

    message: str
    place: Place | None = None
    hint: str | None = None
    subscription: str | None = None

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        of = f"subscription {self.subscription!r}: " if self.subscription is not None else ""
        lines = [f"{where}{of}{self.message}"]
        if self.place:
            lines.append(self.place.underlined())
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class QueryError(PenstockError):
    """Query text that cannot be loaded; ``problems`` lists everything found."""

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (
            (problems,) if isinstance(problems, Problem) else tuple(problems)
        )
        assert self.problems, "a QueryError needs a problem"
        super().__init__("\n".join(str(problem) for problem in self.problems))


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names what the user may have meant, then some of what there is."""
    names = list(known)
    if not names:
        return "there are none"
    folded = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), list(folded), n=3, cutoff=0.6)
    if close:
        meant = " or ".join(repr(folded[candidate]) for candidate in close)
        return f"did you mean {meant}? known: {listed(names)}"
    return f"known: {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """The first of the names, and how many there are if these are not all."""
    more = f", ... ({len(names)} in all)" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more
