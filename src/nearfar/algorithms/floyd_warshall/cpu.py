"""Blocked Floyd-Warshall on CPU cores: tiles of 64 in vector registers, threaded phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from nearfar import _cpu
from nearfar.errors import SolverError
from nearfar.negative_cycles import potentials
from nearfar.registry import Answer, Request, Workspace, variant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph import Graph

__all__ = ["FloydWarshallOptions", "floyd_warshall", "longest_path"]


@dataclass(frozen=True, slots=True)
class FloydWarshallOptions:
    """Options of ``floyd_warshall@cpu``.

    Parameters
    ----------
    exact : bool
        For floats: whether to sweep over the rows afterwards, so that they are bit for bit what the
        other methods return. Integers are exact either way.
    """

    exact: bool = True


def longest_path(graph: Graph) -> int:
    """No path of the graph has a weight of larger magnitude (integers)."""
    heaviest = max(abs(int(graph.max_weight)), abs(int(graph.min_weight)))
    return heaviest * max(graph.n_vertices - 1, 1)


def _fits(graph: Graph, request: Request) -> Literal[True] | str:
    if graph.weight_dtype.kind == "i" and longest_path(graph) >= 2**61:
        return "Floyd-Warshall needs path weights below 2^61"
    return True


@variant(
    "floyd_warshall",
    device="cpu",
    problems={"all_pairs"},
    weights="any",
    options=FloydWarshallOptions,
    requires=_fits,
    paper="floyd-1962",
    section="blocked after Venkataraman et al. 2003",
    summary="blocked matrix form for dense or small graphs",
    complexity="O(n^3)",
)
def floyd_warshall(
    graph: Graph, sources: NDArray[np.int64], options: FloydWarshallOptions, workspace: Workspace
) -> Answer:
    """All pairs by blocked Floyd-Warshall; needs three times the matrix while it runs."""
    n = graph.n_vertices
    h = potentials(graph)
    given = workspace.out
    whole = given is not None and given.shape == (n, n) and given.dtype == graph.weight_dtype
    out = given if whole else np.empty((n, n), dtype=graph.weight_dtype)
    integer = graph.weight_dtype.kind == "i"
    wide = graph.weight_dtype == np.int32 and longest_path(graph) >= 2**28
    overflow = _cpu.floyd_warshall(graph.view, out, wide, workspace.threads)
    stats = {"iterations": -(-n // 64), "edges_relaxed": n * n * n, "saturated": overflow}
    if not integer and options.exact:
        rows = np.arange(n, dtype=np.int64)
        shift = h if graph.n_negative else None
        left = _cpu.polish_rows(graph.view, rows, out, shift, workspace.threads)
        if left and not graph.n_negative:
            raise SolverError(f"{left} rows could not be made exact: please report this")
        stats["inexact_rows"] = left
    picked = out if len(sources) == n and (sources == np.arange(n)).all() else out[sources]
    if workspace.columns is not None:
        picked = np.ascontiguousarray(picked[:, workspace.columns])
    return Answer(picked, stats)
