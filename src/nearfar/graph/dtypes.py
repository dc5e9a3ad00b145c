"""Dtypes of weights and distances, and their special values."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

WEIGHT_DTYPES = tuple(np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64))


@functools.cache
def weight_dtype_of(given: Any) -> np.dtype[Any] | None:
    """Return the weight dtype that a caller named, or None if it is not supported."""
    try:
        dtype = None if given is None else np.dtype(given)
    except (SyntaxError, TypeError, ValueError):
        return None
    return dtype if dtype in WEIGHT_DTYPES else None


@functools.cache
def unreached_value(dtype: np.dtype[Any]) -> Any:
    """Return the distance of an unreached vertex: inf, or the maximum of an integer dtype."""
    return dtype.type(np.inf) if dtype.kind == "f" else dtype.type(np.iinfo(dtype).max)


def limit_in_dtype(limit: float | None, dtype: np.dtype[Any]) -> Any:
    """Return a limit rounded up to the dtype of the distances; None becomes "unreached".

    Device code compares in that dtype; the caller masks by the exact limit afterwards.
    """
    top = unreached_value(dtype)
    if limit is None or limit >= top.item():
        return top
    if dtype.kind == "f":
        with np.errstate(over="ignore"):  # beyond float32 is infinity
            return np.nextafter(dtype.type(limit), dtype.type(np.inf))
    return dtype.type(max(math.ceil(limit), -1))
