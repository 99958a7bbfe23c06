"""Named source text, and problems that point into it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from penstock.gen.errors import Place, Problem, QueryError, place_at
from penstock.gen.language.literals import QUOTED

# What stands before and after the parts of a node, for nodes that know no place of their own.
_CAST = r"\b(?:TRY_)?CAST\s*\(\s*|\b(?:DATE|TIMESTAMP\w*)\s*"
_BEFORE = {
    exp.Paren: r"\(\s*",
    exp.Tuple: r"\(\s*",
    exp.Subquery: r"\(\s*",
    exp.Select: r"\bSELECT\s+",
    exp.Any: r"\b(?:ANY|SOME)\s*",
    exp.Exists: r"\bEXISTS\s*\(\s*",
    exp.Cast: _CAST,
    exp.TryCast: _CAST,
    exp.Neg: r"-\s*",
    exp.Not: r"\bNOT\s*|!\s*",
    exp.Case: r"\bCASE\s+",
    exp.If: r"\b(?:IF\s*\(|WHEN)\s*",
    exp.Interval: r"\bINTERVAL\s*",
}
_AFTER = {
    exp.Cast: r"\s*::\s*\w+(?:\s*\([\d\s,]*\))?",
    exp.TryCast: r"\s*::\s*\w+(?:\s*\([\d\s,]*\))?",
    exp.Case: r"\s*END\b",
    exp.Interval: r"\s*\w+",
    exp.In: r"\s+(?:NOT\s+)?IN\b(?:\s*\(\s*\))?",
    exp.Like: r"\s+(?:ANY|ALL|SOME)\b",
}
_BRACKETS = re.compile(QUOTED.pattern + r"|`[^`]*`|[();]", re.DOTALL)
_LOOK_BACK = 40


@dataclass(frozen=True)
class Source:
    """A text and the name under which errors speak of it, such as its file."""

    name: str
    text: str

    def problem(self, message: str, start: int, stop: int, hint: str | None = None) -> QueryError:
        """An error about ``text[start:stop]``, ready to be raised."""
        return QueryError(Problem(message, self.place(start, stop), hint))

    def place(self, start: int, stop: int) -> Place:
        """The place of ``text[start:stop]``."""
        line = bisect_right(self._line_starts, start)
        return place_at(self.name, self.text, start, stop, line)

    def problem_at(self, node: Any, message: str, hint: str | None = None) -> QueryError:
        """An error about the text that a sqlglot node came from."""
        start, stop = self.span_of(node)
        return self.problem(message, start, stop, hint)

    def text_of(self, node: Any) -> str:
        """The text that a sqlglot node came from."""
        start, stop = self.span_of(node)
        return self.text[start:stop]

    def span_of(self, node: Any) -> tuple[int, int]:
        """Where a sqlglot node's text starts and stops; one without a place takes its parent's."""
        if isinstance(node, exp.Literal) and "start" in node.meta:  # the usual case
            return node.meta["start"], node.meta["end"] + 1
        while node is not None:
            spans: dict[int, tuple[int, int]] = {}
            for part in reversed(list(node.walk())):  # children before their parents
                places = [spans[id(c)] for c in part.iter_expressions() if id(c) in spans]
                if "start" in part.meta:
                    places.append((part.meta["start"], part.meta["end"] + 1))
                if places:
                    start, stop = min(p[0] for p in places), max(p[1] for p in places)
                    spans[id(part)] = _whole(self.text, part, start, stop)
            if id(node) in spans:
                return spans[id(node)]
            node = node.parent
        return 0, 1

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]


def _whole(text: str, node: Any, start: int, stop: int) -> tuple[int, int]:
    """The span with the words and brackets around a node's parts that are its own."""
    before, after = _BEFORE.get(type(node)), _AFTER.get(type(node))
    if isinstance(node, exp.Func) and node.meta.get("end") == stop - 1:
        after = r"\s*\(\s*\)"
    if before and "start" not in node.meta:
        head = text[max(0, start - _LOOK_BACK) : start]
        found = re.search(f"(?:{before})$", head, re.IGNORECASE)
        start -= len(found[0]) if found else 0
    if after and (found := re.compile(after, re.IGNORECASE).match(text, stop)):
        return start, found.end()
    if type(node) in _BEFORE or isinstance(node, exp.Func | exp.In):
        stop = _closed(text, start, stop)
    return start, stop


def _closed(text: str, start: int, stop: int) -> int:
    """Where the brackets are closed that are opened in ``text[start:stop]``."""
    depth = 0
    for piece in _BRACKETS.finditer(text, start):
        if piece.start() >= stop and (depth <= 0 or piece[0] == ";"):
            break
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece.start() >= stop and depth == 0:
            return piece.end()
    return stop
