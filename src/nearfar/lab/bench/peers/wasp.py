"""Wasp's ``sssp`` (D'Antonio et al., SC'25): asynchronous delta-stepping, C++ and OpenMP.

The program is the one that ``NEARFAR_WASP_SSSP`` names, or ``wasp-sssp`` on PATH; it must be built
with ``-DUSE_INT32``. ``NEARFAR_WASP_SSSP_FLOAT``, or ``wasp-sssp-float``, is the program for
float32. It is built on GAP's benchmark suite, with the same serialised graph, options, timing and
verification, and delta is searched as for GAP. On an undirected graph it also relaxes against the
edges, so a directed graph is written with its reversed edges unless they are the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.gap import Gap, write_wsg


class Wasp(Gap):
    """Wasp's asynchronous delta-stepping."""

    name = "wasp"
    command = "wasp-sssp"
    floats = True

    def write(self, graph: Graph, folder: Path) -> None:
        """Write the serialised form, with reversed edges unless they are the same."""
        backwards = graph.transpose() if graph.directed else None
        if backwards is not None:
            # Reversing twice sorts the rows, as in the reversed graph.
            again = Graph.from_csr(backwards.indptr, backwards.indices, backwards.weights)
            if _equal(backwards, again.transpose()):
                backwards = None
        write_wsg(graph, folder / "graph.wsg", backwards)
        self.heaviest = graph.max_weight


def _equal(one: Graph, other: Graph) -> bool:
    """Return whether both have the same edges in the same order."""
    return (
        np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.effective_weights, other.effective_weights)
    )
