"""The proof of an answer in O(n + m), sound for zero-weight edges and independent of the solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import ProofError

if TYPE_CHECKING:
    from nearfar.graph import Graph
    from nearfar.paths import Paths

__all__ = ["certify", "verify"]

_BROKEN = {
    1: "the source {v} has distance {dv}, not 0",
    2: "vertex {v} has distance {dv}, which no path with these weights can have",
    3: "vertex {v} has distance {dv}, beyond the limit {limit}",
    4: "vertex {v} is unreached, but the edge from {u} (distance {du}) reaches it",
    5: "vertex {v} has distance {dv}, but the edge from {u} (distance {du}) gives a shorter one",
    6: "the source {v} has predecessor {u}: it must have none",
    7: "the distance of vertex {v} through {u} (distance {du}) does not fit the dtype",
    8: "vertex {v} has predecessor {u}, which is no vertex",
    9: "vertex {v} has distance {dv}, but no predecessor with a tight edge leads to it",
    10: "vertex {v} (distance {dv}) has predecessor {u}: unreached vertices have and are none",
    11: "no edge from the predecessor {u} (distance {du}) gives vertex {v} its distance {dv}",
    12: "the predecessors of vertex {v} run in a circle through {u} and never reach the source",
}


def certify(
    graph: Graph,
    source: int,
    distances: Any,
    predecessors: Any = None,
    limit: Any = None,
) -> None:
    """Prove distances and predecessors given as plain arrays.

    Proven are: the source has distance 0; no edge can still be relaxed (up to the limit); reached
    and unreached agree across every edge; each reached vertex has a tight edge from its
    predecessor; and the predecessors form a tree rooted at the source. The last point is needed:
    two vertices joined by zero-weight edges could vouch for each other's wrong distance. O(n + m).

    Parameters
    ----------
    graph : Graph
    source : int
        Vertex index.
    distances : array, shape (n,)
        Dtype of the weights, or int64 for an int32 graph.
    predecessors : int array, shape (n,), or None
        None derives them from tight edges; that fails where no tree exists.
    limit : number or None
        The inclusive limit the run was given.

    Raises
    ------
    ProofError
        Naming the first vertex or edge that breaks the proof.
    """
    from nearfar import _cpu
    from nearfar.construct import as_numpy

    values = np.ascontiguousarray(as_numpy(distances, "distances"))
    if values.shape != (graph.n_vertices,):
        raise ProofError(f"distances have shape {values.shape}: expected ({graph.n_vertices},)")
    solved = graph if values.dtype == graph.weight_dtype else graph.astype(values.dtype)
    trees = None
    if predecessors is not None:
        trees = np.ascontiguousarray(
            as_numpy(predecessors, "predecessors"), dtype=graph.indptr.dtype
        )
        if trees.shape != values.shape:
            raise ProofError(f"predecessors have shape {trees.shape}: expected {values.shape}")
    code, u, v = _cpu.verify(solved.view, source, values, trees, bool(graph.n_negative), limit)
    if code:
        du = values[u] if 0 <= u < len(values) else "none"
        raise ProofError(_BROKEN[code].format(u=u, v=v, du=du, dv=values[v], limit=limit))


def verify(graph: Graph, paths: Paths) -> None:
    """Prove an answer, or raise; see :func:`certify` for what is proven.

    Predecessors are proven when the answer has them, and derived otherwise.

    Parameters
    ----------
    graph : Graph
    paths : Paths

    Raises
    ------
    ProofError
        Naming the first vertex or edge that breaks the proof.
    """
    limit = paths.stats.get("proof_limit", paths.limit)
    certify(graph, paths.source, paths.distances, paths._predecessors, limit)
