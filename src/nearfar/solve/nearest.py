"""One search from many sources: the distance of every vertex from the nearest of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["join_sources", "nearest_of"]


def join_sources(graph: Graph, sources: NDArray[Any]) -> Graph:
    """The graph with a further vertex, number n, that has an edge of weight 0 to every source.

    A search from vertex n is then a search from all sources, and its shortest-path tree says which
    source each vertex hangs from. O(n + m).
    """
    if graph.device_arrays is not None:
        return _join_there(graph, sources)
    indptr = np.append(graph.indptr, graph.n_edges + len(sources))
    indices = np.concatenate((graph.indices, sources.astype(graph.indices.dtype)))
    zeros = np.zeros(len(sources), dtype=graph.weight_dtype)
    return Graph(indptr, indices, np.concatenate((graph.effective_weights, zeros)), copy=False)


def _join_there(graph: Graph, sources: NDArray[Any]) -> Graph:
    """The same for a graph of device arrays, where they lie."""
    cp = runtime.cupy()
    indptr, indices, weights = graph.device_arrays
    end = cp.asarray(np.array([graph.n_edges + len(sources)], dtype=graph.index_dtype))
    zeros = cp.zeros(len(sources), dtype=graph.weight_dtype)
    ones = cp.ones(graph.n_edges, dtype=np.int32) if weights is None else weights
    joined: Graph = Graph.from_csr(
        cp.concatenate((indptr, end)),
        cp.concatenate((indices, cp.asarray(sources.astype(graph.index_dtype)))),
        cp.concatenate((ones, zeros)),
        copy=False,
    )
    return joined


def nearest_of(before: Any, root: int) -> Any:
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
        -1 for unreached vertices. On the device for predecessors there.
    """
    here = runtime.cupy() if runtime.is_device_array(before) else np
    top = (before == root) | (before < 0)
    jump = here.where(top, here.arange(root + 1), before)
    while True:
        further = jump[jump]
        if bool((further == jump).all()):
            break
        jump = further
    found = jump[:root].astype(np.int64)
    found[before[found] < 0] = -1
    return found
