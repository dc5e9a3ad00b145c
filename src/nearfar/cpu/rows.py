"""Rows that variants on the CPU fill, and whether they are masked by the limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfar.registry import Workspace
from nearfar.system.memory import empty


def answer_rows(workspace: Workspace, k: int, n: int, dtype: np.dtype[Any]) -> Any:
    """Return the memory for k rows of the answer: the caller's if it fits, or a new array."""
    shape = (k, n if workspace.columns is None else len(workspace.columns))
    out = workspace.out
    fits = out is not None and out.shape == shape and out.dtype == dtype
    return out if fits else empty(shape, dtype, workspace.threads)


def masks(limit: float | None, dtype: np.dtype[Any]) -> bool:
    """Return whether a search excludes all beyond a limit, which is a double for integers."""
    return limit is not None and (dtype.kind == "f" or limit < 2**53)
