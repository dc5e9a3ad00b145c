"""Conversion of float rows added in another order to the sums that a search computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.graph.graph import Graph
from nearfar.system.threads import on_threads


def exact_rows(
    graph: Graph,
    sources: NDArray[np.int64],
    rows: NDArray[Any],
    shift: NDArray[Any] | None,
    threads: int,
) -> int:
    """Replace approximate rows by sums along the paths from the sources, in place.

    Return the number of rows that were searched again.
    """
    left = _cpu.polish_rows(graph.view, sources, rows, shift, threads)
    searched_rows(graph, sources, rows, threads, left)
    return len(left)


def searched_rows(
    graph: Graph,
    sources: NDArray[np.int64],
    rows: NDArray[Any],
    threads: int,
    which: Sequence[int],
) -> None:
    """Fill some rows by the subtree method; sums below the range of floats are -inf.

    If rounding improves sums around a cycle of weight 0, only that method refuses them.
    """

    def one(k: int) -> None:
        i = which[k]
        _cpu.bellman_ford_subtree(graph.view, int(sources[i]), rows[i], False)

    on_threads(one, len(which), threads, graph.n_vertices + graph.n_edges)


def rows_in_32_bits(
    graph: Graph, sources: NDArray[np.int64], rows: NDArray[Any], threads: int
) -> tuple[NDArray[Any], list[int]]:
    """Convert float64 rows to those of a search in float32; also return the rows that overflow."""
    top = float(np.finfo(np.float32).max)
    lost = ((np.abs(rows) > top) & (rows < np.inf)).any(axis=1)
    short = np.clip(rows, -top, np.inf)
    short[short < np.inf] = np.minimum(short[short < np.inf], top)
    out = short.astype(np.float32)
    exact_rows(graph, sources, out, np.zeros(graph.n_vertices, np.float32), threads)
    lost |= (out == -np.inf).any(axis=1)
    return out, np.flatnonzero(lost).tolist()
