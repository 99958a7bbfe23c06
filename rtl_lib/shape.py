"""What all tiles of a chain have in common, and so the ports between them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.events import event_layout
from penstock.rtl_lib.results import aligned, check_chunks, chunks_for, result_layout


@dataclass(frozen=True, slots=True)
class ChainShape:
    """The numbers that the tiles of a chain agree on."""

    widths: tuple[int, ...]
    """Bits of each code of an event."""
    chunk_bits: int
    chunk_count: int
    address_bits: int
    stages: int
    """Pipeline stages between predecoding and match bits: those of the deepest tile."""

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) < 1:
            raise ValueError(f"codes have at least one bit each, not {self.widths}")
        for name in ("chunk_bits", "chunk_count", "address_bits", "stages"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")

    @property
    def event_layout(self) -> data.StructLayout:
        return event_layout(sum(self.widths), self.chunk_bits, self.address_bits)

    @property
    def event(self) -> stream.Signature:
        return stream.Signature(self.event_layout)

    @property
    def result(self) -> stream.Signature:
        return stream.Signature(result_layout(self.chunk_bits, self.chunk_count))

    @property
    def tile(self) -> wiring.Signature:
        """The ports of every tile: events in and on, results from before and from here."""
        return wiring.Signature(
            {
                "i": In(self.event),
                "o": Out(self.event),
                "before": In(self.result),
                "results": Out(self.result),
            }
        )

    def pack(self, codes: tuple[int, ...] | list[int]) -> int:
        """The codes of an event side by side, field 0 lowest."""
        word = 0
        for code, width in zip(reversed(codes), reversed(self.widths), strict=True):
            if not 0 <= code < 2**width:
                raise ValueError(f"code {code} does not fit into {width} bits")
            word = word << width | code
        return word


@dataclass(frozen=True, slots=True)
class Place:
    """Which chunks of the circuit a tile fills, and which addresses are its own."""

    shape: ChainShape
    hit_count: int
    """Match bits of the tile."""
    first_chunk: int
    """A multiple of the tile's number of chunks, rounded up to a power of two."""
    base: int
    """The first address: a multiple of their number, rounded up to a power of two."""
    address_count: int

    def __post_init__(self) -> None:
        shape, size = self.shape, aligned(self.address_count)
        check_chunks(self.hit_count, shape.chunk_bits, shape.chunk_count, self.first_chunk)
        if self.base % size:
            raise ValueError(
                f"the first of {self.address_count} addresses must be a multiple of {size}, "
                f"not {self.base}"
            )
        if self.addresses.stop > 2**shape.address_bits:
            raise ValueError(
                f"addresses {self.base} to {self.addresses[-1]} do not fit into "
                f"{shape.address_bits} bits"
            )

    @property
    def chunks(self) -> range:
        own_chunks = chunks_for(self.hit_count, self.shape.chunk_bits)
        return range(self.first_chunk, self.first_chunk + own_chunks)

    @property
    def addresses(self) -> range:
        return range(self.base, self.base + self.address_count)

    @property
    def offset_bits(self) -> int:
        """How many low bits of an address tell the tile's own ones apart."""
        return (self.address_count - 1).bit_length()
