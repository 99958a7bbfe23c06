"""Events as the words that a circuit takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.gen.arrow import to_values
from penstock.gen.casting import cast
from penstock.gen.manifest import Manifest
from penstock.gen.plan import RELATIONS, CodeField, PairField
from penstock.gen.types import Type
from penstock.host.keys import keys_of

Words = npt.NDArray[np.uint32]
WORD_BITS = 32


class Encoder:
    """Makes codes of a batch's values, and packs the codes of an event side by side.

    The codes of a table come from the host's `Table`, as they change with its subscriptions.
    """

    def __init__(self, manifest: Manifest, event_bits: int) -> None:
        self.words = -(-event_bits // WORD_BITS)
        self._codes = [
            CodeColumn(field) if isinstance(field, CodeField) else _PairColumn(field)
            for field in manifest.fields
        ]
        self._widths = [field.width for field in manifest.fields]
        self._widths += manifest.table.code_bits if manifest.table else ()

    def encode(self, events: pa.RecordBatch, table_codes: Sequence[Words | None] = ()) -> Words:
        """One row of words per event, the first field in the lowest bits, the table's highest."""
        packed = np.zeros((events.num_rows, self.words + 1), dtype=np.uint64)
        offset = 0
        columns = chain((column.codes(events) for column in self._codes), table_codes)
        for codes, width in zip(columns, self._widths, strict=True):
            if codes is not None:
                word, shift = divmod(offset, WORD_BITS)
                placed = codes.astype(np.uint64) << np.uint64(shift)
                packed[:, word] |= placed & np.uint64(2**WORD_BITS - 1)
                packed[:, word + 1] |= placed >> np.uint64(WORD_BITS)
            offset += width
        return np.ascontiguousarray(packed[:, : self.words].astype(np.uint32))


class CodeColumn:
    """The codes of one attribute: how many cuts lie at or below a value, by a table."""

    def __init__(self, field: CodeField) -> None:
        self._name = field.attribute.name
        self._type = field.attribute.type
        self._codes = np.array(field.codes, dtype=np.uint32)
        is_narrow = self._type.key_bits is not None and self._type.key_bits <= 64
        self._cuts = np.array(field.cuts, dtype=np.int64 if is_narrow else object)

    def codes(self, events: pa.RecordBatch) -> Words | None:
        """The codes of all events; ``None`` where none has the attribute."""
        column = _column(events, self._name)
        if column is None:
            return None
        if self._type.name == "STRING":
            return self._by_distinct(column)
        return self._of(column)

    def _of(self, column: pa.Array) -> Words:
        found: Words = self._codes[
            np.searchsorted(self._cuts, keys_of(column, self._type), side="right")
        ]
        if column.null_count:
            found[np.asarray(column.is_null())] = 0
        return found

    def _by_distinct(self, column: pa.Array) -> Words:
        """Look up each distinct string once."""
        encoded = column.dictionary_encode()
        known = np.append(self._of(encoded.dictionary), np.uint32(0))
        codes: Words = known[np.asarray(encoded.indices.fill_null(len(known) - 1))]
        return codes


class _PairColumn:
    """How two attributes relate, compared in their common type."""

    def __init__(self, field: PairField) -> None:
        self._field = field

    def codes(self, events: pa.RecordBatch) -> Words:
        field = self._field
        left, right = (_column(events, side.name) for side in (field.left, field.right))
        absent = [
            np.ones(events.num_rows, bool) if side is None else np.asarray(side.is_null())
            for side in (left, right)
        ]
        codes = np.full(events.num_rows, RELATIONS.index("both absent"), dtype=np.uint32)
        codes[absent[0] != absent[1]] = RELATIONS.index("one absent")
        present = ~(absent[0] | absent[1])
        if left is not None and right is not None and present.any():
            mask = pa.array(present)
            first = _cast_keys(left.filter(mask), field.left.type, field.common)
            second = _cast_keys(right.filter(mask), field.right.type, field.common)
            below = np.where(first < second, RELATIONS.index("<"), RELATIONS.index("="))
            codes[present] = np.where(first > second, RELATIONS.index(">"), below)
        return codes


def _cast_keys(column: pa.Array, source: Type, common: Type) -> npt.NDArray[Any]:
    """The keys that values have in the type in which they are compared."""
    if source == common or (source.is_integral and common.is_integral):
        return keys_of(column, source)
    values = [common.key(cast(v, source, common)) for v in to_values(column) if v is not None]
    return np.array(values, dtype=object)


def _column(events: pa.RecordBatch, name: str) -> pa.Array | None:
    index = events.schema.get_field_index(name)
    return None if index < 0 else events.column(index)
