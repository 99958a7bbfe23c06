"""The columns ``owner`` and ``expires`` of tables: whose each subscription is and until when."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.arrow import convert, to_text
from penstock.gen.errors import DataError
from penstock.gen.instants import FIRST_MICROS, LAST_MICROS, instant
from penstock.gen.types import TIMESTAMP

COLUMNS = ("owner", "expires")


def owners_in(table: pa.Table, source: str) -> pa.Array | None:
    """The owners as text, empty where there is none; ``None`` without such a column."""
    if "owner" not in table.column_names:
        return None
    return to_text(table["owner"].combine_chunks(), f"{source}: column owner").fill_null("")


def expiries_in(table: pa.Table, source: str) -> pa.Array | None:
    """The times from which subscriptions match nothing, NULL for never; as ``owners_in``."""
    if "expires" not in table.column_names:
        return None
    column = table["expires"].combine_chunks()
    what = f"{source}: column expires"
    if pa.types.is_timestamp(column.type) and column.type.tz is None:
        raise DataError(
            f"{what} holds times that name no zone\n"
            "hint: if they are in UTC, cast it to timestamp('us', tz='UTC')"
        )
    times = convert(column, TIMESTAMP, what)
    micros = times.cast(pa.int64())
    inside = pc.and_(pc.greater_equal(micros, FIRST_MICROS), pc.less_equal(micros, LAST_MICROS))
    row = pc.index(inside, False).as_py()
    if row >= 0:
        try:
            instant(micros[row].as_py())
        except ValueError as error:
            raise DataError(f"{what}, row {row + 1}: {error}") from None
    return times


def first_difference(
    column: pa.Array, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> tuple[int, int] | None:
    """Two rows of one group, the later one first, whose values differ, if there are any.

    ``order`` has the rows group by group, ``starts`` where in it each group begins.
    """
    codes = np.asarray(column.dictionary_encode().indices.fill_null(-1))[order]
    firsts = np.repeat(starts[:-1], np.diff(starts))
    differs = np.flatnonzero(codes != codes[firsts])
    if not len(differs):
        return None
    later = differs[np.argmin(order[differs])]
    return int(order[later]), int(order[firsts[later]])
