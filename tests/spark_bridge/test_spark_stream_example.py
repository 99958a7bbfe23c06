"""Programs with streams, in processes of their own: killed and begun again, and the example."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from markdown_blocks import ROOT, PageRunner
from stream_program import EACH, VERSIONS, put, rules
from test_spark_streaming import kept, matches

from penstock.spark_bridge import publish

pytestmark = pytest.mark.xdist_group("spark")

EXAMPLE = ROOT / "examples" / "spark_stream.py"
DIGITS = tuple("0123456789")
PROGRAM = Path(__file__).with_name("stream_program.py")
FILES = 6
PATIENCE_SECONDS = 240


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen]:
    """The program under test, which leaves nothing running."""
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(folder), *arguments],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            kill(process)


def members(leader: int) -> list[int]:
    """The processes of a session: the driver, its JVM, and Python's workers with their daemon,
    which leaves the driver's process group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it ended meanwhile
            continue
        if int(session) == leader and state != "Z":
            found.append(int(stat.parent.name))
    return found


def send(process: subprocess.Popen, what: signal.Signals) -> None:
    for pid in members(process.pid):
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            continue


def kill(process: subprocess.Popen) -> None:
    while members(process.pid):
        send(process, signal.SIGKILL)
        time.sleep(0.01)
    process.wait()


def wait_for(happened: Callable[[], bool], process: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < until, "the program did not come to the moment"
        time.sleep(0.001)


def stop_between_sink_and_checkpoint(process: subprocess.Popen, folder: Path) -> None:
    """Have the program stand still when the file sink has a micro-batch and the checkpoint has not.

    It takes Spark some hundredths of a second from one to the other; if they were too few, the next
    micro-batch is waited for.
    """
    for number in range(FILES // 2):
        sink = folder / "files" / "_spark_metadata" / str(number)
        wait_for(sink.exists, process, folder / "log")
        send(process, signal.SIGSTOP)
        if not (folder / "checkpoint-files" / "commits" / str(number)).exists():
            return
        send(process, signal.SIGCONT)
    pytest.fail("each micro-batch was in the checkpoint before the program could be stopped")


def to_the_moment(process: subprocess.Popen, folder: Path, moment: str) -> None:
    markers = [folder / "paused-batches"]
    if moment == "matching":
        markers.append(folder / "paused-files")
    wait_for(lambda: all(marker.exists() for marker in markers), process, folder / "log")
    if moment == "written":
        stop_between_sink_and_checkpoint(process, folder)


@pytest.mark.parametrize("moment", ["matching", pytest.param("written", marks=pytest.mark.slow)])
def test_a_stream_that_was_killed_loses_and_repeats_nothing(spark, tmp_path, moment):
    """The rules change between its death and its second life."""
    for number in range(FILES):
        put(tmp_path / "events", number)
    publish(rules(VERSIONS[1]), tmp_path / "rules")
    with started(tmp_path, moment) as process:
        to_the_moment(process, tmp_path, moment)
        kill(process)
    publish(rules(VERSIONS[2]), tmp_path / "rules")
    with started(tmp_path) as process:
        assert process.wait(PATIENCE_SECONDS) == 0, (tmp_path / "log").read_text()[-3000:]
    found = {name: spark.read.parquet(str(tmp_path / name)) for name in ("files", "batches")}
    if moment == "matching":  # the first life had begun to write
        assert len(list((tmp_path / "files").glob("*.parquet"))) > len(found["files"].inputFiles())
    wanted = {version: kept(spark, tmp_path / "events", VERSIONS[version]) for version in VERSIONS}
    for rows in (frame.collect() for frame in found.values()):
        assert sorted(row.n for row in rows) == list(range(FILES * EACH))
        assert matches(rows) == {row.n: wanted[row.rules_version][row.n] for row in rows}
        assert {row.rules_version for row in rows} == {1, 2}
    assert found["batches"].select("batch", "rules_version").distinct().count() == FILES // 2


@pytest.mark.slow
def test_the_example_goes_on_where_it_was(tmp_path):
    """Its second run has the folder of the first, and rules that were published in it."""
    printed = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(EXAMPLE), str(tmp_path / "kept")],
            capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        printed.append(done.stdout)
    batches = [line.split() for line in "".join(printed).splitlines() if line.endswith(DIGITS)]
    numbers, versions, trades, _ = zip(*(row for row in batches if len(row) == 4), strict=True)
    assert numbers == tuple(str(number) for number in range(14))
    assert "".join(versions) == "1112222" + "3334444"
    assert set(trades) == {"2000"}
    assert "14000 trades, 14000 different ones" in printed[0]
    assert "28000 trades, 28000 different ones" in printed[1]


def test_the_manual(spark, tmp_path):
    wrong = PageRunner(ROOT / "docs" / "spark-streaming.md", tmp_path).run()
    assert not wrong, "\n\n".join(wrong)
