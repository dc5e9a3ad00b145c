"""Where the real graphs are: ``$NEARFAR_DATA``, else ``../shared/data`` beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["data_path", "data_root"]


def data_root() -> Path:
    """The data folder, whether it exists or not."""
    own = os.environ.get("NEARFAR_DATA")
    return Path(own) if own else Path(__file__).resolve().parents[2] / "shared" / "data"


def data_path(name: str) -> Path:
    """One data file; the test is skipped, saying so, where it is missing."""
    path = data_root() / name
    if not path.exists():
        pytest.skip(f"data file {name} is not here: set NEARFAR_DATA to the data folder")
    return path
