"""Fixtures of tests of the automatic choice."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import Graph
from nearfar.generators import generate


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def grid() -> Graph:
    return generate("grid", rows=300, columns=300)
