"""Proof of an answer in O(n + m), sound for zero-weight edges and independent of the solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar._cpu import Flaw
from nearfar.answer.paths import Paths
from nearfar.answer.turn_paths import TurnPaths
from nearfar.errors import GraphError, OptionError, ProofError
from nearfar.graph.dtypes import WEIGHT_DTYPES, unreached_value
from nearfar.graph.given import as_numpy
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import widened
from nearfar.graph.turns import TurnGraph
from nearfar.options import check_limit
from nearfar.prepared import is_prepared
from nearfar.raster.surface import Surface

_BROKEN = {
    Flaw.source_distance: "the source {v} has distance {dv}, not 0",
    Flaw.impossible_distance: (
        "vertex {v} has distance {dv}, which no path with these weights can have"
    ),
    Flaw.beyond_limit: "vertex {v} has distance {dv}, beyond the limit {limit}",
    Flaw.missed: "vertex {v} is unreached, but the edge from {u} (distance {du}) reaches it",
    Flaw.not_shortest: (
        "vertex {v} has distance {dv}, but the edge from {u} (distance {du}) gives a shorter one"
    ),
    Flaw.source_predecessor: "the source {v} has predecessor {u}: it must have none",
    Flaw.overflow: "the distance of vertex {v} through {u} (distance {du}) does not fit the dtype",
    Flaw.no_vertex: "vertex {v} has predecessor {u}, which is not a vertex",
    Flaw.no_predecessor: (
        "vertex {v} has distance {dv}, but no predecessor with a tight edge leads to it"
    ),
    Flaw.unreached_predecessor: (
        "vertex {v} (distance {dv}) has predecessor {u}: unreached vertices neither have nor are "
        "predecessors"
    ),
    Flaw.not_tight: (
        "no edge from the predecessor {u} (distance {du}) gives vertex {v} its distance {dv}"
    ),
    Flaw.circle: (
        "the predecessors of vertex {v} form a cycle through {u} that never reaches the source"
    ),
}


def certify(
    graph: Graph, source: Any, distances: Any, predecessors: Any = None, limit: Any = None
) -> None:
    """Prove distances and predecessors given as plain arrays.

    Parameters
    ----------
    graph : Graph
    source : int or vertex name
    distances : array, shape (n,)
        Dtype of the weights, or int64 for an int32 graph. If one is integer and the other float,
        both are converted to float64.
    predecessors : int array, shape (n,), or None
        Vertex indices, as in :attr:`nearfar.Paths.predecessors`. None derives them from tight
        edges. With negative weights and a limit they are required, including those of vertices
        beyond the limit.
    limit : number or None
        Inclusive limit of the run.

    Raises
    ------
    ProofError
        If the answer is wrong; the error names the first vertex or edge that breaks the proof.
    VertexError, OptionError, GraphError
        For a bad source or limit, or unsuitable arrays.

    Notes
    -----
    The proof checks that the source has distance 0; that no edge can be relaxed (up to the limit);
    that no edge leads from a reached to an unreached vertex (within the limit); that each reached
    vertex has a tight edge from its predecessor; and that the predecessors form a tree rooted at
    the source, since two vertices joined by zero-weight edges could justify each other's wrong
    distances. O(n + m).
    """
    start = graph.index_of(source, "source")
    values = _distances(graph, distances)
    limit = check_limit(limit, values.dtype)
    if values.shape != (graph.n_vertices,):
        raise ProofError(f"distances have shape {values.shape}: expected ({graph.n_vertices},)")
    if graph.n_negative and limit is not None and values.dtype == np.int32:
        # A path may visit a vertex beyond the limit whose distance does not fit 32 bits.
        values = widened(values, np.dtype(np.int64))
    given = values
    solved, values, limit = _tight_form(graph, start, values, limit)
    trees = None
    if predecessors is not None:
        trees = _predecessors(graph, predecessors)
        if trees.shape != values.shape:
            raise ProofError(f"predecessors have shape {trees.shape}: expected {values.shape}")
    if graph.n_negative and limit is not None:
        values, limit = _without_limit(solved, start, values, trees, limit), None
    flaw, u, v = _cpu.verify(solved.view, start, values, trees, bool(graph.n_negative), limit)
    if flaw is not None:
        du = given[u] if 0 <= u < len(given) else "none"
        raise _broken(graph, flaw, u, v, du=du, dv=given[v], limit=limit)


def _tight_form(
    graph: Graph, start: int, values: NDArray[Any], limit: Any
) -> tuple[Graph, NDArray[Any], Any]:
    """Return graph, distances and limit in the arithmetic in which the distances were added.

    A prepared graph adds floats in fixed point. Its distances are proven in fixed point, after
    checking that its integers represent the weights.
    """
    form = graph if values.dtype == graph.weight_dtype else graph.astype(values.dtype)
    solved, rows = form.tight_form(start, values)
    if is_prepared(form) and form.fixed is not None and solved is form.fixed.graph:
        if not form.fixed.stands_for(form):
            raise ProofError("the fixed-point weights do not represent the weights of the graph")
        limit = None if limit is None else form.fixed.steps_within(float(limit), form.weight_dtype)
    return solved, rows, limit


def _same_edges(one: Graph, other: Graph) -> bool:
    """Return whether two graphs have the same edges with the same weights, in the same order."""
    if one.n_edges != other.n_edges or one.weight_dtype != other.weight_dtype:
        return False
    parts = ("indptr", "indices", "effective_weights")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)


def _without_limit(
    graph: Graph, start: int, values: NDArray[Any], trees: NDArray[Any] | None, limit: float
) -> NDArray[Any]:
    """Return distances of the whole tree, after checking that masking them gives ``values``. O(m).

    With negative weights a vertex within the limit may be the child of one beyond it, so masked
    distances cannot be proven without predecessors.
    """
    if trees is None:
        raise OptionError(
            "with negative weights and a limit the proof needs the predecessors: a path may lead "
            "over vertices beyond the limit"
        )
    n = graph.n_vertices
    wrong = (trees < -1) | (trees >= n)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise _broken(graph, Flaw.no_vertex, trees[at], at)
    rows = graph.tails(np.int64)
    on_tree = trees[graph.indices] == rows
    none = unreached_value(values.dtype)
    step = np.full(n, none, dtype=values.dtype)  # the lightest edge from the predecessor
    np.minimum.at(step, graph.indices[on_tree], graph.effective_weights[on_tree])
    children = np.argsort(trees, kind="stable")
    first = np.searchsorted(trees[children], np.arange(n + 1))
    whole = np.full(n, none, dtype=values.dtype)
    whole[start] = 0
    open_ = [start]
    while open_:
        u = open_.pop()
        for v in children[first[u] : first[u + 1]].tolist():
            if step[v] == none:
                raise _broken(graph, Flaw.not_tight, u, v, du=whole[u], dv=values[v])
            if whole[v] == none:  # all but the source
                whole[v] = whole[u] + step[v]
                open_.append(v)
    kept = np.where(whole > limit, none, whole)
    if not np.array_equal(kept, values):
        v = int(np.argmax(kept != values))
        raise ProofError(
            f"vertex {graph.name_of(v)} has distance {values[v]}, but its path has length "
            f"{whole[v]} and the limit is {limit}"
        )
    return whole


def _broken(graph: Graph, flaw: Flaw, u: int, v: int, **values: Any) -> ProofError:
    """Return the error for a flaw in the proof, with external names for vertices."""
    names = [graph.name_of(int(at)) if 0 <= at < graph.n_vertices else at for at in (u, v)]
    return ProofError(_BROKEN[flaw].format(u=names[0], v=names[1], **values))


def _distances(graph: Graph, given: Any) -> NDArray[Any]:
    """Return contiguous distances in a dtype that the weights can be converted to."""
    values = as_numpy(given, "distances")
    dtype = values.dtype.newbyteorder("=")
    if dtype not in WEIGHT_DTYPES:
        raise GraphError(
            f"distances have dtype {values.dtype}: give int32, int64, float32 or float64"
        )
    floats = "f" in (dtype.kind, graph.weight_dtype.kind)
    if floats and dtype != graph.weight_dtype:  # rounded weights would prove nothing
        dtype = np.dtype(np.float64)
    return np.ascontiguousarray(values, dtype=dtype)


def _predecessors(graph: Graph, given: Any) -> NDArray[Any]:
    """Return contiguous predecessors in the dtype of vertices, without truncating any."""
    trees = as_numpy(given, "predecessors")
    if trees.size and trees.dtype.kind not in "iu":
        raise GraphError(f"predecessors have dtype {trees.dtype}: give integers")
    bounds = np.iinfo(graph.vertex_dtype)
    outside = (trees < bounds.min) | (trees > bounds.max)
    if outside.any():
        at = int(np.argmax(outside))
        raise _broken(graph, Flaw.no_vertex, trees.flat[at], at)
    return np.ascontiguousarray(trees, dtype=graph.vertex_dtype)


def verify(graph: Graph | TurnGraph, paths: Paths) -> None:
    """Prove an answer, or raise; see :func:`certify` for the proof.

    Predecessors are proven if the answer has them, and derived otherwise. An answer with turns
    is proven on the graph that was searched.

    Parameters
    ----------
    graph : Graph, TurnGraph or Raster
        Graph of the answer.
    paths : Paths or Surface
        Answer of :func:`nearfar.sssp`, or a surface of a Raster.

    Raises
    ------
    OptionError
        If ``paths`` is not such an answer, or the answer of another kind of graph.
    ProofError
        If the answer is wrong; the error names the first vertex or edge that breaks the proof.
    """
    if isinstance(paths, Surface):
        if paths.raster is not graph:
            raise OptionError("the surface belongs to another Raster: give the Raster it came from")
        paths.verify()
        return
    if not isinstance(paths, Paths):
        raise OptionError(
            f"verify proves an answer of nearfar.sssp, not {type(paths).__name__}: for an array "
            "of distances use nearfar.answer.certify(graph, source, distances)"
        )
    if isinstance(graph, TurnGraph):
        if not isinstance(paths, TurnPaths):
            raise OptionError("the graph has turns, but not the answer: give its own graph")
        verify(graph.graph, paths.searched)
        searched = paths.searched._host_distances[graph.ends]
        if not np.array_equal(searched, paths._host_distances):
            raise ProofError("the distances differ from those on the graph that was searched")
        return
    if isinstance(paths, TurnPaths):
        raise OptionError("the answer has turns: give the TurnGraph that it came from")
    made_in = paths.graph
    if is_prepared(made_in) and not is_prepared(graph) and _same_edges(made_in, graph):
        graph = made_in
    limit = paths.stats.get("proof_limit", paths.limit)
    certify(graph, paths.source, paths.distances, paths._predecessors, limit)
