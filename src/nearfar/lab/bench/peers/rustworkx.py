"""rustworkx: ``digraph_dijkstra_shortest_path_lengths``.

Best treatment: edge payloads are floats and the cost function is the built-in ``float``, the
cheapest callable; the timing does not include converting rustworkx's mapping.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer


class Rustworkx(Peer):
    """Dijkstra of rustworkx, one thread."""

    name = "rustworkx"
    package = "rustworkx"
    bytes_per_edge = 150  # measured on a Kronecker graph, while it is built

    def prepare(self, graph: Graph) -> None:
        """Return a directed graph with float payloads."""
        import rustworkx

        n = graph.n_vertices
        self.n_vertices = n
        self.graph = rustworkx.PyDiGraph(node_count_hint=n, edge_count_hint=graph.n_edges)
        self.graph.add_nodes_from(range(n))
        rows = graph.tails(np.int64)
        block = 1 << 20
        weights = graph.effective_weights.astype(np.float64)
        for start in range(0, graph.n_edges, block):
            part = slice(start, start + block)
            triples = zip(
                rows[part].tolist(),
                graph.indices[part].tolist(),
                weights[part].tolist(),
                strict=True,
            )
            self.graph.add_edges_from(list(triples))

    def solve(self, source: int) -> Any:
        """Return the distances from one source, as its mapping; the source itself is not in it."""
        import rustworkx

        self.source = source
        return rustworkx.digraph_dijkstra_shortest_path_lengths(self.graph, source, float)

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return the mapping as an array."""
        values = np.full(self.n_vertices, np.inf)
        values[np.fromiter(answer.keys(), np.int64, len(answer))] = np.fromiter(
            answer.values(), np.float64, len(answer)
        )
        values[self.source] = 0.0
        return values
