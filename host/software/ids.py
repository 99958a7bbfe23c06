"""Ids as columns of text, in order of their bytes, which is that of the text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.host.once import once
from penstock.host.software.bits import fetch, write_words
from penstock.host.software.compiled import Scalar, inlined, loop
from penstock.host.software.packed import Flags, Integers, Numbers

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
AHEAD = 16
"""How many ids ahead the next rows are asked for."""
SHORT = 15
"""Bytes of an id that can be copied as two words, with its length."""


class Ids:
    """Distinct ids in order."""

    def __init__(self, ids: pa.Array) -> None:
        self.array = ids
        self.offsets, self.data = _buffers(ids)

    def __len__(self) -> int:
        return len(self.array)

    @once
    def short(self) -> Words | None:
        """Two words for each id, the last byte its length; None if one has more bytes."""
        lengths = np.diff(self.offsets)
        if lengths.max(initial=0) > SHORT:
            return None
        rows = np.zeros((len(self), SHORT + 1), np.uint8)
        _spell(self.offsets, self.data, rows)
        return rows.view(np.uint64)

    def places(self, ids: Ids) -> Numbers:
        """How many of these lie before each of some other ids."""
        found = np.empty(len(ids), np.int32)
        _search(self.offsets, self.data, ids.offsets, ids.data, found)
        return found

    def find(self, ids: Ids) -> Numbers:
        """The number of each of some ids, -1 where it is not here."""
        places = self.places(ids)
        found = np.empty(len(ids), np.int32)
        _check(self.offsets, self.data, ids.offsets, ids.data, places, found)
        return found


def in_order(ids: pa.Array) -> tuple[Ids, Integers]:
    """The ids in order, and which of them comes first, second and so on."""
    order = pc.sort_indices(ids)
    return Ids(ids.take(order)), np.asarray(order).astype(np.int64)


def gathered(sources: list[Ids], numbers: Integers | Numbers) -> pa.Array:
    """One id after the other, where those of the sources are numbered one source after another."""
    first, *others = sources
    if first.short is None or any(ids.short is None for ids in others):
        return pa.concat_arrays([ids.array for ids in sources]).take(pa.array(numbers))
    rest = np.concatenate([np.zeros((0, 2), np.uint64), *(ids.short for ids in others)])
    offsets = np.empty(len(numbers) + 1, np.int32)
    data = np.empty(len(numbers) * SHORT + 16, np.uint8)
    total = int(_write(first.short, rest, numbers, offsets, data))
    if total > np.iinfo(np.int32).max:
        raise OverflowError("the ids of one batch exceed 2 GiB; match fewer events at a time")
    text = pa.py_buffer(data).slice(0, total)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), text)


def _buffers(ids: pa.Array) -> tuple[Numbers, Bytes]:
    _, offsets, data = ids.buffers()
    text = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    if not len(ids):
        return np.zeros(1, np.int32), text
    found = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1]
    return found, text


@inlined
def _is_below(
    starts: Numbers, data: Bytes, at: Scalar, others: Numbers, text: Bytes, number: Scalar
) -> Scalar:
    """Whether an id comes before another one."""
    first, length = starts[at], starts[at + 1] - starts[at]
    begin, count = others[number], others[number + 1] - others[number]
    for n in range(min(length, count)):
        if data[first + n] != text[begin + n]:
            return data[first + n] < text[begin + n]
    return length < count


@loop
def _spell(offsets: Numbers, data: Bytes, rows: Bytes) -> None:
    """Write each id into a row, and its length at the end."""
    for number in range(len(rows)):
        first, length = offsets[number], offsets[number + 1] - offsets[number]
        for at in range(length):
            rows[number, at] = data[first + at]
        rows[number, SHORT] = length


@loop
def _write(
    short: Words, others: Words, numbers: Integers | Numbers, offsets: Numbers, data: Bytes
) -> Scalar:
    """Write whole rows: what is too much of one is under the next. How long the text is.

    Ids of the first source stand in ``short``, those of all the others in ``others``.
    """
    total = np.int64(0)
    for n in range(len(numbers)):
        ahead = np.int64(numbers[min(n + AHEAD, len(numbers) - 1)])
        if ahead < len(short):
            fetch(short, ahead)
        offsets[n] = total
        number = np.int64(numbers[n])
        if number < len(short):
            first, second = short[number, 0], short[number, 1]
        else:
            first, second = others[number - len(short), 0], others[number - len(short), 1]
        write_words(data, total, first, second)
        total += np.int64(second >> np.uint64(56))
    offsets[len(numbers)] = total
    return total


@loop
def _search(starts: Numbers, data: Bytes, others: Numbers, text: Bytes, found: Numbers) -> None:
    """Both are in order, so each is looked for from the last one on, in steps that grow."""
    low = 0
    for number in range(len(found)):
        high, step = low, 1
        while high < len(starts) - 1 and _is_below(starts, data, high, others, text, number):
            low, high = high + 1, high + 1 + step
            step += step
        high = min(high, len(starts) - 1)
        while low < high:
            middle = (low + high) >> 1
            if _is_below(starts, data, middle, others, text, number):
                low = middle + 1
            else:
                high = middle
        found[number] = low


@loop
def _check(
    starts: Numbers, data: Bytes, others: Numbers, text: Bytes, places: Numbers, found: Numbers
) -> None:
    for number in range(len(found)):
        at = places[number]
        is_here = at < len(starts) - 1 and not _is_below(others, text, number, starts, data, at)
        found[number] = at if is_here else -1


def bits_of(flags: Flags) -> npt.NDArray[np.uint64]:
    """One bit each, 64 to a word."""
    padded = np.zeros(-(-len(flags) // 64) * 64, bool)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64)
