"""Precision of limits in the C++ searches."""

from __future__ import annotations

from typing import Any

import numpy as np


def exact_limit(dtype: np.dtype[Any], limit: float) -> bool:
    """Return whether the search's limit, which is a double for integers, is exact."""
    return dtype.kind == "f" or limit < 2**53
