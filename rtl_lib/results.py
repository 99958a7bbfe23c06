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
