"""Check that the arrays of a prepared graph agree with each other and with its graph.

The C++ loops index by these arrays without checks, so a file is validated before use; a checksum
only shows that it is unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import GraphError
from nearfar.prepared.metric.arc_weights import value_dtype
from nearfar.prepared.prepared import Prepared
from nearfar.system.threads import default_threads


def check_contents(prepared: Prepared) -> None:
    """Refuse arrays whose entries do not belong together.

    O(arcs + edges) for the structure and O(triangles) for the weights, on all cores: about as long
    as computing the checksums.
    """
    preparation, metric = prepared.preparation, prepared.metric.on_host()
    if prepared.fixed is not None and not prepared.fixed.stands_for(prepared):
        raise GraphError("fixed.weights is not that of this graph")
    graph = prepared.summed
    threads, view = default_threads(), preparation.view
    tree, arcs, figures = preparation.tree, preparation.arcs, preparation.figures
    wrong = _cpu.prepared_check_arcs(view, tree.arcs, graph.indptr, graph.indices, threads)
    if not wrong and (figures.n_arcs != arcs.n_arcs or figures.height != tree.height):
        wrong = "figures"
    if not wrong and metric.weights.dtype != value_dtype(graph):
        wrong = "metric.weights"
    if not wrong:
        weights = graph.effective_weights
        again = np.empty_like(metric.weights)
        if metric.sides == 1 and not _cpu.prepared_symmetric(view, weights, None, threads):
            wrong = "metric.weights"
        else:
            _cpu.prepared_customize(view, weights, again, metric.sides, threads)
            wrong = "" if _same_weights(again, metric.weights) else "metric.weights"
    queries = (("up", 0, metric.up), ("down", metric.sides - 1, metric.down))
    for name, side, part in queries[: metric.sides]:
        if not wrong and not _cpu.prepared_check_queries(
            view, metric.weights, metric.sides, side,
            part.first, part.head_depth, part.weight, threads,
        ):  # fmt: skip
            wrong = name
    if wrong:
        raise GraphError(f"{wrong} is not that of this graph and order")


def _same_weights(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether arcs have equal weights, where all values for "no path" are equal."""
    if one.dtype != np.int64:
        return np.array_equal(one, other)
    # With negative weights any value beyond "no path" means that too (value.hpp).
    far = np.iinfo(np.int64).max // 2
    none = far // 2
    return int(other.max(initial=0)) <= far and np.array_equal(
        np.minimum(one, none), np.minimum(other, none)
    )
