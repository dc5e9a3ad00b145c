"""SciPy: ``scipy.sparse.csgraph.dijkstra``.

Best treatment: a CSR matrix with float64 data made beforehand, which SciPy takes without a copy;
directed (the arrays hold both directions of an undirected graph already); no limit, no
predecessors.
"""

from __future__ import annotations

from typing import Any

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer


class Scipy(Peer):
    """Dijkstra with a Fibonacci heap, one thread."""

    name = "scipy"
    package = "scipy"

    def prepare(self, graph: Graph) -> None:
        """Return a CSR matrix with float64 data."""
        from scipy.sparse import csr_matrix

        n = graph.n_vertices
        data = graph.effective_weights.astype("float64")
        self.graph = csr_matrix((data, graph.indices, graph.indptr), shape=(n, n))

    def solve(self, source: int) -> Any:
        """Return the distances from one source."""
        from scipy.sparse import csgraph

        search: Any = csgraph.dijkstra
        return search(self.graph, directed=True, indices=source)
