"""Points in time as Python has them: aware, in UTC, from year 1 to 9999."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.gen.language import literals

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FIRST_MICROS = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
LAST_MICROS = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND


def instant(micros: int) -> datetime:
    """The time so many microseconds after the start of 1970; ValueError beyond the years."""
    if not FIRST_MICROS <= micros <= LAST_MICROS:
        raise ValueError("this time is out of range: the years go from 1 to 9999, in UTC")
    return EPOCH + timedelta(microseconds=micros)


def parse_instant(text: str) -> datetime:
    """The time that a TIMESTAMP literal of this text means."""
    return instant(literals.timestamp(text))


def in_utc(time: object) -> datetime:
    """The same time in UTC; one that does not know its zone is refused."""
    if not isinstance(time, datetime):
        raise TypeError(f"a time is a datetime, not {time!r}")
    if time.utcoffset() is None:
        raise ValueError(
            f"the time {time} names no zone\n"
            "hint: if it is in UTC, say time.replace(tzinfo=timezone.utc)"
        )
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{time} is out of range: the years go from 1 to 9999, in UTC") from None
