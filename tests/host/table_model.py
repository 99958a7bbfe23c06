"""A table region as plain Python: configuration words in, match bits out."""

from collections.abc import Sequence

from penstock.gen.plan import CHUNK_BITS, TableRegion
from penstock.host.config_words import ConfigWord
from penstock.host.encode import Words


class TableModel:
    """Does what `TableTile` says of itself, and knows nothing of subscriptions."""

    def __init__(self, region: TableRegion) -> None:
        self.capacity = region.capacity
        self.base = region.base
        self.code_bits = max(region.code_bits)
        self.chunk_bits = ((region.capacity - 1) // CHUNK_BITS).bit_length()
        self.valid = 0
        self.rows = [[0] * 2**bits for bits in region.code_bits]

    def write(self, word: ConfigWord) -> None:
        """From the high bits of an address down: 0 for valid bits or 1 + memory, code, chunk."""
        offset = word.address - self.base
        chunk = offset % 2**self.chunk_bits
        code = (offset >> self.chunk_bits) % 2**self.code_bits
        memory = offset >> self.chunk_bits + self.code_bits
        assert 0 <= word.bits < 2**CHUNK_BITS and chunk * CHUNK_BITS < self.capacity
        if memory:
            self.rows[memory - 1][code] = _replaced(self.rows[memory - 1][code], chunk, word.bits)
        else:
            assert code == 0
            self.valid = _replaced(self.valid, chunk, word.bits)

    def bits(self, codes: Sequence[int]) -> set[int]:
        """The numbers of the match bits that are set for an event."""
        hits = self.valid
        for rows, code in zip(self.rows, codes, strict=True):
            hits &= rows[code]
        return {bit for bit in range(self.capacity) if hits >> bit & 1}


def _replaced(bits: int, chunk: int, word: int) -> int:
    shift = chunk * CHUNK_BITS
    return bits & ~((2**CHUNK_BITS - 1) << shift) | word << shift


def by_event(columns: Sequence[Words | None], count: int) -> list[list[int]]:
    """Codes by attribute as codes by event."""
    return [[0 if c is None else int(c[event]) for c in columns] for event in range(count)]
