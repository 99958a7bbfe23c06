"""What travels down the chain of tiles: events and, between them, configuration words."""

from __future__ import annotations

from amaranth.lib import data


def config_layout(chunk_bits: int, address_bits: int) -> data.StructLayout:
    """A write of one chunk-wide word to a register or a memory row of some tile."""
    return data.StructLayout({"bits": chunk_bits, "address": address_bits})


def event_layout(code_bits: int, chunk_bits: int, address_bits: int) -> data.StructLayout:
    """Either the codes of an event or, with ``is_config``, a configuration word.

    A configuration word takes the place of an event, so that it is exact which events come
    before it and which after.
    """
    word = data.UnionLayout({"codes": code_bits, "config": config_layout(chunk_bits, address_bits)})
    return data.StructLayout({"word": word, "is_config": 1})
