"""Hypothesis strategies for graphs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from nearfar import Graph

INT32_MAX = 2**31 - 1


@st.composite
def indices(draw: Any, below: int, count: int) -> np.ndarray:
    """Draw integers below a number that is at most 256.

    One byte each: Hypothesis takes far longer to draw a list, number by number.
    """
    drawn = draw(st.binary(min_size=count, max_size=count))
    return np.frombuffer(drawn, dtype=np.uint8).astype(np.int64) % below


@functools.cache
def weight(dtype: str, low: int) -> st.SearchStrategy[Any]:
    """Return a strategy for zero, small, huge and tiny weights; making one takes long."""
    if np.dtype(dtype).kind == "i":
        return st.one_of(st.integers(low, 12), st.integers(max(low, 0), INT32_MAX // 64))
    return st.one_of(
        st.integers(low, 12).map(float),
        st.floats(low, 1e6, allow_nan=False, width=32 if dtype == "float32" else 64),
        st.sampled_from([0.0, -0.0, float(np.finfo(dtype).tiny) / 2, 1e-9, 1.0 + 1e-9]),
    )


@st.composite
def graphs(
    draw: Any,
    max_vertices: int = 24,
    max_edges: int = 80,
    dtypes: tuple[str, ...] = ("int32", "int64", "float32", "float64", "unweighted"),
    negative: bool = False,
) -> Graph:
    """Draw a small graph with loops, parallel edges and at most twenty different weights."""
    n = draw(st.integers(1, max_vertices))
    m = draw(st.integers(0, max_edges))
    dtype = draw(st.sampled_from(dtypes))
    weights = None
    if dtype != "unweighted":
        some = st.lists(weight(dtype, -6 if negative else 0), min_size=min(m, 10) or 1, max_size=20)
        values = np.array(draw(some), dtype=dtype)
        weights = values[draw(indices(len(values), m))]
    return Graph.from_edges(
        draw(indices(n, m)),
        draw(indices(n, m)),
        weights,
        n_vertices=n,
        directed=draw(st.booleans()) if not negative else True,
    )
