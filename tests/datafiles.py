"""Location of the real graphs: ``$NEARFAR_DATA``, else ``../shared/data``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["data_path", "data_root"]


def data_root() -> Path:
    """Return the data folder, whether it exists or not."""
    own = os.environ.get("NEARFAR_DATA")
    return Path(own) if own else Path(__file__).resolve().parents[2] / "shared" / "data"


def data_path(name: str) -> Path:
    """Return one data file; skip the test with a message if it is missing.

    With ``NEARFAR_REQUIRE_DATA=1``, as in CI, the test fails instead.
    """
    path = data_root() / name
    if not path.exists():
        if os.environ.get("NEARFAR_REQUIRE_DATA", "0") not in ("", "0"):
            pytest.fail(f"data file {name} is not here, but NEARFAR_REQUIRE_DATA is set")
        pytest.skip(f"data file {name} is not here: set NEARFAR_DATA to the data folder")
    return path
