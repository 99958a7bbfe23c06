"""Query files: CREATE STREAM and CREATE SUBSCRIPTION statements.

CREATE STREAM trades (symbol STRING, price DECIMAL(10,2));
CREATE SUBSCRIPTION cheap ON trades WEIGHT 5 WHERE price < 10;
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token, TokenType

from penstock.gen.errors import Problem, QueryError, nearest, place_at
from penstock.gen.expr import MAX_WEIGHT, Subscription
from penstock.gen.language import literals
from penstock.gen.language.bind import bind
from penstock.gen.language.parse import parse_condition, tokens_of
from penstock.gen.language.source import Source
from penstock.gen.schema import Schema
from penstock.gen.types import TYPE_NAMES, Type, parse_type

STREAM_FORM = "CREATE STREAM name (attribute TYPE, ...)"
SUBSCRIPTION_FORM = "CREATE SUBSCRIPTION id ON stream [WEIGHT n] WHERE condition"
SAME_NAME = "names that differ only in case are the same"
ID_FORM = f"{SUBSCRIPTION_FORM}, with quotes around an id that is not a plain word"


@dataclass(slots=True)
class Script:
    """What a query file declares; ``problems`` is everything wrong with it."""

    streams: dict[str, Schema] = field(default_factory=dict)
    subscriptions: dict[str, dict[str, Subscription]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """Streams whose declaration is wrong, in lower case: what is said about them is not known."""


def parse_subscription(
    id: str, text: str, schema: Schema, name: str, weight: int = 0
) -> Subscription:
    """A subscription from its condition's text; ``name`` is how errors call the text."""
    source = Source(name, text)
    condition = bind(parse_condition(source, tokens_of(source)), schema, source)
    return Subscription(id, condition, weight, place_at(name, text, 0, len(text)))


def parse_schema(text: str, name: str = "<schema>") -> Schema:
    """The schema of one CREATE STREAM statement."""
    script = parse_script(text, name)
    if script.problems:
        raise QueryError(script.problems)
    if len(script.streams) != 1 or any(script.subscriptions.values()):
        raise QueryError(Problem(f"{name}: one CREATE STREAM statement is expected here"))
    return next(iter(script.streams.values()))


def parse_script(text: str, name: str) -> Script:
    """All statements of a query file. Problems are collected, not raised."""
    source = Source(name, text)
    script = Script()
    try:
        tokens = tokens_of(source)
    except QueryError as error:
        script.problems.extend(error.problems)
        return script
    for statement in _statements(tokens):
        try:
            _Statement(source, statement).run(script)
        except QueryError as error:
            script.problems.extend(error.problems)
    return script


def _statements(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


class _Statement:
    """One statement, read from left to right."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.position = 0

    def run(self, script: Script) -> None:
        self.expect("CREATE", f"{STREAM_FORM} or {SUBSCRIPTION_FORM}")
        if self.accept("STREAM"):
            self.stream(script)
        elif self.accept("SUBSCRIPTION"):
            self.subscription(script)
        else:
            raise self.unexpected("STREAM or SUBSCRIPTION", f"{STREAM_FORM} or {SUBSCRIPTION_FORM}")

    def stream(self, script: Script) -> None:
        start = self.position
        name = self.name("the stream's name", STREAM_FORM)
        if name.lower() in (known.lower() for known in script.streams):
            raise self.problem(start, f"stream {name!r} is declared twice", hint=SAME_NAME)
        script.broken.add(name.lower())
        self.expect("(", STREAM_FORM)
        attributes: dict[str, Type] = {}
        seen: set[str] = set()
        while True:
            at = self.position
            attribute = self.name("an attribute's name", STREAM_FORM)
            if attribute.lower() in seen:
                raise self.problem(
                    at,
                    f"attribute {attribute!r} is declared twice",
                    hint=SAME_NAME,
                )
            seen.add(attribute.lower())
            attributes[attribute] = self.type()
            if self.accept(")"):
                break
            if not self.accept(","):
                raise self.unexpected("',' or ')'", STREAM_FORM)
        self.finish(STREAM_FORM)
        script.broken.discard(name.lower())
        script.streams[name] = Schema.of(attributes, stream=name)
        script.subscriptions[name] = {}

    def type(self) -> Type:
        start = self.position
        spelled = self.name("a type", f"one of {TYPE_NAMES}")
        if self.shown() == "(":
            while self.position < len(self.tokens) and not spelled.endswith(")"):
                spelled += self.shown()
                self.position += 1
        try:
            of = parse_type(spelled)
        except ValueError as error:
            raise self.problem(start, str(error), last=self.position - 1) from None
        if self.shown().upper() == "NOT":
            raise self.problem(
                self.position,
                "every attribute may be absent, so there is no NOT NULL",
                hint="test for it in the subscriptions: attribute IS NOT NULL",
                last=self.position + 1,
            )
        return of

    def subscription(self, script: Script) -> None:
        start = self.position
        id = self.name("the subscription's id", ID_FORM)
        try:
            self.expect("ON", ID_FORM)
            stream_at = self.position
            stream = self.name("a stream", SUBSCRIPTION_FORM)
            if stream.lower() in script.broken:
                return
            schema = self.known_stream(stream, script, stream_at)
            declared = script.subscriptions[schema.stream]
            if id in declared:
                hint = f"the first one is at {declared[id].place}"
                raise self.problem(start, "this id is declared twice", hint)
            weight = self.weight() if self.accept("WEIGHT") else 0
            self.expect("WHERE", SUBSCRIPTION_FORM)
            if self.position == len(self.tokens):
                raise self.problem(
                    self.position, "a condition is missing after WHERE", hint="write WHERE TRUE"
                )
            tree = parse_condition(self.source, self.tokens[self.position :])
            condition = bind(tree, schema, self.source)
            declared[id] = Subscription(id, condition, weight, self.source.place(*self.span(start)))
        except QueryError as error:
            raise QueryError(
                [Problem(p.message, p.place, p.hint, subscription=id) for p in error.problems]
            ) from None

    def known_stream(self, name: str, script: Script, at: int) -> Schema:
        for stream, schema in script.streams.items():
            if stream.lower() == name.lower():
                return schema
        hint = nearest(name, script.streams) if script.streams else f"declare it: {STREAM_FORM}"
        raise self.problem(at, f"unknown stream {name!r}", hint=hint)

    def weight(self) -> int:
        text = self.shown()
        if not text.isdecimal() or int(text) > MAX_WEIGHT:
            raise self.problem(
                self.position,
                f"a weight is a whole number from 0 to {MAX_WEIGHT}",
                last=self.position + (text == "-"),
            )
        self.position += 1
        return int(text)

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

    def span(self, position: int) -> tuple[int, int]:
        """Where a token starts and stops; past the last one, the end of that."""
        if position < len(self.tokens):
            return self.tokens[position].start, self.tokens[position].end + 1
        return self.tokens[-1].end, self.tokens[-1].end + 1
