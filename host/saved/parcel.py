"""A query set as one piece of bytes, for other processes.

The eight bytes of `MAGIC`; the SHA-256 of all that follows; the length of a line of JSON, and that
line: the format, the stream and the policy as SQL, the length of each table; then the tables,
which are those of a snapshot.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from penstock.gen.errors import DataError
from penstock.gen.language.policy_statement import parse_policy
from penstock.gen.language.script import parse_schema
from penstock.gen.queryset import QuerySet
from penstock.host.saved.snapshot import add_table, content_of, policy_text, table_in, tables_of

MAGIC = b"PSPARCEL"
FORMAT = 1
DIGEST_BYTES = 32
LENGTH_BYTES = 8
_START = len(MAGIC) + DIGEST_BYTES


def packed(queries: QuerySet) -> bytes:
    """A query set as bytes: the same for the same subscriptions in the same order."""
    contents = [content_of(table).to_pybytes() for table in tables_of(queries)]
    head = {
        "format": FORMAT,
        "stream": str(queries.schema),
        "policy": policy_text(queries),
        "tables": [len(content) for content in contents],
    }
    line = json.dumps(head).encode()
    body = b"".join([len(line).to_bytes(LENGTH_BYTES, "little"), line, *contents])
    return MAGIC + hashlib.sha256(body).digest() + body


def digest_of(parcel: bytes) -> str:
    """The digest that a parcel bears, as a word."""
    return parcel[len(MAGIC) : _START].hex()


def unpacked(parcel: bytes, source: str = "parcel") -> QuerySet:
    """The query set; DataError if the bytes are not what was packed."""
    if parcel[: len(MAGIC)] != MAGIC:
        raise DataError(f"{source} is no parcel of a query set")
    if hashlib.sha256(parcel[_START:]).digest() != parcel[len(MAGIC) : _START]:
        raise DataError(f"{source} is damaged: its checksum is not that of what it holds")
    try:
        head, at = _head(parcel)
        if head["format"] != FORMAT:
            raise DataError(
                f"{source} has format {head['format']!r}; this version of Penstock reads {FORMAT}"
            )
        text = head["policy"]
        policy = None if text is None else parse_policy(text, source)
        queries = QuerySet(parse_schema(head["stream"], source), policy=policy)
        for number, length in enumerate(head["tables"]):
            name = f"{source}, table {number}"
            add_table(queries, number, table_in(parcel[at : at + length], name), name)
            at += length
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{source} is no parcel of a query set: {error}") from None
    return queries


def _head(parcel: bytes) -> tuple[dict[str, Any], int]:
    """What the parcel says of itself, and where its tables begin."""
    first = _START + LENGTH_BYTES
    stop = first + int.from_bytes(parcel[_START:first], "little")
    return json.loads(parcel[first:stop]), stop
