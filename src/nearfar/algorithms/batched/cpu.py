"""Many sources on CPU cores: one source a worker, and one source a lane of vector registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from nearfar import _cpu
from nearfar.algorithms.batched.options import LaneOptions, WorkerOptions
from nearfar.registry import Answer, Request, Workspace, variant

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["lanes", "worker_per_source"]

BATCH = frozenset({"batch", "all_pairs"})


def answer_rows(graph: Graph, sources: NDArray[Any], workspace: Workspace) -> NDArray[Any]:
    """Memory for the answer: the caller's, or new."""
    columns = graph.n_vertices if workspace.columns is None else len(workspace.columns)
    shape = (len(sources), columns)
    if workspace.out is not None and workspace.out.shape == shape:
        return workspace.out  # type: ignore[no-any-return]
    return np.empty(shape, dtype=graph.weight_dtype)


@variant(
    "worker_per_source",
    device="cpu",
    problems=BATCH,
    options=WorkerOptions,
    summary="each worker searches over buckets, or a heap in small graphs, keeping its memory",
    paper="meyer-sanders-2003",
    section="sequential delta-stepping; below 512 vertices Dijkstra's method",
    complexity="O(k (n + m + d / delta)) on average, O(k (n + m) log n) over a heap",
)
def worker_per_source(
    graph: Graph, sources: NDArray[np.int64], options: WorkerOptions, workspace: Workspace
) -> Answer:
    """One source a worker; with columns, only those, and each search stops at the last."""
    out = answer_rows(graph, sources, workspace)
    stats = _cpu.per_source(
        graph.view,
        sources,
        out,
        workspace.columns,
        workspace.limit,
        workspace.threads,
        options.buckets(graph),
    )
    return Answer(out, stats)


def _fits_lanes(graph: Graph, request: Request) -> Literal[True] | str:
    if graph.indptr.dtype != np.int32:
        return "lanes need 32-bit vertex indices"
    return True


@variant(
    "lanes",
    device="cpu",
    problems=BATCH,
    options=LaneOptions,
    requires=_fits_lanes,
    summary="8 to 64 sources in the lanes of vector registers, an edge read once for all",
    paper="dial-1969",
    complexity="O(k n m / width) in the worst case, a few scans a vertex in practice",
)
def lanes(
    graph: Graph, sources: NDArray[np.int64], options: LaneOptions, workspace: Workspace
) -> Answer:
    """One source a lane; 16-bit lanes first for integers, repeated wider where they do not fit."""
    out = answer_rows(graph, sources, workspace)
    delta = options.delta if options.delta is not None else graph.mean_weight / 4
    stats = _cpu.lanes(
        graph.view,
        sources.astype(np.int32),
        out,
        workspace.columns,
        workspace.limit,
        float(delta),
        options.width or 0,
        workspace.threads,
    )
    return Answer(out, stats)
