"""Hypothesis strategies for graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from nearfar import Graph

INT32_MAX = 2**31 - 1


@st.composite
def graphs(
    draw: Any,
    max_vertices: int = 24,
    max_edges: int = 80,
    dtypes: tuple[str, ...] = ("int32", "int64", "float32", "float64", "unweighted"),
    negative: bool = False,
) -> Graph:
    """Draw a small graph with loops, parallel edges, zero, huge and tiny weights."""
    n = draw(st.integers(1, max_vertices))
    m = draw(st.integers(0, max_edges))
    dtype = draw(st.sampled_from(dtypes))
    ends = st.lists(st.integers(0, n - 1), min_size=m, max_size=m)
    weights = None
    if dtype != "unweighted":
        low = -6 if negative else 0
        kind = np.dtype(dtype).kind
        if kind == "i":
            value = st.one_of(st.integers(low, 12), st.integers(max(low, 0), INT32_MAX // 64))
        else:
            width = 32 if dtype == "float32" else 64
            value = st.one_of(
                st.integers(low, 12).map(float),
                st.floats(low, 1e6, allow_nan=False, width=width),
                st.sampled_from([0.0, -0.0, float(np.finfo(dtype).tiny) / 2, 1e-9, 1.0 + 1e-9]),
            )
        weights = np.array(draw(st.lists(value, min_size=m, max_size=m)), dtype=dtype)
    return Graph.from_edges(
        np.array(draw(ends), dtype=np.int64),
        np.array(draw(ends), dtype=np.int64),
        weights,
        n_vertices=n,
        directed=draw(st.booleans()) if not negative else True,
    )
