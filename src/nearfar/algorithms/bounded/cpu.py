"""Bounded searches on CPU cores, one source per worker at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cpu.rows import answer_rows, masks
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.registry import (
    Answer,
    Estimate,
    Partial,
    Request,
    RowReduction,
    SparseRows,
    Workspace,
    variant,
)

_AT_ONCE = 4096  # sources whose sparse rows are reduced at a time
_FEW = 24  # vertices within the limit, from which nearby sources are searched together
_ADDED = {"sum": "sum", "mean": "sum", "summary": "sum", "harmonic": "harmonic"}


def _cost(facts: Facts, request: Request) -> Estimate | None:
    """Estimate by a fit to searches on one core that reach 1 to 10,000 vertices of two graphs."""
    if request.predecessors or not _binds(facts.graph, request.limit):
        return None
    reach = facts.within(request.limit, request.sources, request.n_sources)  # type: ignore[arg-type]
    if reach is None:
        return None
    settled, edges = reach
    one = settled * (8e-9 + 1e-9 * math.log2(settled + 1)) + 1.3e-8 * edges
    one = 4e-8 + one / _gain_together(facts, request, settled)
    if request.comes_back and not request.sparse:
        width = facts.n if request.targets is None else len(request.targets)
        one += width * (3e-10 if request.targets is None else 5e-9)
    workers = max(1, min(request.threads, request.n_sources))
    return Estimate(
        1e-5 + request.n_sources * one / workers, f"about {settled:,.0f} vertices within the limit"
    )


def _gain_together(facts: Facts, request: Request, settled: float) -> float:
    """Return the speedup for sources near each other, fitted to ``benchmarks/within_limit.py``."""
    if request.comes_back or request.sparse or settled < _FEW:
        return 1.0
    around = request.n_sources * settled / facts.n  # sources within the limit of a source
    return min(max(math.sqrt(around / 8), 1.0), 5.0)


def _scratch(graph: Graph, request: Request) -> int:
    """Return the bytes of the workers' tables, at most those of the whole graph."""
    reach = None
    if request.limit is not None:
        reach = Facts(graph).within(request.limit, request.sources, request.n_sources)
    most = graph.n_vertices if reach is None else min(graph.n_vertices, 16 * int(reach[0]) + 1024)
    return 96 * most * request.threads


def _binds(graph: Graph, limit: float | None) -> bool:
    """Return whether no distance within the limit can leave the dtype."""
    return limit is not None and limit < unreached_value(graph.weight_dtype)


def _rows(graph: Graph, sources: NDArray[np.int64], workspace: Workspace) -> SparseRows:
    """Search from each source and return sparse rows."""
    indptr, vertices, distances, edges = _cpu.bounded_rows(
        graph.view, sources, workspace.limit, workspace.threads
    )
    return indptr, vertices, distances, {"edges_relaxed": edges, "iterations": len(sources)}


def _sparse(
    graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
) -> SparseRows | None:
    """Return the vertices within the limit, row by row in order of distance."""
    if not _binds(graph, workspace.limit):
        return None
    return _rows(graph, sources, workspace)


def _reduced(
    graph: Graph, sources: NDArray[np.int64], workspace: Workspace, reduction: RowReduction
) -> Answer:
    """Reduce the sparse rows of the searches, unless the reduction selects columns."""
    if workspace.columns is not None or not _binds(graph, workspace.limit):
        return Answer(None)
    if reduction.kind in ("nearest", "histogram"):
        return reduced_in_parts(lambda part: _rows(graph, part, workspace), sources, reduction)
    stats = {"edges_relaxed": 0, "iterations": len(sources)}
    counts, most, totals, stats["edges_relaxed"] = _cpu.bounded_figures(
        graph.view, sources, workspace.limit, workspace.threads, _ADDED.get(reduction.kind, "")
    )
    return Answer(None, stats, partials=[Partial(counts, totals, most)])


def reduced_in_parts(
    solve: Callable[[NDArray[np.int64]], SparseRows],
    sources: NDArray[np.int64],
    reduction: RowReduction,
) -> Answer:
    """Reduce sparse rows to the nearest or to histograms, for some sources at a time."""
    partials: list[Partial] = []
    stats: dict[str, Any] = {}
    for first in range(0, max(len(sources), 1), _AT_ONCE):
        rows = solve(sources[first : first + _AT_ONCE])
        stats = {name: value + stats.get(name, 0) for name, value in rows[-1].items()}
        partials.append(_of_sparse_rows(rows, reduction))
    return Answer(None, stats, partials=partials)


def _of_sparse_rows(sparse: SparseRows, reduction: RowReduction) -> Partial:
    """Reduce sparse rows to their nearest vertices or to a histogram; the source does not count."""
    indptr, vertices, distances, _ = sparse
    count = len(indptr) - 1
    counts = np.diff(indptr) - 1
    rows = np.repeat(np.arange(count), counts)
    others = np.ones(len(vertices), np.bool_)
    others[indptr[:-1]] = False
    vertices, distances = vertices[others], distances[others]
    if reduction.kind == "histogram":
        edges: NDArray[Any] = np.asarray(reduction.edges)
        if distances.dtype.kind == "i":  # exact beyond 2**53 too
            most = unreached_value(np.dtype(np.int64))
            edges = np.array([most if e >= most else math.ceil(max(e, -1)) for e in edges])
        bins: Any = np.searchsorted(edges, distances, side="right") - 1
        inside = (bins >= 0) & (bins < len(edges) - 1)
        width = len(edges) - 1
        flat = np.bincount(rows[inside] * width + bins[inside], minlength=count * width)
        return Partial(bins=flat.reshape(count, width).astype(np.int64))
    k = reduction.k
    place = np.arange(len(vertices), dtype=np.int64)
    place -= np.repeat(np.cumsum(counts) - counts, counts)
    first: NDArray[Any] = place < k
    nearest = np.full((count, k), -1, np.int64)
    near = np.full((count, k), unreached_value(distances.dtype), distances.dtype)
    nearest[rows[first], place[first]] = vertices[first]
    near[rows[first], place[first]] = distances[first]
    return Partial(vertices=nearest, distances=near)


@variant(
    "bounded",
    device="cpu",
    problems={"batch", "all_pairs"},
    summary="each worker searches within the limit with a heap, distances in a hash table",
    paper="dijkstra-1959",
    complexity="O(k r log r) for r vertices within the limit and their edges",
    cost=_cost,
    scratch=_scratch,
    reduces=True,
    sparse=_sparse,
)
def bounded(
    graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
) -> Answer:
    """Search within the limit from each source and fill dense rows, or reduce sparse ones."""
    if workspace.reduction is not None:
        return _reduced(graph, sources, workspace, workspace.reduction)
    out = answer_rows(workspace, len(sources), graph.n_vertices, graph.weight_dtype)
    stats = _cpu.bounded_fill(
        graph.view, sources, out, workspace.columns, workspace.limit, workspace.threads
    )
    limit = workspace.limit
    masked = masks(limit, graph.weight_dtype) and _binds(graph, limit)
    return Answer(out, stats, masked=masked)
