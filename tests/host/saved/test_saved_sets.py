"""A saved set is what was acknowledged, whatever breaks off in between; damage is told."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from log_texts import CHANGES, NOON, SCHEMA, changed_set, first_set, opened, state, table

import penstock
from penstock import DataError, QuerySet
from penstock.host.saved import changes
from penstock.host.saved.log import HEADER_BYTES, Log, read

LOG = "changes-1.log"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    """A folder to copy, and what its set was after each of its changes."""
    path = tmp_path_factory.mktemp("saved") / "rules.penstock"
    return path, changed_set(path)


@pytest.fixture
def folder(saved: tuple[Path, list[dict[str, object]]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved[0], tmp_path / "copy.penstock"))


@pytest.fixture
def states(saved: tuple[Path, list[dict[str, object]]]) -> list[dict[str, object]]:
    return saved[1]


def refused(folder: Path, message: str) -> None:
    """The set is refused with a message, and nothing in the folder changes for it."""
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(DataError, match=message):
        opened(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_every_type_of_value_comes_back_as_it_was(tmp_path: Path) -> None:
    types = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING",
             "DATE", "TIMESTAMP", "DECIMAL(38,10)", "DECIMAL(3,1)"]  # fmt: skip
    extremes = {
        "BOOLEAN": ["true", "false"], "TINYINT": ["-128", "127"], "SMALLINT": ["-32768", "32767"],
        "INT": ["-2147483648", "2147483647"], "BIGINT": [str(-(2**63)), str(2**63 - 1)],
        "FLOAT": ["nan", "-0.0", "1e-45", "inf"], "DOUBLE": ["nan", "-inf", "0.1", "5e-324"],
        "STRING": ["", "\0", "\U0001f600", "it's"], "DATE": ["0001-01-01", "9999-12-31"],
        "TIMESTAMP": ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"],
        "DECIMAL(38,10)": ["-" + "9" * 28 + ".0000000001", "0.0000000001"],
        "DECIMAL(3,1)": ["-99.9", "0"],
    }  # fmt: skip
    queries = QuerySet(penstock.Schema.of({f"a {of}": of for of in types}))
    attributes = [f"a {of}" for of in types]
    queries.add_predicates(
        pa.table(
            {
                "id": [f"q{n % 5}" for n in range(2 * len(types))],
                "attribute": attributes * 2,
                "operator": ["IN"] * len(types) + ["IS NULL", "NOT IN"] * (len(types) // 2),
                "operands": [extremes[of] for of in types]
                + [[] if n % 2 == 0 else extremes[of] for n, of in enumerate(types)],
                "weight": list(range(2 * len(types))),
            }
        )
    )
    with penstock.open(queries, engine="oracle") as matcher:
        matcher.save(tmp_path / "set")
    with opened(tmp_path / "set") as matcher:
        assert matcher.queries.schema == queries.schema
        # As text, in which NaN is equal to itself.
        assert [str(s) for s in matcher.queries] == [str(s) for s in queries]


def test_changes_since_the_save_are_there(folder: Path, states: list[dict[str, object]]) -> None:
    for _ in range(2):
        with opened(folder) as matcher:
            assert state(matcher) == states[-1]
    assert penstock.open(first_set(), engine="oracle").queries.schema == SCHEMA


def test_saving_again_starts_a_new_log(folder: Path, states: list[dict[str, object]]) -> None:
    with opened(folder) as matcher:
        matcher.save(folder)
        matcher.add("more", "n = 9")
        want = state(matcher)
    names = {file.name for file in folder.iterdir()}
    assert "changes-2.log" in names and LOG not in names and "texts-1.arrow" not in names
    with opened(folder) as matcher:
        assert state(matcher) == want == {**states[-1], "more": want["more"]}


def test_saving_elsewhere_leaves_the_first_as_it_is(
    folder: Path, tmp_path: Path, states: list[dict[str, object]]
) -> None:
    with opened(folder) as matcher:
        matcher.save(tmp_path / "deep" / "other")
        matcher.remove("until")
        with opened(folder) as first:  # no longer locked
            assert state(first) == states[-1]
    with opened(tmp_path / "deep" / "other") as matcher:
        assert "until" not in matcher.queries


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


def test_one_matcher_at_a_time_has_a_set_open(folder: Path) -> None:
    with opened(folder):
        with pytest.raises(DataError, match=r"copy.penstock is open in another matcher; close"):
            opened(folder)
        with (
            penstock.open(first_set()) as other,
            pytest.raises(DataError, match="is open in another"),
        ):
            other.save(folder)
    opened(folder).close()


def test_engine_that_cannot_be_opened_leaves_the_set_unlocked(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        penstock.open(folder, clock=lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    opened(folder).close()


def test_what_is_no_saved_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "none", tmp_path / "notes.txt"):
        with pytest.raises(DataError, match=r"is no saved set: matcher.save makes one"):
            penstock.open(path)
    with penstock.open(first_set()) as matcher:
        with pytest.raises(DataError, match=r"holds 'notes.txt', which is of no saved set"):
            matcher.save(tmp_path)
        with pytest.raises(DataError, match="cannot be written: "):
            matcher.save(tmp_path / "notes.txt")
        matcher.save(tmp_path / "new")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_format_of_a_later_version_is_told(folder: Path) -> None:
    from penstock.host.saved.snapshot import _digest

    head = json.loads((folder / "snapshot.json").read_text())
    del head["sha256"]
    head["format"] = 2
    (folder / "snapshot.json").write_text(json.dumps({**head, "sha256": _digest(head)}))
    refused(folder, "has format 2; this version of Penstock reads 1")


def test_change_that_the_device_refuses_is_not_in_the_log(
    folder: Path, states: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder) as matcher:
        size = (folder / LOG).stat().st_size

        def refuse(queries: QuerySet) -> None:
            assert (folder / LOG).stat().st_size > size, "in force before it is on disk"
            raise penstock.DeviceError("no room")

        monkeypatch.setattr(matcher._device, "add", refuse)
        with pytest.raises(penstock.DeviceError, match="no room"):
            matcher.add("x", "n = 1")
        monkeypatch.undo()
        assert (folder / LOG).stat().st_size == size and "x" not in matcher.queries
        matcher.add("y", "n = 1")
    with opened(folder) as matcher:
        assert state(matcher).keys() == {*states[-1], "y"}


def test_change_that_cannot_be_logged_is_not_made(
    folder: Path, states: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with opened(folder) as matcher:
        monkeypatch.setattr(os, "fsync", full)
        for change in (lambda: matcher.add("x", "n = 1"), lambda: matcher.remove("t3")):
            with pytest.raises(DataError, match="No space left on device; nothing was changed"):
                change()
        with pytest.raises(DataError, match="cannot be written: No space left"):
            matcher.save(folder)
        monkeypatch.undo()
        assert state(matcher) == states[-1]
        matcher.remove("t3")
    with opened(folder) as matcher:
        assert state(matcher) == {id: s for id, s in states[-1].items() if id != "t3"}


def test_save_that_fails_at_any_step_leaves_changes_logged_where_they_count(
    folder: Path, states: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    want = dict(states[-1])
    sync, told = os.fsync, []
    for steps in range(20):
        left = [steps]

        def fails(descriptor: int, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(5, "Input/output error")
            sync(descriptor)

        with opened(folder) as matcher:
            monkeypatch.setattr(os, "fsync", fails)
            try:
                matcher.save(folder)
            except DataError as error:
                told.append(str(error))
            monkeypatch.undo()
            matcher.add(f"after {steps}", "n = 1")
            want |= {f"after {steps}": matcher.queries[f"after {steps}"]}
        with opened(folder) as matcher:
            assert state(matcher) == want
    assert 5 <= len(told) < 20
    assert all("cannot be written: Input/output error" in message for message in told)


def test_what_expired_may_come_again_though_expiry_is_not_logged(tmp_path: Path) -> None:
    time = [NOON]
    with penstock.open(first_set(), clock=lambda: time[0]) as matcher:
        matcher.save(tmp_path / "set")
        matcher.add("x", "TRUE", expires=NOON + timedelta(seconds=1))
        time[0] += timedelta(seconds=2)
        assert "x" not in matcher.match([{}])["matches"].to_pylist()[0]
        time[0] -= timedelta(seconds=2)
        matcher.add("x", "n = 2")
        want = state(matcher)
    with opened(tmp_path / "set") as matcher:
        assert state(matcher) == want


CRASHING = """
import os, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
import log_texts
from log_texts import CHANGES, opened

left = [int(sys.argv[2])]

def counted(step):
    def call(*given, **named):
        if left[0] == 0:
            os._exit(7)
        left[0] -= 1
        return step(*given, **named)
    return call

matcher = opened(Path(sys.argv[1]))
for name in ("fsync", "replace", "unlink", "rename", "open"):
    setattr(os, name, counted(getattr(os, name)))
Path.replace, Path.unlink = counted(Path.replace), counted(Path.unlink)
{action}
print("done")
"""


def crashes(folder: Path, tmp_path: Path, action: str) -> list[Path]:
    """Copies of a folder in which a process did something and stopped before each of its steps."""
    program = CRASHING.format(tests=str(Path(__file__).parent), action=action)
    copies = []
    for steps in range(100):
        copy = Path(shutil.copytree(folder, tmp_path / f"crash {steps}"))
        done = subprocess.run(
            [sys.executable, "-c", program, str(copy), str(steps)], capture_output=True, text=True
        )
        assert done.returncode in (0, 7), done.stderr
        copies.append(copy)
        if "done" in done.stdout:
            return copies
    raise AssertionError("it never came to an end")


def test_crash_at_any_step_of_a_save_loses_nothing(
    folder: Path, tmp_path: Path, states: list[dict[str, object]]
) -> None:
    copies = crashes(folder, tmp_path, "matcher.save(Path(sys.argv[1]))")
    assert len(copies) > 6
    for copy in copies:
        with opened(copy) as matcher:
            assert state(matcher) == states[-1], copy
        left = {file.name.partition(".")[0].split("-")[1] for file in copy.glob("*-*")}
        assert len(left) == 1 and not list(copy.glob("*.part")), "something was left behind"


def test_crash_at_any_step_of_an_update_leaves_it_whole_or_not_made(
    folder: Path, tmp_path: Path, states: list[dict[str, object]]
) -> None:
    action = "matcher.add_predicates(log_texts.table('n1', 'n2'))\nmatcher.remove('t3')"
    seen = []
    for copy in crashes(folder, tmp_path, action):
        with opened(copy) as matcher:
            seen.append(frozenset(matcher.queries._entries))
    old = frozenset(states[-1])
    assert set(seen) == {old | {"n1", "n2"}, (old | {"n1", "n2"}) - {"t3"}} | {seen[0]}
    assert seen[0] in (old, old | {"n1", "n2"})


def test_killed_process_leaves_all_that_it_was_told_is_done(folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        f"sys.path[:0] = [{str(Path(__file__).parent)!r}]\n"
        "from log_texts import opened\n"
        "matcher = opened(Path(sys.argv[1]))\n"
        "for number in range(10**6):\n"
        "    matcher.add(f'k{number}', 'n = 1')\n"
        "    print(number, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(20)]
        process.kill()
        told += [int(line) for line in process.stdout if line.endswith("\n")]
    with opened(folder) as matcher:
        assert all(f"k{number}" in matcher.queries for number in told)
        assert f"k{told[-1] + 2}" not in matcher.queries


def test_changes_are_the_same_bytes_for_the_same_change() -> None:
    queries: Callable[[], QuerySet] = first_set
    assert changes.added(queries(), NOON) == changes.added(queries(), NOON)
    assert table("a").equals(table("a"))
