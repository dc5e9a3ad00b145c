"""Functions of NetworkX over all pairs: Floyd-Warshall, and measures of one number per vertex.

Parameters, results and exceptions are those of the NetworkX functions of the same name. The
measures keep the count, the sum and the maximum of each row, for floats of a block of rows at a
time, so that they need no matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import networkx as nx
from nearfar import measures
from nearfar.errors import NegativeCycleError, UnreachableError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import may_saturate
from nearfar.networkx.graph import BackendGraph
from nearfar.networkx.search import blocks
from nearfar.solve.many import all_pairs, distances

# ---- Floyd-Warshall -----------------------------------------------------------------------------


def _leave_empty(G: BackendGraph) -> None:
    """Leave an empty graph to NetworkX, which takes a call back from NotImplementedError."""
    if len(G) == 0:
        raise NotImplementedError("the graph is empty: NetworkX decides")


def _leave_given(known: Any) -> None:
    """Leave a call with known distances to NetworkX: nothing remains to be computed."""
    if known is not None:
        raise NotImplementedError("distances are given: NetworkX decides")


def _matrix(G: BackendGraph, weight: Any, predecessors: bool = False) -> Any:
    _leave_empty(G)
    try:
        return all_pairs(G.weighted(weight), predecessors=predecessors)
    except NegativeCycleError:
        raise NotImplementedError("a negative cycle: NetworkX decides") from None


def _nested(G: BackendGraph, matrix: NDArray[Any]) -> dict[Any, dict[Any, Any]]:
    far = unreached_value(matrix.dtype)
    rows = {}
    for name, row in zip(G.names, matrix, strict=True):
        values = row.tolist()
        if matrix.dtype.kind == "i":
            for at in np.flatnonzero(row == far).tolist():
                values[at] = float("inf")
        rows[name] = dict(zip(G.names, values, strict=True))
    return rows


def floyd_warshall(G: BackendGraph, weight: Any = "weight") -> dict[Any, dict[Any, Any]]:
    """Return all distances in nested dicts, inf for unreached."""
    return _nested(G, _matrix(G, weight))


def floyd_warshall_predecessor_and_distance(
    G: BackendGraph, weight: Any = "weight"
) -> tuple[dict[Any, dict[Any, Any]], dict[Any, dict[Any, Any]]]:
    """Return all predecessors and distances in nested dicts."""
    matrix, before = _matrix(G, weight, predecessors=True)
    names, solved = G.names, G.weighted(weight)
    nested: dict[Any, dict[Any, Any]] = {}
    for i, row in enumerate(before):
        reached = np.flatnonzero(row >= 0)
        inner = {
            names[v]: names[p] for v, p in zip(reached.tolist(), row[reached].tolist(), strict=True)
        }
        out = solved.indices[solved.indptr[i] : solved.indptr[i + 1]]
        if (out == i).any():  # as NetworkX does for self-loops
            inner[names[i]] = names[i]
        if inner:
            nested[names[i]] = inner
    return nested, _nested(G, matrix)


def floyd_warshall_numpy(
    G: BackendGraph, nodelist: Any = None, weight: Any = "weight"
) -> NDArray[np.float64]:
    """Return all distances in a float64 matrix, inf for unreached."""
    order = None
    if nodelist is not None:
        listed = list(nodelist)
        if not (len(listed) == len(G) == len(set(listed))) or not all(map(G.has, listed)):
            raise nx.NetworkXError("nodelist must contain every node in G with no repeats.")
        order = [G.places[name] for name in listed]
    found = _matrix(G, weight)
    matrix: NDArray[np.float64] = found.astype(np.float64)
    matrix[found == unreached_value(found.dtype)] = np.inf
    return matrix if order is None else matrix[np.ix_(order, order)]


# ---- measures -----------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Number of reached vertices, sum and maximum of the distances of every row."""

    reached: list[int]
    total: list[Any]
    farthest: list[Any]


def _summaries(G: BackendGraph, solved: Graph, sources: NDArray[np.int64] | None = None) -> _Rows:
    _leave_empty(G)
    whole = solved.weight_dtype.kind == "i" and not solved.n_negative
    if whole and not may_saturate(solved, 2**53 // len(G)):  # sums are exact in float64
        others, sums, most = distances(solved, sources, reduce="summary")
        most = np.where(others > 0, most, 0)
        return _Rows((others + 1).tolist(), sums.astype(np.int64).tolist(), most.tolist())
    count, total, farthest = [], [], []
    for _, rows, _ in blocks(G, solved, sources=sources):
        reached = rows != unreached_value(rows.dtype)
        known = np.where(reached, rows, rows.dtype.type(0))
        count += np.count_nonzero(reached, axis=1).tolist()
        if known.dtype.kind == "i":
            # A row's sum may exceed 64 bits although its distances fit: it is then added in Python.
            safe = float(known.max()) * known.shape[1] < 2**62
            total += known.sum(axis=1, dtype=np.int64 if safe else object).tolist()
        else:
            total += known.sum(axis=1).tolist()
        farthest += known.max(axis=1).tolist()
    return _Rows(count, total, farthest)


def eccentricity(G: BackendGraph, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    """Return the eccentricity of one vertex or of several: the distance of the farthest vertex."""
    _leave_given(sp)
    _leave_empty(G)
    if v is None and not G.weighted(weight).n_negative:
        return dict(zip(G.names, _extent(measures.eccentricity, G, weight).tolist(), strict=True))
    single = v is not None and G.has(v)
    names: Iterable[Any] = [v] if single else list(G.original.nbunch_iter(v))
    listed = list(names)
    if not listed:
        return {}
    rows = _summaries(G, G.weighted(weight), np.array([G.places[name] for name in listed]))
    if min(rows.reached) < len(G):
        raise _infinite(G)
    return rows.farthest[0] if single else dict(zip(listed, rows.farthest, strict=True))


def _infinite(G: BackendGraph) -> nx.NetworkXError:
    kind = "digraph is not strongly" if G.is_directed() else "graph is not"
    return nx.NetworkXError(f"Found infinite path length because the {kind} connected")


def _extent(measure: Callable[[Graph], Any], G: BackendGraph, weight: Any, e: Any = None) -> Any:
    """Return a measure of the distances between all vertices, which takes few searches."""
    _leave_given(e)
    _leave_empty(G)
    solved = G.weighted(weight)
    if solved.n_negative:
        raise NotImplementedError("a negative weight: NetworkX decides")
    try:
        return measure(solved)
    except UnreachableError:
        raise _infinite(G) from None


def diameter(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the greatest eccentricity."""
    return _extent(measures.diameter, G, weight, e)


def radius(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    """Return the least eccentricity."""
    return _extent(measures.radius, G, weight, e)


def center(
    G: BackendGraph, e: Any = None, usebounds: bool = False, weight: Any = None
) -> list[Any]:
    """Return the vertices of least eccentricity."""
    return [G.names[at] for at in _extent(measures.center, G, weight, e)]


def periphery(
    G: BackendGraph, e: Any = None, usebounds: bool = False, weight: Any = None
) -> list[Any]:
    """Return the vertices of greatest eccentricity."""
    return [G.names[at] for at in _extent(measures.periphery, G, weight, e)]


def wiener_index(G: BackendGraph, weight: Any = None) -> Any:
    """Return the sum of the distances of all pairs; inf when the graph is not connected."""
    rows = _summaries(G, G.weighted(weight))
    if min(rows.reached) < len(G):
        return float("inf")
    total = sum(rows.total)
    return total if G.is_directed() else total / 2


def average_shortest_path_length(
    G: BackendGraph, weight: Any = None, method: str | None = None
) -> Any:
    """Return the mean distance of all pairs of different vertices."""
    if method is None:
        method = "unweighted" if weight is None else "dijkstra"
    known = ("unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy")
    if method not in known:
        raise ValueError(f"method not supported: {method}")
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept("the null graph has no paths to average")
    if n == 1:
        return 0
    solved = G.weighted(None if method == "unweighted" else weight)
    rows = _summaries(G, solved)
    if min(rows.reached) < n:
        raise nx.NetworkXError(
            "Graph is not strongly connected." if G.is_directed() else "Graph is not connected."
        )
    return sum(rows.total) / (n * (n - 1))


def closeness_centrality(
    G: BackendGraph,
    u: Any = None,
    distance: Any = None,
    wf_improved: bool = True,
    *,
    sp: Any = None,
) -> Any:
    """Return the reciprocal of the mean distance to a vertex from those that reach it."""
    _leave_given(sp)
    if u is not None and not G.has(u):
        raise nx.NodeNotFound(f"Source {u} is not in G")
    sources = None if u is None else np.array([G.places[u]])
    if len(G) == 0:
        return {}
    rows = _summaries(G, G.weighted(distance).transpose(), sources)
    n, found = len(G), []
    for count, total in zip(rows.reached, rows.total, strict=True):
        value = (count - 1.0) / total if total > 0 and n > 1 else 0.0
        found.append(value * ((count - 1.0) / (n - 1)) if wf_improved and n > 1 else value)
    return found[0] if u is not None else dict(zip(G.names, found, strict=True))
