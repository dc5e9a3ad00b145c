"""Blocked Floyd-Warshall on CPU cores: tiles of 64 in vector registers, threaded phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cpu.distances.float_rows import exact_rows, rows_in_32_bits
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.cpu.potentials import potentials
from nearfar.errors import OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import heaviest_path, widest
from nearfar.registry import Answer, Estimate, Request, Workspace, variant


@dataclass(frozen=True, slots=True)
class FloydWarshallOptions:
    """Options of ``floyd_warshall@cpu`` and ``floyd_warshall@cuda``.

    Parameters
    ----------
    exact : bool
        For floats: whether to sweep over the rows afterwards, so that they equal those of the other
        methods bit for bit. Integers are exact either way. Required for predecessors.
    """

    exact: bool = True


def needs_64_bits(graph: Graph) -> bool:
    """Return whether the sum of two paths may not fit the 32 bits of the weights."""
    return graph.weight_dtype == np.int32 and heaviest_path(graph) >= 2**28


def keeps_predecessors(
    graph: Graph, options: FloydWarshallOptions, workspace: Workspace, overflow: bool
) -> bool:
    """Return whether to compute the requested predecessors from the matrix.

    With negative weights the common pass computes breadth-first trees over tight edges row by row;
    after an overflow the run is repeated.
    """
    if not workspace.predecessors:
        return False
    if graph.weight_dtype.kind == "f" and not options.exact:
        raise OptionError("predecessors need exact distances: omit exact=False")
    return not graph.n_negative and not overflow


def rows_left(before: Any, distances: Any) -> Any:
    """Return the rows in which a reached vertex other than the source lacks a predecessor.

    Only edges that add nothing (weight 0, or absorbed by a float sum) lead to such vertices.
    """
    waiting = (before < 0) & (distances != unreached_value(np.dtype(distances.dtype)))
    return waiting.sum(axis=1) > 1


def _predecessors(graph: Graph, distances: NDArray[Any], threads: int) -> NDArray[Any]:
    """Compute predecessors from the finished matrix with a second product of tiles."""
    found = np.empty(distances.shape, dtype=graph.vertex_dtype)
    _cpu.floyd_warshall_predecessors(graph.view, distances, found, needs_64_bits(graph), threads)
    for i in np.flatnonzero(rows_left(found, distances)).tolist():
        found[i] = tight_predecessors(graph, i, distances[i])
    return found


def fits_matrix(graph: Graph, request: Request) -> Literal[True] | str:
    """Return True if sums of paths fit 64 bits, or the reason why not; the same on any device."""
    bits = {"int32": 61, "int64": 61, "float64": 1020}.get(graph.weight_dtype.name)
    if graph.weight_dtype.kind == "f" and not graph.n_negative:
        return True  # float sums beyond the range are infinite, as in every search
    if bits is not None and heaviest_path(graph) >= 2**bits:
        return f"Floyd-Warshall needs path weights below 2^{bits}"
    return True


def in_range(graph: Graph) -> Graph:
    """Return the graph, in float64 if sums of its paths may fall below the range of float32."""
    below = graph.weight_dtype == np.float32 and graph.n_negative
    return widest(graph) if below and heaviest_path(graph) >= 2**124 else graph


def filled(facts: Facts) -> str:
    """Describe the density of the graph."""
    return f"{facts.m / max(facts.n * facts.n, 1):.0%} of the matrix are edges"


def _cost(facts: Facts, request: Request) -> Estimate | None:
    """Estimate integers only, since floats take another sweep over the edges for every row."""
    if facts.dtype.kind != "i" or facts.n > 50_000:
        return None
    workers = max(1, min(request.threads, request.n_sources))
    return Estimate(1e-5 + (-(-facts.n // 64) * 64) ** 3 * 4e-11 / workers, filled(facts))


def matrix_bytes(graph: Graph, request: Request) -> int:
    """Return the bytes of the matrix in whole tiles, doubled for predecessors."""
    matrices = 2 if request.predecessors else 1
    return matrices * (-(-graph.n_vertices // 64) * 64) ** 2 * graph.weight_dtype.itemsize


@variant(
    "floyd_warshall",
    device="cpu",
    problems={"all_pairs"},
    weights="any",
    options=FloydWarshallOptions,
    predecessors=True,
    requires=fits_matrix,
    paper="floyd-1962",
    section="blocked after Venkataraman et al. 2003",
    summary="blocked matrix form for dense or small graphs",
    complexity="O(n^3)",
    cost=_cost,
    scratch=matrix_bytes,
)
def floyd_warshall(
    graph: Graph, sources: NDArray[np.int64], options: FloydWarshallOptions, workspace: Workspace
) -> Answer:
    """Solve all pairs by blocked Floyd-Warshall, which needs memory for three matrices.

    Predecessors take a second product of tiles, about as long as the first.
    """
    n, solved = graph.n_vertices, in_range(graph)
    h = potentials(solved)
    given = workspace.out
    whole = given is not None and given.shape == (n, n) and given.dtype == solved.weight_dtype
    out = given if whole else np.empty((n, n), dtype=solved.weight_dtype)
    every = np.arange(n, dtype=np.int64)
    integer = graph.weight_dtype.kind == "i"
    overflow = _cpu.floyd_warshall(solved.view, out, needs_64_bits(graph), workspace.threads)
    stats: dict[str, Any] = {
        "iterations": -(-n // 64),
        "edges_relaxed": n * n * n,
        "saturated": overflow,
    }
    if not integer and options.exact:
        shift = h if graph.n_negative else None
        stats["repeated_rows"] = exact_rows(solved, every, out, shift, workspace.threads)
    if solved is not graph:
        out, lost = rows_in_32_bits(graph, every, out, workspace.threads)
        stats["saturated"] = np.flatnonzero(np.isin(sources, lost)).tolist()
    before = None
    if keeps_predecessors(graph, options, workspace, overflow):
        before = _predecessors(graph, out, workspace.threads)
        before = before if len(sources) == n and (sources == every).all() else before[sources]
    picked = out if len(sources) == n and (sources == every).all() else out[sources]
    if workspace.columns is not None:
        picked = np.ascontiguousarray(picked[:, workspace.columns])
    return Answer(picked, stats, before)
