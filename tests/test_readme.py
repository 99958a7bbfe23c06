"""The README and the manual do what they show, and name only what is there."""

import argparse
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_blocks import (
    PAGES,
    ROOT,
    RUN_PAGES,
    PageRunner,
    blocks,
    code_spans,
    make_targets,
    masked,
    tables,
)

import penstock
from penstock.cli.main import parser

KNOWN_BLOCKS = {"console", "csv", "json", "python", "sql", "sql broken", "sql refused", "text"}
BUILT = {"build", "dist", "metastore_db", "spark-warehouse"}


def page_id(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", RUN_PAGES, ids=page_id)
def test_commands_and_code_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    wrong = PageRunner(page, tmp_path).run()
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", RUN_PAGES, ids=page_id)
def test_every_block_is_of_a_kind_that_is_run(page: Path) -> None:
    found = blocks(page)
    assert found and {block.info for block in found} <= KNOWN_BLOCKS
    for before, block in pairwise(found):
        if block.info == "text":
            assert before.info == "python", f"{page.name}:{block.line} shows no block's output"
        if block.info in ("csv", "json", "sql broken"):
            assert block.file, f"{page.name}:{block.line} should be named, as in `rules.csv`:"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if ":" in link:
            continue  # of another place, which may be down while ours is right
        name, _, heading = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        assert not heading or heading in anchors(target), f"{link}: no such heading"


def anchors(page: Path) -> set[str]:
    """The headings of a page as links spell them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_make_targets_are_in_the_makefile(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    spans = [*code_spans(text), *re.findall(r"^(?:\$ |    )(make .*)$", text, re.MULTILINE)]
    named = {word for span in spans for word in re.findall(r"^make ([a-z]+)", span)}
    assert named <= make_targets()


def test_readme_maps_the_folders_that_are_there() -> None:
    rows = [row for _, rows in tables(ROOT / "README.md") for row in rows]
    mapped = {cell[1:-2] for cell, *_ in rows if re.fullmatch(r"`[\w.]+/`", cell)}
    there = {
        path.name
        for path in ROOT.iterdir()
        if path.is_dir()
        and not path.name.startswith((".", "__"))
        and not path.name.endswith(".egg-info")
    }
    assert mapped == {*(there - BUILT), ".ci"}


def commands() -> dict[str, argparse.ArgumentParser]:
    (actions,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(actions.choices)


def section(command: str) -> str:
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    found = re.search(rf"^## penstock {command}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"docs/command-line.md has no section on penstock {command}"
    return found[1]


@pytest.mark.parametrize("command", commands())
def test_manual_has_the_options_of_the_command_and_no_others(command: str) -> None:
    options = {name for a in commands()[command]._actions for name in a.option_strings}
    options -= {"-h", "--help"}
    named = set(re.findall(r"(?<![\w-])--?[a-z](?:[a-z-]*[a-z])?\b", section(command)))
    assert named == options


def test_manual_has_every_command_and_common_option() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## penstock (\w+)", text, re.MULTILINE)) == set(commands())
    assert all(f"`penstock {option}`" in text for option in ("--help", "--version"))


def test_manual_has_every_name_of_the_python_package() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    spans = " ".join(code_spans(text))
    missing = [name for name in penstock.__all__ if not re.search(rf"\b{name}\b", spans)]
    assert not missing


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "is shown to print"),
        ("```console\n$ penstock --version\npenstock 99\n```\n", "is shown to print"),
        ("```console\n$ cat nothing 2>&-\n```\n", "failed without `echo $?`"),
    ],
    ids=["Python", "command", "exit code"],
)  # fmt: skip
def test_page_that_shows_something_else_is_found_out(page: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page)
    (wrong,) = PageRunner(tmp_path / "page.md", tmp_path).run()
    assert fault in wrong


def test_only_timings_sizes_of_circuits_and_trailing_blanks_are_masked() -> None:
    assert masked("a: 7 bytes of Verilog, 1.0 s") == masked("a: 50,740 bytes of Verilog, 2.5 s")
    assert masked("3 events in 0.19 s  \n") == masked("3 events in 12.40 s")
    assert masked("3 events in 0.19 s") != masked("4 events in 0.19 s")
