"""The benches' own modules, with results in a folder of their own."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture
def timing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHES)
    module = importlib.import_module("timing")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return module


@pytest.fixture
def results(tmp_path: Path) -> Any:
    """Reads the figures that a bench has written."""

    def read(name: str) -> list[dict[str, Any]]:
        return json.loads((tmp_path / "results" / f"{name}.json").read_text())["figures"]

    return read
