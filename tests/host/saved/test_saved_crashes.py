"""A saved set is what was acknowledged, whatever breaks off in between."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from log_texts import (
    LOG,
    opened,
    state,
)

import penstock
from penstock import DataError, QuerySet

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
