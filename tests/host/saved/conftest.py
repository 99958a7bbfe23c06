"""A saved set to break, and what it was after each of its changes."""

import shutil
from pathlib import Path

import pytest
from log_texts import (
    changed_set,
)


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
