"""A torn end of a log is cut off; any other damage to a saved set is told, and nothing touched."""

import json
import os
from pathlib import Path

import pytest
from log_texts import (
    CHANGES,
    LOG,
    opened,
    refused,
    state,
)

from penstock.host.saved.log import HEADER_BYTES, Log, read


def test_log_that_ends_anywhere_gives_what_was_acknowledged_by_then(
    folder: Path, states: list[dict[str, object]]
) -> None:
    content = (folder / LOG).read_bytes()
    ends = [record.start for record in read(content, "log")] + [len(content)]
    for length in range(len(content) + 1):
        (folder / LOG).write_bytes(content[:length])
        with opened(folder) as matcher:
            whole = sum(end <= length for end in ends) - 1
            assert state(matcher) == states[whole], length
        assert (folder / LOG).stat().st_size == ends[whole]


def test_change_after_a_torn_one_is_kept(folder: Path, states: list[dict[str, object]]) -> None:
    content = (folder / LOG).read_bytes()
    for torn in (content[:-1], content + b"PSLR", content + bytes(5000)):
        (folder / LOG).write_bytes(torn)
        with opened(folder) as matcher:
            matcher.add("after", "n = 1")
            want = state(matcher)
        with opened(folder) as matcher:
            assert state(matcher) == want
            matcher.remove("after")


def test_damage_before_the_last_record_is_told_and_nothing_touched(folder: Path) -> None:
    content = (folder / LOG).read_bytes()
    records = read(content, "log")
    for number, record in enumerate(records[:-1]):
        end = record.start + HEADER_BYTES + len(record.payload)
        for place in (*range(record.start, record.start + HEADER_BYTES + 3), end - 1):
            damaged = bytearray(content)
            damaged[place] ^= 0x40
            (folder / LOG).write_bytes(damaged)
            refused(folder, rf"{LOG} is damaged at byte {record.start}, in record {number}")
    (folder / LOG).write_bytes(content[: records[1].start] + content[records[2].start :])
    refused(folder, rf"damaged at byte {records[1].start}, in record 1, and sound records come")
    (folder / LOG).unlink()
    refused(folder, f"{LOG} cannot be opened: No such file")


def test_advice_on_a_damaged_log_works(folder: Path, states: list[dict[str, object]]) -> None:
    content = bytearray((folder / LOG).read_bytes())
    start = read(bytes(content), "log")[2].start
    content[start + 9] ^= 1
    (folder / LOG).write_bytes(content)
    refused(folder, rf"the 2 records before it are sound; .* cut the file to {start} bytes")
    os.truncate(folder / LOG, start)
    with opened(folder) as matcher:
        assert state(matcher) == states[2]


@pytest.mark.parametrize("name", ["snapshot.json", "texts-1.arrow", "predicates-1-0.arrow"])
def test_damaged_snapshot_is_told_whatever_bit_is_wrong(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    step = max(1, len(content) // 60)
    for place in range(0, len(content), step):
        damaged = bytearray(content)
        damaged[place] ^= 0x01
        (folder / name).write_bytes(damaged)
        refused(folder, f"{name} (is damaged|has format)")
    for length in (0, 1, len(content) - 1):
        (folder / name).write_bytes(content[:length])
        refused(folder, f"{name} is damaged")
    (folder / name).unlink()
    refused(folder, f"{name} cannot be read: No such file|is no saved set")


def test_lengths_in_a_log_are_checked_before_they_are_believed(folder: Path) -> None:
    log = Log(folder / LOG)
    log.append(b"x" * 10)
    log.close()
    content = (folder / LOG).read_bytes()
    start = len(content) - 10 - HEADER_BYTES
    for length in (11, 2**62, 2**64 - 1):
        damaged = content[: start + 12] + length.to_bytes(8, "little") + content[start + 20 :]
        assert len(read(damaged, "log")) == len(CHANGES)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"", "Expecting value"),
        (b"[]", "list indices"),
        (b"{}", "'at'"),
        (b'{"at": "2026-03-02T12:00:00"}', "names no zone"),
        (b'{"at": "2026-03-02T12:00:00Z", "remove": ["none"]}', "no subscription 'none'"),
        (b'{"at": "2026-03-02T12:00:00Z", "add": [{"id": 5}], "tables": []}', "'expires'"),
        (b'{"at": "2026-03-02T12:00:00Z", "add": [], "tables": [9]}\nxx', "no change of this set"),
        (
            b'{"at": "2026-03-02T12:00:00Z", "tables": [], "add": [{"id": "q", "text": "n <", '
            b'"weight": 0, "owner": "", "expires": null}]}',
            "subscription 1: q:1:",
        ),
    ],
)
def test_record_that_is_no_change_is_refused_by_its_place(
    folder: Path, payload: bytes, message: str
) -> None:
    start = (folder / LOG).stat().st_size
    log = Log(folder / LOG)
    log.append(payload)
    log.close()
    refused(folder, rf"(?s){LOG}, record {len(CHANGES)} at byte {start}.*{message}")


def test_format_of_a_later_version_is_told(folder: Path) -> None:
    from penstock.host.saved.snapshot import _digest

    head = json.loads((folder / "snapshot.json").read_text())
    del head["sha256"]
    head["format"] = 2
    (folder / "snapshot.json").write_text(json.dumps({**head, "sha256": _digest(head)}))
    refused(folder, "has format 2; this version of Penstock reads 1")
