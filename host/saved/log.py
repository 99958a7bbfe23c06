"""A file of records that only grows: what was acknowledged is there after a crash.

A record is a header and a payload. The header, little-endian, has the mark ``PSLR``, the number
of the record from 0 on (8 bytes), the length of the payload (8 bytes), its CRC-32 (4 bytes) and
the CRC-32 of the header so far (4 bytes).
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from penstock.gen.errors import DataError

MARK = b"PSLR"
HEADER = struct.Struct("<4sQQI")
CRC = struct.Struct("<I")
HEADER_BYTES = HEADER.size + CRC.size


@dataclass(frozen=True, slots=True)
class Record:
    """A payload, and where its record begins in the file."""

    payload: bytes
    start: int


class Log:
    """A log that is open for appending.

    Opening it reads what is there. A last record that was torn by a crash, and so never
    acknowledged, is cut off; damage before the last record is a DataError, and the file stays.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("r+b", buffering=0)
        except OSError as error:
            raise DataError(f"{path} cannot be opened: {error.strerror}") from None
        try:
            content = path.read_bytes()
            self.records = read(content, str(path))
            self._count = len(self.records)
            last = self.records[-1] if self.records else None
            self._end = last.start + HEADER_BYTES + len(last.payload) if last else 0
            self._last_start = self._end
            if self._end < len(content):
                self._cut(self._end)
        except BaseException:
            self._file.close()
            raise

    def append(self, payload: bytes) -> None:
        """Add a record; it is on disk when this returns, and not in the log if it raises."""
        header = HEADER.pack(MARK, self._count, len(payload), crc32(payload))
        record = header + CRC.pack(crc32(header)) + payload
        start = self._end
        try:
            self._file.seek(start)
            written = 0
            while written < len(record):
                written += self._file.write(record[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._cut(start)
            raise DataError(
                f"{self._file.name} cannot be written: {error.strerror}; nothing was changed"
            ) from None
        self._last_start, self._end = start, start + len(record)
        self._count += 1

    def withdraw(self) -> None:
        """Take the last record back."""
        self._cut(self._last_start)
        self._count -= 1
        self._end = self._last_start

    def close(self) -> None:
        self._file.close()

    def _cut(self, end: int) -> None:
        self._file.truncate(end)
        os.fsync(self._file.fileno())


def read(content: bytes, source: str) -> list[Record]:
    """The records of a log, up to one that a crash has torn."""
    records: list[Record] = []
    start = 0
    while start < len(content):
        payload = _record_at(content, start, len(records))
        if payload is None:
            break
        records.append(Record(payload, start))
        start += HEADER_BYTES + len(payload)
    if _sound_after(content, start, len(records)):
        raise DataError(
            f"{source} is damaged at byte {start}, in record {len(records)}, and sound records "
            f"come after it; nothing was loaded or changed\n"
            f"hint: the {len(records)} records before it are sound; to go on with these alone, "
            f"cut the file to {start} bytes"
        )
    return records


def _record_at(content: bytes, start: int, number: int) -> bytes | None:
    """The payload of the record of this number, if it is there and whole."""
    header = content[start : start + HEADER.size]
    if len(content) - start < HEADER_BYTES:
        return None
    mark, found, length, checksum = HEADER.unpack(header)
    (header_checksum,) = CRC.unpack_from(content, start + HEADER.size)
    if mark != MARK or found != number or header_checksum != crc32(header):
        return None
    body = start + HEADER_BYTES
    if length > len(content) - body:
        return None
    payload = content[body : body + length]
    return payload if crc32(payload) == checksum else None


def _sound_after(content: bytes, start: int, number: int) -> bool:
    """Whether a whole record with a later number begins behind a place."""
    at = content.find(MARK, start + 1)
    while at >= 0:
        if len(content) - at >= HEADER_BYTES:
            _, found, _, _ = HEADER.unpack_from(content, at)
            if found > number and _record_at(content, at, found) is not None:
                return True
        at = content.find(MARK, at + 1)
    return False
