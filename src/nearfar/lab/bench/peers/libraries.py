"""Python libraries of the extra ``peers``: Dijkstra's method on one thread, in five forms.

Each has its best treatment: what it can prepare once is not timed, and the form of answer that its
users wait for is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer

_BLOCK = 1 << 20  # edges that are converted at a time


def _from_mapping(answer: Any, n: int) -> NDArray[np.float64]:
    """Return a mapping of vertices to distances as an array."""
    values = np.full(n, np.inf)
    reached = np.fromiter(answer.keys(), np.int64, len(answer))
    values[reached] = np.fromiter(answer.values(), np.float64, len(answer))
    return values


class Scipy(Peer):
    """``scipy.sparse.csgraph.dijkstra``, with a Fibonacci heap.

    A CSR matrix with float64 data, which SciPy takes without a copy, is made beforehand; it is
    directed, because the arrays hold both directions of an undirected graph already.
    """

    name = "scipy"
    package = "scipy"

    def prepare(self, graph: Graph) -> None:
        """Return a CSR matrix with float64 data."""
        from scipy.sparse import csr_matrix

        n = graph.n_vertices
        data = graph.effective_weights.astype("float64")
        self.graph = csr_matrix((data, graph.indices, graph.indptr), shape=(n, n))

    def solve(self, source: int) -> Any:
        """Return the distances from one source, without limit or predecessors."""
        from scipy.sparse import csgraph

        search: Any = csgraph.dijkstra
        return search(self.graph, directed=True, indices=source)


class Networkit(Peer):
    """``networkit.distance.Dijkstra`` without stored paths.

    The graph is built from arrays; making the solver, running it and reading the distances as an
    array are timed.
    """

    name = "networkit"
    package = "networkit"
    bytes_per_edge = 150  # measured on a Kronecker graph, while it is built

    def prepare(self, graph: Graph) -> None:
        """Return a directed weighted graph from coordinates."""
        import networkit

        ends = graph.tails(np.uint64), graph.indices.astype(np.uint64)
        edges = graph.effective_weights.astype(np.float64), ends
        self.graph = networkit.GraphFromCoo(edges, graph.n_vertices, weighted=True, directed=True)

    def solve(self, source: int) -> Any:
        """Return the distances from one source."""
        import networkit

        run = networkit.distance.Dijkstra(self.graph, source, storePaths=False)
        run.run()
        return run.getDistances(asarray=True)

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return distances; NetworKit's unreached value is the greatest double."""
        values = np.array(answer, dtype=np.float64)
        values[values == np.finfo(np.float64).max] = np.inf
        return values


class Rustworkx(Peer):
    """``rustworkx.digraph_dijkstra_shortest_path_lengths``.

    Edge payloads are floats and the cost function is the built-in ``float``, the cheapest callable;
    converting rustworkx's mapping is not timed.
    """

    name = "rustworkx"
    package = "rustworkx"
    bytes_per_edge = 150  # measured on a Kronecker graph, while it is built

    def prepare(self, graph: Graph) -> None:
        """Return a directed graph with float payloads."""
        import rustworkx

        n = self.n_vertices = graph.n_vertices
        self.graph = rustworkx.PyDiGraph(node_count_hint=n, edge_count_hint=graph.n_edges)
        self.graph.add_nodes_from(range(n))
        weights = graph.effective_weights.astype(np.float64)
        columns = graph.tails(np.int64), graph.indices, weights
        for start in range(0, graph.n_edges, _BLOCK):
            parts = (column[start : start + _BLOCK].tolist() for column in columns)
            self.graph.add_edges_from(list(zip(*parts, strict=True)))

    def solve(self, source: int) -> Any:
        """Return the distances from one source, as its mapping; the source itself is not in it."""
        import rustworkx

        self.source = source
        return rustworkx.digraph_dijkstra_shortest_path_lengths(self.graph, source, float)

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return the mapping as an array."""
        values = _from_mapping(answer, self.n_vertices)
        values[self.source] = 0.0
        return values


class Igraph(Peer):
    """``igraph.Graph.distances`` with ``algorithm="dijkstra"``.

    Graph and weight attribute are made beforehand. igraph copies the attribute into a C vector in
    every call and returns a list of lists; its users wait for both, so both are timed.
    """

    name = "igraph"
    package = "igraph"
    bytes_per_edge = 180  # measured on a Kronecker graph, while it is built
    max_edges = 10_000_000

    def prepare(self, graph: Graph) -> None:
        """Return a directed graph with the edge attribute ``weight``."""
        import igraph

        edges = np.column_stack([graph.tails(np.int64), graph.indices])
        self.graph = igraph.Graph(n=graph.n_vertices, edges=edges, directed=True)
        self.graph.es["weight"] = graph.effective_weights.astype(np.float64).tolist()

    def solve(self, source: int) -> Any:
        """Return the distances from one source, a list of lists."""
        return self.graph.distances(
            source=source, weights="weight", mode="out", algorithm="dijkstra"
        )

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return the only row."""
        return np.asarray(answer[0], dtype=np.float64)


class Networkx(Peer):
    """``networkx.single_source_dijkstra_path_length``, for graphs of up to a million edges."""

    name = "networkx"
    package = "networkx"
    bytes_per_edge = 600
    max_edges = 1_000_000

    def prepare(self, graph: Graph) -> None:
        """Return a directed graph with the attribute ``weight``; the least of parallel edges."""
        import networkx

        self.n_vertices = graph.n_vertices
        columns = graph.tails(np.int64), graph.indices, graph.effective_weights
        # A DiGraph keeps the last of parallel edges: enter them heaviest first.
        order = np.argsort(-columns[2].astype(np.float64), kind="stable")
        self.graph = networkx.DiGraph()
        self.graph.add_nodes_from(range(graph.n_vertices))
        self.graph.add_weighted_edges_from(
            zip(*(column[order].tolist() for column in columns), strict=True)
        )

    def solve(self, source: int) -> Any:
        """Return the distances from one source, a dict."""
        import networkx

        return networkx.single_source_dijkstra_path_length(self.graph, source)

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return the dict as an array."""
        return _from_mapping(answer, self.n_vertices)
