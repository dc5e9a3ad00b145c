"""The graphs of Martin et al. (2009), section 6: by predecessors, as lists and as matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.generators import generate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nearfar.graph.graph import Graph

__all__ = ["SIZES", "graph_of", "source_of"]

# Multiples and their units: lists, matrices; then runs of the counterexample.
SIZES: dict[str, tuple[tuple[int, ...], int, tuple[int, ...], int, int]] = {
    "tiny": ((1, 2), 1 << 8, (1,), 1 << 5, 20),
    "small": ((1, 2, 4, 6, 8, 11), 1 << 15, (1, 3, 5, 8, 11, 15), 1 << 7, 200),
    "paper": (tuple(range(1, 12)), 1 << 20, tuple(range(1, 16)), 1 << 10, 1000),
}


def graph_of(what: Mapping[str, Any]) -> Graph:
    """Return the graph of a task; lists with the transpose that forms by predecessors need."""
    family = "martin" if what["kind"] == "list" else "martin_matrix"
    graph = generate(family, vertices=what["vertices"], seed=what["seed"])
    if what["kind"] == "list":
        graph.transpose()
    return graph


def source_of(graph: Graph) -> int:
    """Return vertex 0, the paper's source; the first with an out-edge where it has none."""
    return int(np.flatnonzero(graph.degrees)[0])
