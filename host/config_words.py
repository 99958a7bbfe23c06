"""Configuration words: what changes a circuit while events flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.gen.plan import CHUNK_BITS
from penstock.host.encode import WORD_BITS, Words


class ConfigWord(NamedTuple):
    """A write of 32 bits to an address: valid bits of a chunk, or a chunk of a table's row."""

    address: int
    bits: int


@dataclass(frozen=True, slots=True)
class Update:
    """The words of one change, in the order in which they must be sent.

    Between ``before`` and ``after`` the codes of events and the meaning of match bits change: what
    was encoded before the change goes ahead of that point and is decoded as before the change, what
    is encoded after it goes behind. Events may stand between any two words: each sees the
    subscription either as it was or as it will be.
    """

    before: tuple[ConfigWord, ...] = ()
    after: tuple[ConfigWord, ...] = ()

    @property
    def words(self) -> tuple[ConfigWord, ...]:
        return self.before + self.after


def pack_config(words: Sequence[ConfigWord], event_bits: int) -> Words:
    """One row per configuration word, to stand among the rows of an `Encoder`.

    The bits are lowest and the address follows; the highest bit tells the row from an event.
    """
    row_words = -(-event_bits // WORD_BITS)
    packed = np.zeros((len(words), row_words), dtype=np.uint32)
    for row, word in zip(packed, words, strict=True):
        number = word.bits | word.address << CHUNK_BITS | 1 << (event_bits - 1)
        row[:] = [number >> WORD_BITS * place & 2**WORD_BITS - 1 for place in range(row_words)]
    return packed
