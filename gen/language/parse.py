"""From text to sqlglot's syntax tree, with errors that point at the place."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.gen.errors import QueryError
from penstock.gen.language.literals import QUOTED
from penstock.gen.language.source import Source

MAX_NESTING = 100
MAX_TEXT = 64 * 1024 * 1024
_SPARK = Dialect.get_or_raise("spark")
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_RUN_TOGETHER = re.compile(r"e[+-]?\d+[+-]", re.IGNORECASE)
_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>")


def tokens_of(source: Source) -> list[Token]:
    """The tokens of a text."""
    if len(source.text) > MAX_TEXT:
        raise source.problem(
            f"the text has {len(source.text):,} characters; at most {MAX_TEXT:,} are read",
            0,
            1,
            hint="load large query sets as a Parquet table of id and text, or of predicates",
        )
    try:
        return _join_strings(_SPARK.tokenize(source.text))
    except TokenError:
        start = _unclosed(source.text)
        opening = source.text[start : start + 2]
        what = "comment" if opening == "/*" else "quote"
        raise source.problem(
            f"this {what} is never closed",
            start,
            start + (2 if what == "comment" else 1),
            hint="close it with " + ("*/" if what == "comment" else opening[:1]),
        ) from None


def _join_strings(tokens: list[Token]) -> list[Token]:
    """String literals side by side as one token that keeps the place of all of them."""
    joined: list[Token] = []
    for token in tokens:
        before = joined[-1] if joined else None
        if before and before.token_type == token.token_type == TokenType.STRING:
            joined[-1] = Token(
                TokenType.STRING, before.text, before.line, before.col, before.start, token.end
            )
        else:
            joined.append(token)
    return joined


def parse_condition(source: Source, tokens: list[Token]) -> Any:
    """The syntax tree of a condition, which must be all of the tokens."""
    if not tokens:
        end = len(source.text)
        raise source.problem("a condition is missing here", end, end + 1, hint="write WHERE TRUE")
    _check_nesting(source, tokens)
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise source.problem("only one condition can stand here", token.start, token.end + 1)
        if token.token_type == TokenType.NUMBER and _RUN_TOGETHER.search(token.text):
            raise source.problem(
                f"{token.text!r} is read as one number",
                token.start,
                token.end + 1,
                hint="write spaces around + and - after an exponent",
            )
    try:
        parser = _SPARK.parser(error_level=ErrorLevel.IMMEDIATE)
        (tree,) = parser.parse_into(exp.Condition, tokens, source.text)
    except ParseError as error:
        raise _located(source, tokens, error) from None
    except RecursionError:
        raise _too_deep(source, tokens[0]) from None
    return tree


def _located(source: Source, tokens: list[Token], error: ParseError) -> QueryError:
    found = error.errors[0]
    description = str(found["description"])
    token = _token_at(tokens, found["line"], found["col"])
    shown = source.text[token.start : token.end + 1]
    if _MISSING.match(description):
        return source.problem(
            f"something is missing after {shown!r}",
            token.start,
            token.end + 1,
            hint="a comparison needs a value or an attribute on both sides",
        )
    if description.startswith("Expecting"):
        wanted = description.split()[1]
        return source.problem(f"{wanted!r} is expected after {shown!r}", token.start, token.end + 1)
    return source.problem(
        f"{shown!r} cannot stand here",
        token.start,
        token.end + 1,
        hint="conditions are predicates joined by AND, OR and NOT",
    )


def _token_at(tokens: list[Token], line: int | None, column: int | None) -> Token:
    for token in tokens:
        if (token.line, token.col) == (line, column):
            return token
    return tokens[-1]


def _check_nesting(source: Source, tokens: list[Token]) -> None:
    """Refuse what would exhaust the stack, before anything recursive looks at it."""
    depth = prefixes = 0
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if depth + prefixes > MAX_NESTING:
            raise _too_deep(source, token)


def _too_deep(source: Source, token: Token) -> QueryError:
    return source.problem(
        f"the condition is nested more than {MAX_NESTING} deep",
        token.start,
        token.end + 1,
        hint="chains of AND or of OR need no parentheses and may be as long as you like",
    )


def _unclosed(text: str) -> int:
    """Where the quote or comment starts that the text never closes."""
    closed = re.compile(QUOTED.pattern + r"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^'\"`]", re.DOTALL)
    position = 0
    while position < len(text):
        if text.startswith("/*", position) and "*/" not in text[position:]:
            return position
        found = closed.match(text, position)
        if not found:
            return position
        position = found.end()
    return max(0, len(text) - 1)
