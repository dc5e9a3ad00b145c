"""python-igraph: ``Graph.distances`` with ``algorithm="dijkstra"``.

Best treatment: graph and weight attribute made beforehand. igraph copies the attribute into a C
vector in every call and returns a list of lists; its users wait for both, so both are timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer


class Igraph(Peer):
    """Dijkstra of igraph, one thread."""

    name = "igraph"
    package = "igraph"
    bytes_per_edge = 180  # measured on a Kronecker graph, while it is built
    max_edges = 10_000_000

    def prepare(self, graph: Graph) -> None:
        """Return a directed graph with the edge attribute ``weight``."""
        import igraph

        rows = graph.tails(np.int64)
        edges = np.column_stack([rows, graph.indices])
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
