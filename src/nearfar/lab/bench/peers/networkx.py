"""NetworkX: ``single_source_dijkstra_path_length``, for graphs of up to a million edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer


class Networkx(Peer):
    """Dijkstra of NetworkX, one thread."""

    name = "networkx"
    package = "networkx"
    bytes_per_edge = 600
    max_edges = 1_000_000

    def prepare(self, graph: Graph) -> None:
        """Return a directed graph with the attribute ``weight``; the least of parallel edges."""
        import networkx

        self.n_vertices = graph.n_vertices
        rows = graph.tails(np.int64)
        columns, weights = graph.indices, graph.effective_weights
        # A DiGraph keeps the last of parallel edges: enter them heaviest first.
        order = np.argsort(-weights.astype(np.float64), kind="stable")
        self.graph = networkx.DiGraph()
        self.graph.add_nodes_from(range(graph.n_vertices))
        self.graph.add_weighted_edges_from(
            zip(rows[order].tolist(), columns[order].tolist(), weights[order].tolist(), strict=True)
        )

    def solve(self, source: int) -> Any:
        """Return the distances from one source, a dict."""
        import networkx

        return networkx.single_source_dijkstra_path_length(self.graph, source)

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return the dict as an array."""
        values = np.full(self.n_vertices, np.inf)
        values[np.fromiter(answer.keys(), np.int64, len(answer))] = np.fromiter(
            answer.values(), np.float64, len(answer)
        )
        return values
