"""The command ``penstock``: usage, exit codes, and errors that are the user's to mend."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from terminal import COMMAND, USUAL, on_terminal, piped

import penstock
from penstock.cli import check, main, match


@pytest.mark.parametrize("argv", [["--help"], *([name, "--help"] for name in main.COMMANDS)])
def test_help_is_there_for_every_command(argv, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stopped:
        main.main(argv)
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: penstock ")
    assert max(map(len, printed.splitlines())) <= 80


def test_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as stopped:
        main.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"penstock {penstock.__version__}\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["mach"], "invalid choice: 'mach'"),
        (["check"], "the following arguments are required: queries"),
        (["match", "q"], "the following arguments are required: events"),
        (["match", "q", "e", "--top", "0"], "'0' is not a whole number from 1 up"),
        (["match", "q", "e", "--top", "-3"], "whole number|expected one argument"),
        (["match", "q", "e", "--top", "many"], "'many' is not a whole number from 1 up"),
        (["match", "q", "e", "--engine", "warp"], "invalid choice: 'warp'"),
        (["explain", "q", "--top-k", "0"], "a whole number from 1 to 256, not '0'"),
        (["build", "q", "-o", "f", "--top-k", "257"], "a whole number from 1 to 256, not '257'"),
        (["check", "q", "--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_wrong_usage_is_exit_code_two(argv, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main.main(argv)
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert any(part in printed.err for part in message.split("|"))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (penstock.DataError("bad table"), "bad table"),
        (penstock.DeviceError("no board"), "no board"),
        (penstock.QueryError(penstock.Problem("bad", hint="good")), "bad\nhint: good"),
        (ValueError("k must be at least 1"), "k must be at least 1"),
        (KeyError("no subscription 'x'"), "no subscription 'x'"),
        (KeyboardInterrupt(), "stopped"),
        (
            ValueError("[bold]not markup[/] :smile: \x1b[2J"),
            "[bold]not markup[/] :smile: \u241b[2J",
        ),
    ],
)
def test_what_the_user_can_mend_is_a_message_and_exit_code_one(run, monkeypatch, error, told):
    monkeypatch.setattr(match, "read_queries", raising(error))
    assert run("match", "q.sql", "e.csv") == (1, "", f"penstock: {told}\n")


def raising(error):
    def fail(*arguments):
        raise error

    return fail


def test_our_own_faults_are_not_hidden(monkeypatch):
    monkeypatch.setattr(check, "read_queries", raising(AssertionError("cannot happen")))
    with pytest.raises(AssertionError, match="cannot happen"):
        main.main(["check", "q.sql"])


def test_names_that_no_file_can_have_are_told(run):
    assert run("check", "a\0b") == (1, "", "penstock: there is no file 'a\\x00b'\n")
    assert "holds no query set" in run("check", "")[2]
    long = piped("check", "x" * 5000)
    assert (long.returncode, long.stdout) == (1, "")
    assert "File name too long" in long.stderr
    assert "Traceback" not in long.stderr


def test_names_that_are_not_utf_8_are_shown_anyhow(tmp_path):
    path = os.fsencode(tmp_path) + b"/bad\xff.sql"
    Path(os.fsdecode(path)).write_text(
        "CREATE STREAM s (n INT); CREATE SUBSCRIPTION x ON s WHERE m;"
    )
    for options in ([], [b"--json"]):
        done = subprocess.run([*COMMAND, b"check", path, *options], capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (1, b"")
        assert b"unknown attribute 'm'" in done.stdout


def test_command_is_installed_and_runs_as_a_module(rules):
    script = Path(sys.executable).with_name("penstock")
    by_name = subprocess.run([script, "check", rules], capture_output=True, text=True, timeout=60)
    assert (by_name.returncode, by_name.stderr) == (0, "")
    assert piped("check", rules).stdout == by_name.stdout


def test_full_disk_is_an_error_not_a_traceback(rules):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "check", rules], stdout=full, stderr=subprocess.PIPE, text=True, env=USUAL
        )
    assert done.returncode == 1
    assert done.stderr == "penstock: [Errno 28] No space left on device\n"


def test_reader_that_never_reads_is_no_error(rules):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "check", rules], stdout=writer, stderr=subprocess.PIPE, text=True, env=USUAL
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupt_stops_with_one_line(tmp_path):
    fifo = tmp_path / "q.sql"
    os.mkfifo(fifo)
    command = subprocess.Popen(
        [*COMMAND, "check", fifo],
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, children would ignore it as they do.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        with fifo.open("w"):  # opens once the command has, which then reads for ever
            time.sleep(0.5)  # Python looks for signals, then waits for data: not in between
            command.send_signal(signal.SIGINT)
            _, err = command.communicate(timeout=60)
    finally:
        command.kill()
    assert (command.returncode, err) == (1, "penstock: stopped\n")


def test_errors_are_red_on_a_terminal_only(tmp_path):
    code, out = on_terminal("check", tmp_path / "none.sql")
    assert code == 1
    assert out.startswith("\x1b[1;31mpenstock:")
    assert piped("check", tmp_path / "none.sql").stderr.startswith("penstock: there is no file")


def test_long_errors_are_not_broken_into_lines(tmp_path):
    _, out = on_terminal("check", tmp_path / ("x" * 150 + ".sql"), columns=40)
    assert out.count("\n") == 1


def test_output_may_be_any_text_stream(rules, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main.main(["check", str(rules)]) == 0
    assert "3 subscriptions" in stream.getvalue()
