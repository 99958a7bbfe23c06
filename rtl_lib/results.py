"""What tiles say about events, and how it travels along the chain."""

from __future__ import annotations

from amaranth.lib import data


def result_layout(chunk_bits: int, chunk_count: int) -> data.StructLayout:
    """One item of the result link.

    An event that matches nothing is one item with ``some`` low and ``last`` high. Any other is
    one item per non-empty chunk, in ascending order, the final one with ``last`` high.
    """
    return data.StructLayout(
        {
            "bits": chunk_bits,
            "chunk": index_width(chunk_count),
            "some": 1,
            "last": 1,
        }
    )


def match_layout(chunk_bits: int, chunk_count: int, sequence_bits: int) -> data.StructLayout:
    """What leaves the circuit: a non-empty chunk of matches of the event with this number."""
    return data.StructLayout(
        {
            "bits": chunk_bits,
            "chunk": index_width(chunk_count),
            "sequence": sequence_bits,
            "last": 1,
        }
    )


def index_width(count: int) -> int:
    """Bits that number ``count`` things; at least one."""
    return max(1, (count - 1).bit_length())


def chunks_for(hit_count: int, chunk_bits: int) -> int:
    """How many chunks so many match bits fill."""
    return -(-hit_count // chunk_bits)


def aligned(count: int) -> int:
    """``count`` rounded up to a power of two, of which a tile's first chunk is a multiple."""
    return 1 << (count - 1).bit_length()


def check_chunks(hit_count: int, chunk_bits: int, chunk_count: int, first_chunk: int) -> None:
    """ValueError if these match bits cannot fill chunks from this one on."""
    if hit_count < 1:
        raise ValueError(f"there must be at least one match bit, not {hit_count}")
    own_chunks = chunks_for(hit_count, chunk_bits)
    if first_chunk % aligned(own_chunks):
        raise ValueError(
            f"the first of {own_chunks} chunks must be a multiple of {aligned(own_chunks)}, "
            f"not {first_chunk}"
        )
    if first_chunk + own_chunks > chunk_count:
        raise ValueError(
            f"chunks {first_chunk} to {first_chunk + own_chunks - 1} do not exist "
            f"among {chunk_count}"
        )
