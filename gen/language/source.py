"""Named source text, and problems that point into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.gen.errors import Place, Problem, QueryError, place_at


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name under which errors speak of it, such as its file."""

    name: str
    text: str

    def problem(self, message: str, start: int, stop: int, hint: str | None = None) -> QueryError:
        """An error about ``text[start:stop]``, ready to be raised."""
        return QueryError(Problem(message, self.place(start, stop), hint))

    def place(self, start: int, stop: int) -> Place:
        """The place of ``text[start:stop]``."""
        return place_at(self.name, self.text, start, stop)

    def problem_at(self, node: Any, message: str, hint: str | None = None) -> QueryError:
        """An error about the text that a sqlglot node came from."""
        start, stop = span_of(node)
        return self.problem(message, start, stop, hint)

    def text_of(self, node: Any) -> str:
        """The text that a sqlglot node came from."""
        start, stop = span_of(node)
        return self.text[start:stop]


def span_of(node: Any) -> tuple[int, int]:
    """Where a sqlglot node's text starts and stops; nodes without a place take their parent's."""
    while node is not None:
        places = [part.meta for part in node.walk() if "start" in part.meta]
        if places:
            return min(m["start"] for m in places), max(m["end"] for m in places) + 1
        node = node.parent
    return 0, 1
