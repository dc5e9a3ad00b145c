"""Recompute rows of floats as the sums of a search, from rows that were added in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.graph import Graph


def exact_rows(
    graph: Graph,
    sources: NDArray[np.int64],
    rows: NDArray[Any],
    shift: NDArray[Any] | None,
    threads: int,
) -> int:
    """Replace approximate rows by the sums from the sources on, in place.

    If rounding lets a cycle of weight 0 improve forever, the row is searched by the subtree
    method, which refuses such improvements.
    """
    left = _cpu.polish_rows(graph.view, sources, rows, shift, threads)
    for i in left:
        _cpu.bellman_ford_subtree(graph.view, int(sources[i]), rows[i], False)
    return len(left)


def rows_in_32_bits(
    graph: Graph, sources: NDArray[np.int64], rows: NDArray[Any], threads: int
) -> tuple[NDArray[Any], list[int]]:
    """Return rows of float64 as a search in float32 computes them, and those that do not fit."""
    top = float(np.finfo(np.float32).max)
    lost = ((np.abs(rows) > top) & (rows < np.inf)).any(axis=1)
    short = np.clip(rows, -top, np.inf)
    short[short < np.inf] = np.minimum(short[short < np.inf], top)
    out = short.astype(np.float32)
    exact_rows(graph, sources, out, np.zeros(graph.n_vertices, np.float32), threads)
    lost |= (out == -np.inf).any(axis=1)
    return out, np.flatnonzero(lost).tolist()
