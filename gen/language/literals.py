"""Spark's literals: numbers, strings with their escapes, dates and timestamps."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

from penstock.gen.casting import MICROSECONDS_PER_DAY
from penstock.gen.expr import Constant
from penstock.gen.types import BIGINT, DOUBLE, INT, MAX_PRECISION, Type, decimal

DATE_FORM = "'2024-01-31'"
TIMESTAMP_FORM = (
    "'2024-01-31 12:30:00.5' or '2024-01-31T12:30:00+01:00' (UTC where no zone is named)"
)

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_DATE_AND_TIME = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})[T ].*", re.ASCII | re.DOTALL)
_TIME = re.compile(
    r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?\s*"
    r"(Z|UTC|GMT|[+-](?:\d{1,2}(?::\d{1,2})?|\d{4}))?)?)?",
    re.ASCII,
)
QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_KEPT_ESCAPES = {"%": "\\%", "_": "\\_"}  # LIKE reads these two for itself
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)


def number(text: str) -> Constant:
    """An unsuffixed number: INT, BIGINT or DECIMAL, with an exponent DOUBLE."""
    if "e" in text.lower():
        if text[-1] in "eE":
            raise ValueError(f"{text} lacks the digits of its exponent")
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"{text} is beyond the range of DOUBLE")
        return Constant(DOUBLE, value)
    if "." in text:
        return Constant(decimal_type(Decimal(text)), Decimal(text))
    if len(text.lstrip("-0")) > MAX_PRECISION:
        raise ValueError(_too_long(len(text.lstrip("-0"))))
    whole = int(text)
    for of in (INT, BIGINT):
        assert isinstance(of.lowest, int)
        if of.lowest <= whole <= (of.highest or 0):
            return Constant(of, whole)
    return Constant(decimal_type(Decimal(text)), Decimal(text))


def decimal_type(value: Decimal) -> Type:
    """The narrowest DECIMAL that holds a value as it is written."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), f"{value} is not a number"
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    if precision > MAX_PRECISION:
        raise ValueError(_too_long(precision))
    return decimal(precision, scale)


def _too_long(digits: int) -> str:
    return f"this number has {digits:,} digits; DECIMAL holds at most {MAX_PRECISION}"


def string(source: str) -> str:
    """The string that a quoted literal stands for, as Spark reads it.

    Literals side by side are one string; a quote doubled inside a literal is a quote.
    """
    text = ""
    end = -1
    for piece in QUOTED.finditer(source):
        if piece.start() == end and source[end - 1] == piece[0][0]:
            text += piece[0][0]
        text += _ESCAPE.sub(_unescaped, piece[0][1:-1])
        end = piece.end()
    # Two escapes may spell the halves of one character; a half alone is Spark's "?".
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return whole.encode("utf-8", "replace").decode("utf-8")


def _unescaped(found: re.Match[str]) -> str:
    short, long, octal, character = found.groups()
    if short or long:
        return chr(int(short or long, 16))
    if octal:
        return chr(int(octal, 8))
    return _KEPT_ESCAPES.get(character) or _ESCAPES.get(character, character)


def date(text: str) -> int:
    """Days since 1970-01-01; what follows a T or a space after the day is not looked at."""
    found = _DATE.fullmatch(text.strip()) or _DATE_AND_TIME.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text!r} is not a date; write {DATE_FORM}")
    return _days(text, found)


def timestamp(text: str) -> int:
    """Microseconds since 1970-01-01 00:00 UTC."""
    day, gap, time = re.sub(r"[T ]", " ", text.strip(), count=1).partition(" ")
    found_day = _DATE.fullmatch(day)
    found_time = _TIME.fullmatch(time) if gap else None
    if not found_day or (gap and not (found_time and found_day[3])):
        raise ValueError(f"{text!r} is not a timestamp; write {TIMESTAMP_FORM}")
    micros = _days(text, found_day) * MICROSECONDS_PER_DAY
    return micros + (_time_of_day(text, found_time) if found_time else 0)


def _days(text: str, found: re.Match[str]) -> int:
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    try:
        return datetime.date(year, month, day).toordinal() - _EPOCH
    except ValueError as error:
        raise ValueError(f"{text!r} is not a date: {error}") from None


def _time_of_day(text: str, found: re.Match[str]) -> int:
    hour, minute, second = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} is not a timestamp: no such time of day")
    micros = int((found[4] or "0").ljust(6, "0")[:6])
    return ((hour * 60 + minute - _zone_minutes(text, found[5])) * 60 + second) * 10**6 + micros


def _zone_minutes(text: str, zone: str | None) -> int:
    if zone is None or zone[0] not in "+-":
        return 0
    hour_text, _, minute_text = (
        zone[1:].partition(":") if ":" in zone else (zone[1:3], "", zone[3:])
    )
    hours, minutes = int(hour_text), int(minute_text or 0)
    if hours > 18 or minutes > 59 or hours * 60 + minutes > 18 * 60:
        raise ValueError(f"{text!r} is not a timestamp: zones reach from -18:00 to +18:00")
    return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes)


def show_date(days: int) -> str:
    """A date as text that `date` reads; days outside years 1 to 9999 as a number."""
    ordinal = days + _EPOCH
    if not 1 <= ordinal <= datetime.date.max.toordinal():
        return f"day {days}"
    return datetime.date.fromordinal(ordinal).isoformat()


def show_timestamp(micros: int) -> str:
    """A timestamp as text that `timestamp` reads."""
    days, rest = divmod(micros, MICROSECONDS_PER_DAY)
    seconds, fraction = divmod(rest, 10**6)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{show_date(days)} {clock}" + (f".{fraction:06}" if fraction else "")
