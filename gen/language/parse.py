"""From text to sqlglot's syntax tree, with errors that point at the place."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.gen.errors import QueryError
from penstock.gen.language.literals import QUOTED
from penstock.gen.language.source import Source
from penstock.gen.types import TYPE_NAMES

MAX_NESTING = 100
MAX_TEXT = 64 * 1024 * 1024
_SPARK = Dialect.get_or_raise("spark")
_WITHOUT_PLACE = {TokenType.TRUE, TokenType.FALSE, TokenType.NULL}
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_NESTING_TYPES = {TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT}
_BETWEEN_OPERANDS = {
    TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE,
    TokenType.NULLSAFE_EQ, TokenType.SLASH, TokenType.MOD, TokenType.AND, TokenType.OR,
    TokenType.COMMA,
}  # fmt: skip
_FOREIGN = {
    TokenType.FARROW, TokenType.ARROW, TokenType.DARROW, TokenType.DAMP, TokenType.AMP,
    TokenType.DPIPE, TokenType.PIPE, TokenType.CARET, TokenType.TILDE, TokenType.HASH,
    TokenType.PARAMETER, TokenType.PLACEHOLDER, TokenType.COLON, TokenType.BACKSLASH,
    TokenType.L_BRACE, TokenType.L_BRACKET, TokenType.CURRENT_DATE, TokenType.CURRENT_TIME,
    TokenType.CURRENT_TIMESTAMP, TokenType.CURRENT_USER, TokenType.LOCALTIME,
    TokenType.LOCALTIMESTAMP, TokenType.ISNULL, TokenType.NOTNULL,
}  # fmt: skip
_RUN_TOGETHER = re.compile(r"e[+-]?\d+[+-]", re.IGNORECASE)
_UNREADABLE_AT = re.compile(r"(Missing|Numeric).* from \d+:(\d+)", re.DOTALL)
_QUOTE = re.compile("['\"`]")
_IN_COMMENT = re.compile(r"/\*|\*/")
_BESIDE_COMMENTS = re.compile(QUOTED.pattern + r"|`[^`]*`|--[^\n]*|/\*", re.DOTALL)
_FORM = "conditions are predicates joined by AND, OR and NOT"
_BOTH_SIDES = "operators and commas need a value or an attribute on both sides"
SUPPORTED = (
    "comparisons, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT, CAST and + - * / % DIV on constants, "
    "weight(predicate, n)"
)


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
    except TokenError as error:
        raise _unreadable(source, error) from None


@lru_cache(maxsize=65_536)
def is_plain_word(name: str) -> bool:
    """Whether a name needs no backquotes: it is one word, and none that SQL knows."""
    if not (name.isascii() and name.isidentifier()):
        return False
    if name.upper() in _SPARK.parser_class.NO_PAREN_FUNCTION_PARSERS:
        return False
    (token,) = _SPARK.tokenize(name)
    return bool(token.token_type == TokenType.VAR)


def _unreadable(source: Source, error: TokenError) -> QueryError:
    """The error for a quote or comment that is never closed, or for odd digits."""
    found = _UNREADABLE_AT.fullmatch(str(error.__context__))
    start = int(found[2]) if found else _open_comment(source.text)
    if found and found[1] == "Numeric":
        quoted = QUOTED.search(source.text, start)
        stop = quoted.end() if quoted else start + 1
        return source.problem("this is not a hexadecimal number", start, stop)
    quote = _QUOTE.search(source.text, start) if found else None
    if quote:
        return source.problem(
            "this quote is never closed", quote.start(), quote.end(), f"close it with {quote[0]}"
        )
    return source.problem("this comment is never closed", start, start + 2, "close it with */")


def _open_comment(text: str) -> int:
    """Where the comment starts that the text never closes; comments nest."""
    opened: list[int] = []
    position = 0
    while found := (_IN_COMMENT if opened else _BESIDE_COMMENTS).search(text, position):
        position = found.end()
        if found[0] == "/*":
            opened.append(found.start())
        elif found[0] == "*/":
            opened.pop()
    return opened[0] if opened else max(0, len(text) - 1)


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
    _check_tokens(source, tokens)
    try:
        parser = _SPARK.parser(error_level=ErrorLevel.IMMEDIATE)
        (tree,) = parser.parse_into(exp.Condition, tokens, source.text)
    except ParseError as error:
        raise _located(source, tokens, error) from None
    except RecursionError:
        raise _too_deep(source, tokens[0]) from None
    if tree is None:  # as for a plus sign alone
        last = tokens[-1]
        raise source.problem("a condition is missing here", last.start, last.end + 1, _FORM)
    _place_keywords(tree, tokens)
    return tree


def _check_tokens(source: Source, tokens: list[Token]) -> None:
    """Refuse what can stand nowhere, and operators that have nothing before them."""
    before = TokenType.L_PAREN
    in_type = False
    for token in tokens:
        kind = token.token_type
        problem = hint = None
        if kind == TokenType.SEMICOLON:
            problem = "only one condition can stand here"
        elif kind == TokenType.NUMBER and _RUN_TOGETHER.search(token.text):
            problem = f"{token.text!r} is read as one number"
            hint = "write spaces around + and - after an exponent"
        elif kind in _FOREIGN:
            problem = f"{token.text!r} is not supported"
            hint = f"supported: {SUPPORTED}"
        elif _lacks_left(kind, before) and not (before == TokenType.GT and in_type):
            problem = f"something is missing before {token.text!r}"
            hint = _BOTH_SIDES
        if problem:
            raise source.problem(problem, token.start, token.end + 1, hint)
        in_type = in_type or kind in _NESTING_TYPES  # ARRAY<INT>) is refused as a type
        before = kind


def _lacks_left(kind: TokenType, before: TokenType) -> bool:
    if kind == TokenType.R_PAREN:
        return before in _BETWEEN_OPERANDS
    return kind in _BETWEEN_OPERANDS and (
        before in _BETWEEN_OPERANDS or before in (TokenType.L_PAREN, TokenType.NOT)
    )


def _place_keywords(tree: Any, tokens: list[Token]) -> None:
    """Give TRUE, FALSE and NULL their places, and the tree that of all tokens."""
    keywords = [token for token in tokens if token.token_type in _WITHOUT_PLACE]
    nodes = (
        [node for node in tree.dfs() if isinstance(node, exp.Boolean | exp.Null)]
        if keywords
        else []
    )
    if len(nodes) == len(keywords):  # UNKNOWN is a NULL that is written otherwise
        for node, token in zip(nodes, keywords, strict=True):
            node.update_positions(token)
    if "start" not in tree.meta:
        tree.update_positions(start=tokens[0].start, end=tokens[-1].end)


def _located(source: Source, tokens: list[Token], error: ParseError) -> QueryError:
    found = error.errors[0]
    description = str(found["description"])
    token = _token_at(tokens, found["line"], found["col"])
    shown = source.text[token.start : token.end + 1]
    words = description.split()
    hint: str | None
    message, hint = f"{shown!r} cannot stand here", _FORM
    if token.token_type == TokenType.CREATE:
        hint = "end the statement before it with ;"
    elif description.startswith("Required keyword"):
        message = f"something is missing after {shown!r}"
        hint = "write x BETWEEN 1 AND 2" if words[2] == "'high'" else _BOTH_SIDES
    elif description.startswith(("Expected TYPE", "Expected type")):
        message, hint = f"{shown!r} is not a type", f"the types are {TYPE_NAMES}"
    elif words[0] in ("Expected", "Expecting") and len(words) == 4:
        message, hint = f"{words[1]} is missing in this {words[3]}", f"supported: {SUPPORTED}"
    elif words[0] == "Expecting":
        # sqlglot names the token that is wrong, or at the end the last one.
        side = "after" if token is tokens[-1] else "before"
        message = f"{words[1]!r} is missing {side} {shown!r}"
        hint = "names of types such as `map` stand in backquotes" if words[1] == ">" else None
    return source.problem(message, token.start, token.end + 1, hint)


def _token_at(tokens: list[Token], line: int | None, column: int | None) -> Token:
    for token in tokens:
        if (token.line, token.col) == (line, column):
            return token
    return tokens[-1]


def _check_nesting(source: Source, tokens: list[Token]) -> None:
    """Refuse what would exhaust the stack, before anything recursive looks at it."""
    depth = prefixes = types = 0
    before = None
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        types += kind == TokenType.LT and before in _NESTING_TYPES  # as in ARRAY<ARRAY<INT>>
        if depth + prefixes + types > MAX_NESTING:
            raise _too_deep(source, token)
        before = kind


def _too_deep(source: Source, token: Token) -> QueryError:
    return source.problem(
        f"the condition is nested more than {MAX_NESTING} deep",
        token.start,
        token.end + 1,
        hint="chains of AND or of OR need no parentheses and may be as long as you like",
    )
