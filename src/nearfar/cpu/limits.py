"""Limits as the searches in C++ read them."""

from __future__ import annotations

from typing import Any

import numpy as np


def exact_limit(dtype: np.dtype[Any], limit: float) -> bool:
    """Return whether a search's own limit equals the caller's: from 2**53 on it may be greater."""
    return dtype.kind == "f" or limit < 2**53
