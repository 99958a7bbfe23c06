"""One statement of a file, read from left to right."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot.tokenizer_core import Token, TokenType

from penstock.gen.errors import Place, QueryError
from penstock.gen.language import literals
from penstock.gen.language.parse import tokens_of
from penstock.gen.language.source import Source


class Statement:
    """The tokens of a statement, and how far they have been read."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.position = 0

    @property
    def rest(self) -> list[Token]:
        """The tokens that have not been read."""
        return self.tokens[self.position :]

    def shown(self) -> str:
        """The next token as it stands in the text; empty at the end."""
        if self.position >= len(self.tokens):
            return ""
        token = self.tokens[self.position]
        return self.source.text[token.start : token.end + 1]

    def accept(self, word: str) -> bool:
        if self.shown().upper() != word:
            return False
        self.position += 1
        return True

    def expect(self, word: str, form: str) -> None:
        if not self.accept(word):
            raise self.unexpected(repr(word), form)

    def name(self, what: str, form: str) -> str:
        """An identifier, plain, in backquotes or in quotes."""
        shown = self.shown()
        if shown in ("", "``", "''", '""') or not (shown[0] in "`'\"_" or shown[0].isalpha()):
            raise self.unexpected(what, form)
        self.position += 1
        if shown[0] == "`":
            return shown[1:-1].replace("``", "`")
        return literals.string(shown) if shown[0] in "'\"" else shown

    def finish(self, form: str) -> None:
        if self.position < len(self.tokens):
            hint = f"write {form}; and end each statement with ;"
            raise self.problem(self.position, f"{self.shown()!r} cannot stand here", hint)

    def unexpected(self, wanted: str, form: str) -> QueryError:
        found = repr(self.shown()) if self.shown() else "the end of the statement"
        return self.problem(self.position, f"expected {wanted}, not {found}", hint=f"write {form}")

    def problem(
        self, position: int, message: str, hint: str | None = None, last: int | None = None
    ) -> QueryError:
        """An error about the token at a position, or about those up to ``last``."""
        start, stop = self.span(position)
        if last is not None:
            stop = self.span(last)[1]
        return self.source.problem(message, start, stop, hint)

    def place(self, position: int) -> Place:
        """The place of the token at a position."""
        return self.source.place(*self.span(position))

    def span(self, position: int) -> tuple[int, int]:
        """Where a token starts and stops; past the last one, the end of that."""
        if position < len(self.tokens):
            return self.tokens[position].start, self.tokens[position].end + 1
        return self.tokens[-1].end, self.tokens[-1].end + 1


def statements_of(source: Source) -> Iterator[Statement]:
    """The statements of a file, ``;`` between them; QueryError if it is not even tokens."""
    statement: list[Token] = []
    for token in tokens_of(source):
        if token.token_type != TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield Statement(source, statement)
            statement = []
    if statement:
        yield Statement(source, statement)
