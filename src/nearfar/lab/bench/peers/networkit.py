"""NetworKit: ``networkit.distance.Dijkstra`` without stored paths.

Best treatment: the graph is built from arrays; the timed part is making the solver, running it
and reading the distances as an array. One source runs on one thread in NetworKit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer


class Networkit(Peer):
    """Dijkstra of NetworKit, one thread."""

    name = "networkit"
    package = "networkit"
    bytes_per_edge = 150  # measured on a Kronecker graph, while it is built

    def prepare(self, graph: Graph) -> None:
        """Return a directed weighted graph from coordinates."""
        import networkit

        rows = graph.tails(np.uint64)
        columns = graph.indices.astype(np.uint64)
        data = graph.effective_weights.astype(np.float64)
        self.graph = networkit.GraphFromCoo(
            (data, (rows, columns)), graph.n_vertices, weighted=True, directed=True
        )

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
