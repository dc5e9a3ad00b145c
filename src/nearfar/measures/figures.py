"""Figures of a graph that determine the choice of a method.

Degrees and weights come from one pass over the edges. Components come from SciPy. The extent of the
graph is measured by two breadth-first and two weighted sweeps: the second of each pair starts at
the farthest vertex of the first. They give lower bounds on the diameter in edges and in weight. The
double sweep is exact on trees and close on road networks (Magnien, Latapy, Habib: "Fast computation
of empirically tight bounds for the diameter of massive graphs", JEA 13, 2009).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import OptionError, keyword, quoted
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.measures.describe_report import GraphStatistics, Reach
from nearfar.solve.one import sssp
from nearfar.solve.steps.request import as_graph


def describe(graph: GraphLike, source: Any = None, *, seed: int = 1) -> GraphStatistics:
    """Measure degrees, weights, components and extent of a graph.

    ``shape`` is ``"dense"`` from a mean out-degree of 100; else ``"long"`` if the diameter bound
    in edges exceeds four times ``log2(n)``; else ``"skewed"`` if the greatest out-degree exceeds
    20 times the mean plus 20; else ``"random"``.

    Parameters
    ----------
    graph : graph_like
    source : int, vertex name or None
        Start of the first sweep. None takes ``attributes["source_vertex"]`` of the graph, if there
        is one, else a random vertex of the largest strongly connected part, or the vertex of
        greatest out-degree if that part is tiny.
    seed : int
        Seed of that draw.

    Returns
    -------
    GraphStatistics

    Raises
    ------
    OptionError
        If the seed is not an integer.
    VertexError
        If the source is not a vertex of the graph.
    GraphError
        If ``graph`` is not a graph.

    Notes
    -----
    O(n + m) for counts and components, plus four single-source runs (two with negative weights).
    Whether preparing pays off is computed from an elimination order if that takes less than a
    second (up to 100,000 vertices and few hubs), else estimated from samples; ``preparing.exact``
    says which.

    Examples
    --------
    >>> from nearfar.generators import generate
    >>> describe(generate("path", vertices=5, directed=False)).reach.diameter_hops
    4
    """
    from nearfar.prepared.outlook import outlook

    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise OptionError(f"{keyword('seed')} is {quoted(seed)}: give an integer")
    graph = as_graph(graph)
    n, m = graph.n_vertices, graph.n_edges
    nbytes = graph.nbytes  # before the sweeps cache packed edges
    degrees = graph.degrees
    loops, parallel, most_in, lonely = _cpu.edge_counts(graph.view)
    weak, strong = _components(graph)
    reach = None
    if n:
        start = _draw(graph, strong, seed) if source is None else graph.index_of(source, "source")
        reach = _sweeps(graph, start)
    return GraphStatistics(
        n_vertices=n,
        n_edges=m,
        directed=graph.directed,
        nbytes=nbytes,
        degree={
            "min": int(degrees.min()) if n else 0,
            "median": float(np.median(degrees)) if n else 0.0,
            "mean": graph.mean_degree,
            "p99": float(np.quantile(degrees, 0.99, method="lower")) if n else 0.0,
            "max": int(degrees.max()) if n else 0,
            "max_in": most_in,
        },
        degree_counts=_degree_counts(degrees),
        isolated=lonely,
        without_out_edges=int(np.count_nonzero(degrees == 0)),
        self_loops=loops,
        parallel_edges=parallel,
        weight_dtype=graph.weight_dtype.name if graph.is_weighted else None,
        weight=_weights(graph),
        weak_components=weak[0],
        largest_weak=weak[1],
        strong_components=strong[0],
        largest_strong=strong[1],
        reach=reach,
        shape=_shape(graph, reach),
        preparing=outlook(graph) if n else None,
    )


def _shape(graph: Graph, reach: Reach | None) -> str:
    if reach is None or not graph.n_edges:
        return "empty"
    if graph.mean_degree >= 100:
        return "dense"
    if reach.diameter_hops > 4 * math.log2(max(graph.n_vertices, 2)):
        return "long"
    if int(graph.degrees.max()) > 20 * graph.mean_degree + 20:
        return "skewed"
    return "random"


def _degree_counts(degrees: NDArray[Any]) -> list[tuple[int, int, int]]:
    """Return numbers of vertices by out-degree, in classes 0, 1, 2, 3, 4, 5..8, 9..16, ..."""
    if not len(degrees):
        return []
    counts = np.bincount(np.minimum(degrees, 4), minlength=5)
    listed = [(d, d, int(counts[d])) for d in range(4)]
    listed.append((4, 4, int(np.count_nonzero(degrees == 4))))
    low, most = 5, int(degrees.max())
    while low <= most:
        high = 2 * (low - 1)
        listed.append((low, high, int(np.count_nonzero((degrees >= low) & (degrees <= high)))))
        low = high + 1
    used = [i for i, (_, _, count) in enumerate(listed) if count]
    return listed[used[0] : used[-1] + 1]


def _weights(graph: Graph) -> dict[str, Any]:
    weights = graph.weights
    if weights is None:
        one = 1 if graph.n_edges else 0
        return {"min": one, "median": one, "mean": one, "max": one, "zero": 0, "negative": 0}
    sample = weights[:: max(1, len(weights) // 1_000_000)]
    return {
        "min": _plain(graph.min_weight),
        "median": float(np.median(sample)) if len(sample) else 0.0,
        "mean": graph.mean_weight,
        "max": _plain(graph.max_weight),
        "zero": int(len(weights) - np.count_nonzero(weights)) if graph.has_zero_weight else 0,
        "negative": graph.n_negative,
    }


def _components(graph: Graph) -> tuple[tuple[int, int, Any], tuple[int, int, Any]]:
    """Count weak and strong components and the vertices of the largest, and mark those."""
    if not graph.n_vertices:
        return (0, 0, None), (0, 0, None)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = graph.n_vertices
    # SciPy's search for strong components may not terminate on parallel edges: merge them first.
    ones = np.ones(graph.n_edges, dtype=np.bool_)
    matrix = csr_array((ones, graph.indices.copy(), graph.indptr.copy()), shape=(n, n))
    matrix.sum_duplicates()

    def parts(connection: Any) -> tuple[int, int, Any]:
        count, label = connected_components(matrix, directed=True, connection=connection)
        sizes = np.bincount(label)
        largest = int(np.argmax(sizes))
        return int(count), int(sizes[largest]), label == largest

    strong = parts("strong")
    return (parts("weak") if graph.directed else strong), strong


def _draw(graph: Graph, strong: tuple[int, int, Any], seed: int) -> int:
    """Choose the start of the first sweep.

    This is the source vertex in the graph's attributes; else a random vertex of the largest strong
    part if that is at least a hundredth of the graph; else the vertex of greatest out-degree.
    """
    named = graph.attributes.get("source_vertex")
    if isinstance(named, int) and 0 <= named < graph.n_vertices:
        return named
    if strong[1] * 100 < graph.n_vertices:
        return int(np.argmax(graph.degrees))
    from nearfar.generators.random import Stream

    candidates = np.flatnonzero(strong[2])
    drawn = Stream(seed, "statistics.source").integers(0, len(candidates) - 1, 1)
    return int(candidates[int(drawn[0])])


def _sweeps(graph: Graph, source: int) -> Reach:
    """Sweep twice by edges and, without negative weights, twice by weight."""
    plain = graph.without_weights()
    reached, hops, far = _sweep(plain, source)
    _, back, _ = _sweep(plain, far)
    distance = widest = None
    if not graph.is_weighted:
        distance, widest = hops, max(hops, back)
    elif not graph.n_negative:
        _, distance, far = _sweep(graph, source)
        _, again, _ = _sweep(graph, far)
        widest = max(distance, again)
    return Reach(graph.name_of(source), reached, hops, distance, max(hops, back), widest)


def _sweep(graph: Graph, source: int) -> tuple[int, Any, int]:
    """Return the number of reached vertices, the greatest distance, and its vertex of lowest id."""
    name = graph.name_of(source)
    paths = sssp(graph, name, device="cpu")
    distances = np.where(paths.reachable, paths.distances, np.asarray(-1, paths.distances.dtype))
    far = int(np.argmax(distances))
    return int(np.count_nonzero(paths.reachable)), _plain(distances[far]), far


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
