"""Limits as the searches in C++ read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["exact_limit"]


def exact_limit(dtype: np.dtype[Any], limit: float | None) -> bool:
    """Return whether a search's own limit is the caller's: from 2**53 on it may lie above."""
    return limit is not None and (dtype.kind == "f" or limit < 2**53)
