"""Random schemas, condition texts and events, made to collide.

Texts are written as SQL, not printed from our own nodes, so that the language is tested
too. Events lie on, next to and far from the constants in the texts.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

from hypothesis import strategies as st
from sql_texts import Pools, conditions

from penstock.gen.errors import QueryError
from penstock.gen.expr import Expression
from penstock.gen.language.script import parse_subscription
from penstock.gen.normal import Test, leaves_of
from penstock.gen.normalise import normalise
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import DATE, FLOAT, STRING, TIMESTAMP, Key, Type, Value, parse_type

NAN, INFINITY = float("nan"), float("inf")
MICROSECONDS_PER_DAY = 86_400_000_000
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
TYPES = [
    parse_type(text)
    for text in (
        "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL(38,0)", "DECIMAL(38,37)",
        "DECIMAL(10,2)", "DECIMAL(20,10)", "DECIMAL(1,1)", "FLOAT", "DOUBLE", "STRING", "DATE",
        "TIMESTAMP",
    )
]  # fmt: skip
# Plain words, words that SQL knows as something else, and names that need backquotes.
NAMES = [
    "a", "b", "Price", "qty", "date", "timestamp", "end", "order", "value", "day", "year", "user",
    "left", "my col", "x`y", "gr\u00fc\u00df", "_1", "1st", "true col", "select",
]  # fmt: skip

NUMBERS: list[Decimal | float] = [
    *(Decimal(n) for n in (0, 1, -1, 2, 3, 5, 10, 100, 127, 128, -128, -129, 255, 32767, -32768)),
    *(Decimal(n) for n in (32768, 2**24 + 1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1)),
    *(Decimal(n) for n in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**19, 10**37, 10**38 - 1)),
    *map(Decimal, ("0.1", "0.01", "0.005", "0.015", "0.5", "1.5", "2.5", "-0.5", "9.99", "-0.05")),
    *map(Decimal, ("99999999.99", "99999999.995", "1.0000000000000000000000000000000000001")),
    *map(Decimal, ("0.9", "0.95", "1e-7", "0.3333333333333333", "123456789012.3456789012")),
    *map(Decimal, ("16777217.5", "1.1", "0.30000000000000004", "1e-37", "3.4028235e38")),
    *map(Decimal, ("1e300", "5e-324", "1.401298464324817e-45", "1.7976931348623157e308")),
    NAN, INFINITY, -INFINITY, -0.0, 0.0,
]  # fmt: skip
STRINGS = [
    "", "a", "A", "ab", "abc", "b", "a\0", "\0", "a%", "%", "a_b", "_", "a\\", "\\", "it's", '"',
    "\u00e9", "e\u0301", "stra\u00dfe", "\ud7ff", "\ue000", "\uffff", "\U0001f600", "\U0010ffff",
    " a", "a ", "\n", "a\nb", "10", "true", "2024-01-31", "1", "NULL",
]  # fmt: skip
INSTANTS = [
    0, 1, -1, 86_399_999_999, MICROSECONDS_PER_DAY, -MICROSECONDS_PER_DAY,
    1_706_704_200_500_000, 1_706_704_200_500_001, 1_706_659_200_000_000,  # around 2024-01-31
    1_709_164_800_000_000, -2_208_988_800_000_000,  # 2024-02-29 and 1900-01-01
    FIRST_DAY * MICROSECONDS_PER_DAY, (LAST_DAY + 1) * MICROSECONDS_PER_DAY - 1,
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One schema, texts over it, and events as values by attribute index."""

    schema: Schema
    texts: tuple[str, ...]
    events: tuple[dict[int, Value], ...]


def schemas(max_size: int = 6) -> st.SearchStrategy[Schema]:
    """Schemas over all types; names that differ also without their case."""
    columns = st.tuples(st.sampled_from(NAMES), st.sampled_from(TYPES))
    return st.lists(columns, min_size=1, max_size=max_size, unique_by=lambda c: c[0].lower()).map(
        Schema.of
    )


def pools() -> st.SearchStrategy[Pools]:
    """The few values that texts and events of one case are made around."""
    whole = st.integers(-(10**6), 10**6).map(Decimal)
    fraction = st.decimals(-1000, 1000, places=3, allow_nan=False)
    instants = st.integers(
        FIRST_DAY * MICROSECONDS_PER_DAY, (LAST_DAY + 1) * MICROSECONDS_PER_DAY - 1
    )
    return st.builds(
        Pools,
        st.lists(st.sampled_from(NUMBERS) | whole | fraction, min_size=3, max_size=6),
        st.lists(st.sampled_from(INSTANTS) | instants, min_size=2, max_size=4),
        st.lists(st.sampled_from(STRINGS) | st.text(max_size=4), min_size=2, max_size=4),
    )


@st.composite
def cases(draw: st.DrawFn, texts: int = 15, events: int = 20) -> Case:
    """A schema, up to so many texts over it, and so many events around their constants."""
    schema = draw(schemas())
    around = draw(pools())
    drawn = draw(st.lists(conditions(schema, around), min_size=texts, max_size=texts))
    candidates = [_candidates(attribute, around, drawn, schema) for attribute in schema]
    values = st.tuples(*(st.none() | st.sampled_from(c) | st.sampled_from(c) for c in candidates))
    rows = draw(st.lists(values, min_size=events, max_size=events))
    return Case(schema, tuple(drawn), tuple(present(row) for row in rows))


def present(row: Sequence[Value | None]) -> dict[int, Value]:
    """A row as an event: what is NULL is left out."""
    return {index: value for index, value in enumerate(row) if value is not None}


def bound(text: str, schema: Schema) -> Expression | None:
    """The text's condition, or None where the language refuses it."""
    try:
        return parse_subscription("q", text, schema, "text").condition
    except QueryError:
        return None


def _candidates(
    attribute: Attribute, around: Pools, texts: Sequence[str], schema: Schema
) -> list[Value]:
    """Values of the attribute on and next to what the texts may compare it with."""
    of = attribute.type
    keys = {of.key(value) for value in values_of(of, around)}
    for text in texts:
        keys |= _boundaries(text, attribute, schema)
    near: set[Key] = set()
    for key in keys:
        near |= {key} if isinstance(key, str) else {key - 1, key, key + 1}  # type: ignore[operator]
    values = [of.value(key) for key in sorted(near) if is_usable(key, of)]
    return [*values, -0.0] if of.is_floating else values


def _boundaries(text: str, attribute: Attribute, schema: Schema) -> set[Key]:
    """Where our own reading of the text has its cuts: the events that tell most."""
    condition = bound(text, schema)
    leaves = leaves_of(normalise(condition)) if condition is not None else ()
    tests = (leaf for leaf in leaves if isinstance(leaf, Test))
    return {cut for test in tests if test.attribute == attribute for cut in test.values.cuts}


def is_usable(key: Key, of: Type) -> bool:
    """Whether an event may hold the key: inside the type, and in years 1 to 9999."""
    if isinstance(key, str):
        return True
    if of == DATE:
        return FIRST_DAY <= key <= LAST_DAY  # type: ignore[operator]
    if of == TIMESTAMP:
        return FIRST_DAY <= key // MICROSECONDS_PER_DAY <= LAST_DAY  # type: ignore[operator]
    return of.lowest <= key <= of.highest  # type: ignore[operator]


def values_of(of: Type, around: Pools) -> Iterator[Value]:
    """The pool's values as an attribute of this type can hold them, and the extremes."""
    if of.name == "BOOLEAN":
        yield from (True, False)
    elif of == STRING:
        yield from around.strings
    elif of == DATE:
        yield from (instant // MICROSECONDS_PER_DAY for instant in around.instants)
    elif of == TIMESTAMP:
        yield from around.instants
        yield from (i - i % MICROSECONDS_PER_DAY for i in around.instants)
    else:
        yield from (nearest(number, of) for number in around.numbers if fits(number, of))
        yield from (of.value(of.lowest), of.value(of.highest or 0))
        yield from (0.0, NAN, INFINITY) if of.is_floating else ()


def fits(number: Decimal | float, of: Type) -> bool:
    return of.is_floating or math.isfinite(number)


def nearest(number: Decimal | float, of: Type) -> Value:
    """The value of a numeric type that is nearest to a number."""
    if of == FLOAT:
        try:
            return float(struct.unpack("<f", struct.pack("<f", float(number)))[0])
        except OverflowError:
            return math.copysign(INFINITY, number)
    if of.is_floating:
        return float(number)
    scaled = Decimal(number).scaleb(of.scale, Context(prec=400))
    key = int(scaled.to_integral_value(ROUND_HALF_UP, Context(prec=400)))
    return of.value(min(max(key, of.lowest), of.highest))  # type: ignore[type-var]
