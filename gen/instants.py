"""Points in time as Python has them: aware, in UTC, from year 1 to 9999."""

from __future__ import annotations

from datetime import UTC, datetime


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
