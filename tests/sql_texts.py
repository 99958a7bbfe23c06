"""Condition texts as a user of Spark may write them: every construct of the language."""

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from penstock.gen.schema import Attribute, Schema, quoted
from penstock.gen.types import BOOLEAN, DATE, INTEGER_BITS, STRING, TIMESTAMP, Type

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
COMPARISONS = ["=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"]
RESERVED = {"select", "true col", "my col", "x`y", "1st", "gr\u00fc\u00df"}
SUFFIX_BITS = {"Y": 8, "S": 16, "L": 64}


@dataclass(frozen=True)
class Pools:
    """The values that the constants of one case are drawn from."""

    numbers: list[Decimal | float]
    instants: list[int]
    strings: list[str]


def conditions(schema: Schema, around: Pools) -> st.SearchStrategy[str]:
    """Texts of conditions over a schema, with constants around the pool's values."""
    leaf = predicates(schema, around)
    return st.recursive(leaf, _joined, max_leaves=5)


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Larger texts from smaller ones, also without parentheses: precedence is part of it."""
    word = st.sampled_from([" AND ", " OR ", " and ", "\nOR\t"])
    chain = st.builds(lambda a, w, b: f"{a}{w}{b}", inner, word, inner)
    return (
        chain
        | inner.map("({})".format)
        | inner.map("NOT {}".format)
        | inner.map("NOT ({})".format)
        | chain.map("NOT ({})".format)
        | st.builds(lambda a, w, b: f"({a}){w}({b})", inner, word, inner)
    )


@st.composite
def predicates(draw: st.DrawFn, schema: Schema, around: Pools) -> str:
    """One predicate."""
    attribute = draw(st.sampled_from(schema.attributes))
    makers = [_comparison, _comparison, _comparison, _between, _in_list, _is_null, _pair]
    if attribute.type == BOOLEAN:
        makers += [_truth, _truth]
    if attribute.type == STRING:
        makers += [_like, _like, _like]
    makers += [_certain] if draw(st.integers(0, 9)) == 0 else []
    return draw(draw(st.sampled_from(makers))(attribute, schema, around))


@st.composite
def names(draw: st.DrawFn, attribute: Attribute, schema: Schema) -> str:
    """The attribute's name: plain, in another case, in backquotes, or after the stream's."""
    forms = [quoted(attribute.name), f"{schema.stream}.{quoted(attribute.name)}"]
    if attribute.name not in RESERVED:
        forms += [attribute.name, attribute.name, attribute.name.upper()]
    return draw(st.sampled_from(forms))


@st.composite
def _comparison(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools) -> str:
    name = draw(names(attribute, schema))
    constant = draw(constants(attribute.type, around))
    op = draw(st.sampled_from([*COMPARISONS, "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]))
    space = draw(st.sampled_from([" ", " ", ""])) if op[0] != "I" else " "
    left, right = (name, constant) if draw(st.integers(0, 2)) else (constant, name)
    if right.startswith("-"):
        space = " "
    return f"{left}{space}{op}{space}{right}"


@st.composite
def _pair(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools) -> str:
    others = [a for a in schema if _kind(a.type) == _kind(attribute.type)]
    other = draw(st.sampled_from(others))
    op = draw(st.sampled_from([*COMPARISONS, "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]))
    return f"{draw(names(attribute, schema))} {op} {draw(names(other, schema))}"


@st.composite
def _between(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools) -> str:
    subject, low, high = (draw(_side(attribute, schema, around, likely)) for likely in (9, 1, 1))
    word = draw(st.sampled_from(["BETWEEN", "NOT BETWEEN", "between"]))
    return f"{subject} {word} {low} AND {high}"


@st.composite
def _side(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools, likely: int) -> str:
    """The attribute or one of its kind, that often out of ten, or else a constant."""
    if draw(st.integers(0, 9)) >= likely:
        return draw(constants(attribute.type, around))
    if likely > 5:
        return draw(names(attribute, schema))
    others = [a for a in schema if _kind(a.type) == _kind(attribute.type)]
    return draw(names(draw(st.sampled_from(others)), schema))


@st.composite
def _in_list(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools) -> str:
    subject = draw(_side(attribute, schema, around, 9))
    option = constants(attribute.type, around)
    options = draw(st.lists(option | _side(attribute, schema, around, 0), min_size=1, max_size=4))
    if draw(st.integers(0, 15)) == 0:
        options.append(draw(_side(attribute, schema, around, 4)))
    return f"{subject} {draw(st.sampled_from(['IN', 'NOT IN', 'in']))} ({', '.join(options)})"


@st.composite
def _is_null(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools) -> str:
    subject = draw(_side(attribute, schema, around, 9))
    return f"{subject} {draw(st.sampled_from(['IS NULL', 'IS NOT NULL']))}"


@st.composite
def _truth(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools) -> str:
    tail = ["", "", " IS TRUE", " IS NOT TRUE", " IS FALSE", " IS NOT FALSE", " IS UNKNOWN"]
    return draw(names(attribute, schema)) + draw(st.sampled_from([*tail, " IS NOT UNKNOWN"]))


@st.composite
def _like(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools) -> str:
    escape = draw(st.sampled_from(["\\", "\\", "\\", "!", "a", "%", "_", "\u00e9"]))
    wild = st.sampled_from(["%", "_", "%%", escape + "%", escape + "_", escape * 2])
    plain = st.sampled_from([*around.strings, "a", "b"]).map(
        lambda text: text.replace(escape, escape * 2)
    )
    pattern = "".join(draw(st.lists(wild | plain, max_size=4)))
    subject = draw(_side(attribute, schema, around, 9))
    tail = "" if escape == "\\" else f" ESCAPE {draw(string_texts(escape))}"
    word = draw(st.sampled_from(["LIKE", "NOT LIKE"]))
    return f"{subject} {word} {draw(string_texts(pattern))}{tail}"


@st.composite
def _certain(draw: st.DrawFn, attribute: Attribute, schema: Schema, around: Pools) -> str:
    first, second = (draw(constants(attribute.type, around)) for _ in range(2))
    alone = ["TRUE", "FALSE", "NULL", "true", "NULL IS NULL", "NOT NULL"]
    return draw(st.sampled_from([*alone, f"{first} <= {second}", f"{first} <=> {second}"]))


def constants(of: Type, around: Pools) -> st.SearchStrategy[str]:
    """Texts of constants that compare with a type, NULL among them."""
    if of == BOOLEAN:
        typed = st.sampled_from(
            ["TRUE", "FALSE", "CAST('yes' AS BOOLEAN)", "CAST(' F ' AS BOOLEAN)"]
        )
    elif of == STRING:
        typed = st.sampled_from(around.strings).flatmap(string_texts)
    elif of.is_temporal:
        typed = st.sampled_from(around.instants).flatmap(temporal_texts)
    else:
        number = st.sampled_from(around.numbers).flatmap(number_texts)
        typed = number | number | number | arithmetic(around)
    return st.one_of(*[typed] * 8, st.sampled_from(["NULL", f"CAST(NULL AS {of})"]))


@st.composite
def string_texts(draw: st.DrawFn, text: str) -> str:
    """A string literal: either quote, and every way to escape what needs it."""
    quote = draw(st.sampled_from("''\""))
    doubled = draw(st.booleans())
    parts = []
    for character in text:
        if character == quote:
            parts.append(quote * 2 if doubled else "\\" + quote)
        elif character == "\\":
            parts.append("\\\\")
        elif character == "\0":
            parts.append(draw(st.sampled_from(["\\0", "\\u0000", "\\000"])))
        elif ord(character) > 127 and draw(st.booleans()):
            units = character.encode("utf-16-be")
            pairs = [units[i : i + 2].hex() for i in range(0, len(units), 2)]
            long = len(pairs) > 1 or draw(st.booleans())
            parts.append(f"\\U{ord(character):08x}" if long else f"\\u{pairs[0]}")
        else:
            parts.append(character)
    split = draw(st.integers(0, 12))
    if split == 0 and len(parts) > 1:
        return f"{quote}{parts[0]}{quote} {quote}{''.join(parts[1:])}{quote}"
    if split == 1 and text.isalnum():
        return f"r{quote}{text}{quote}"
    return f"{quote}{''.join(parts)}{quote}"


@st.composite
def temporal_texts(draw: st.DrawFn, micros: int) -> str:
    """A DATE or TIMESTAMP constant in some spelling, or a string that reads as one."""
    moment = EPOCH + datetime.timedelta(microseconds=micros)
    day, time = f"{moment:%Y-%m-%d}".rjust(10, "0"), f"{moment:%H:%M:%S}"
    fraction = f".{moment.microsecond:06}"
    short = fraction.rstrip("0").rstrip(".")
    zone = draw(st.sampled_from(["", "", "Z", "+00:00", "-08:00", "+5:30", " UTC", "+01"]))
    stamp = (
        f"{day}{draw(st.sampled_from([' ', 'T']))}{time}{draw(st.sampled_from([fraction, short]))}"
    )
    loose = f"{moment.year:04}-{moment.month}-{moment.day}"
    shift = draw(st.integers(0, 40))
    forms = [
        f"DATE '{day}'", f"date'{loose}'", f"DATE '{day[:7]}'", f"DATE '{day[:4]}'",
        f"DATE '{day}' + {shift}", f"DATE '{day}' - {shift}S", f"CAST('{day}' AS DATE)",
        f"CAST(TIMESTAMP '{stamp}' AS DATE)", f"CAST(DATE '{day}' AS TIMESTAMP)",
        f"TIMESTAMP '{stamp}{zone}'", f"TIMESTAMP '{stamp}{zone}'", f"TIMESTAMP '{stamp}'",
        f"TIMESTAMP '{day}'", f"TIMESTAMP '{day} {time[:5]}'", f"timestamp '{day} {moment.hour}:5'",
        f"CAST('{stamp}{zone}' AS TIMESTAMP)", f"TIMESTAMP_LTZ '{stamp}'",
        f"'{day}'", f"'{stamp}'", f"'{loose}'", f"'{stamp}{zone}'", f"'{day[:4]}'",
    ]  # fmt: skip
    return draw(st.sampled_from(forms))


@st.composite
def number_texts(draw: st.DrawFn, number: Decimal | float) -> str:
    """A numeric literal or cast with this value, or near it where the form is narrower."""
    if isinstance(number, float):
        return draw(_special_texts(number))
    forms = [f"CAST('{number}' AS DOUBLE)", f"CAST('{number}' AS FLOAT)"]
    plain = f"{number:f}"
    digits = len(plain.replace("-", "").replace(".", "").lstrip("0"))
    places = max(0, -int(number.as_tuple().exponent))
    if abs(float(number)) < 1e300 and abs(number) > Decimal("1e-300"):
        forms += [f"{number:e}", f"{float(number)!r}D"]
    if abs(number) < 10**30:
        forms += [f"{plain}D", f"{plain}F"]
    if max(digits, places) <= 38:
        forms += [plain, plain, plain, f"{plain}BD"]
        whole = max(1, digits - places)
        if whole + places <= 37:
            forms.append(f"CAST({plain} AS DECIMAL({whole + places + 1},{places}))")
    if number == number.to_integral_value() and digits <= 38:
        whole_text = str(int(number))
        forms += [whole_text] * 4 + ([f"{whole_text}.0"] if digits < 38 else [])
        bits = {suffix: n for suffix, n in SUFFIX_BITS.items() if _holds(n, int(number))}
        forms += [whole_text + suffix for suffix in bits] * 2
        names_of = [name for name, n in INTEGER_BITS.items() if _holds(n, int(number))]
        forms += [f"CAST('{whole_text}' AS {name})" for name in names_of]
        forms += [f"CAST({whole_text} AS {name})" for name in names_of]
    text = draw(st.sampled_from(forms))
    return f"({text})" if draw(st.integers(0, 9)) == 0 else text


def _special_texts(number: float) -> st.SearchStrategy[str]:
    target = st.sampled_from(["DOUBLE", "FLOAT"])
    spelled = {math.inf: ["Infinity", "inf", "+Infinity"], -math.inf: ["-Infinity", "-inf"]}
    texts = spelled.get(number) or (["NaN", "nan"] if number != number else ["0.0", "-0.0", "0"])
    cast = st.builds("CAST('{}' AS {})".format, st.sampled_from(texts), target)
    if number == 0:
        return cast | st.sampled_from(["0.0D", "-0.0D", "-0.0F", "0e0", "-0.0", "-0", "0.00"])
    return cast


@st.composite
def arithmetic(draw: st.DrawFn, around: Pools) -> str:
    """Two constants computed with, or one negated."""
    small = st.sampled_from(
        ["1", "2", "3Y", "7S", "10L", "0.5", "1.25", "2D", "1.5F", "3BD", "1e2", "-3", "100"]
    )
    sides = small | st.sampled_from(around.numbers).flatmap(number_texts)
    left, right = draw(sides), draw(small)
    op = draw(
        st.sampled_from([" + ", " - ", " * ", " / ", " % ", " DIV ", "+", "*", "/", "%", "-"])
    )
    form = draw(st.sampled_from(["{}{}{}", "({}{}{})", "-({}{}{})", "{}{}({})", "2 * {}{}{}"]))
    return form.format(left, " - " if op == "-" and right[0] == "-" else op, right)


def _holds(bits: int, number: int) -> bool:
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)


def _kind(of: Type) -> str:
    return "number" if of.is_numeric else "time" if of in (DATE, TIMESTAMP) else of.name
