"""One search from many sources: the distance of every vertex from the nearest of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph import Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["join_sources", "nearest_of"]


def join_sources(graph: Graph, sources: NDArray[Any]) -> Graph:
    """The graph with a further vertex, number n, that has an edge of weight 0 to every source.

    A search from vertex n is then a search from all sources, and its shortest-path tree says which
    source each vertex hangs from. O(n + m).
    """
    indptr = np.append(graph.indptr, graph.n_edges + len(sources))
    indices = np.concatenate((graph.indices, sources.astype(graph.indices.dtype)))
    zeros = np.zeros(len(sources), dtype=graph.weight_dtype)
    return Graph(indptr, indices, np.concatenate((graph.effective_weights, zeros)))


def nearest_of(before: NDArray[Any], root: int) -> NDArray[np.int64]:
    """The source above every vertex, by pointer jumping: O(n log depth).

    Parameters
    ----------
    before : int array, shape (root + 1,)
        Predecessors of a search from ``root`` in a joined graph.
    root : int
        The further vertex.

    Returns
    -------
    int64 array, shape (root,)
        -1 for unreached vertices.
    """
    top = (before == root) | (before < 0)
    jump = np.where(top, np.arange(root + 1), before)
    while True:
        further = jump[jump]
        if np.array_equal(further, jump):
            break
        jump = further
    found = jump[:root].astype(np.int64)
    found[before[found] < 0] = -1
    return found
