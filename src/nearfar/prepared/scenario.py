"""Scenario: a prepared graph, and a copy with some edges closed or of another weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import GraphError, quoted
from nearfar.graph.build import HostArrays, checked_weights
from nearfar.graph.given import frozen
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.lines import closed_edges, edge_positions, tails_of
from nearfar.prepared.order.tree import Preparation

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared


class Scenario(NamedTuple):
    """Prepared graph and a copy with changed streets.

    :meth:`nearfar.Prepared.scenario` returns it; :func:`nearfar.table` accepts it and answers for
    both. Edges have the same positions in both graphs.

    Attributes
    ----------
    base : Prepared
    changed : Prepared
        Changed graph, which shares the order and the arcs.
    closed : int64 array
        Positions of the closed edges.
    factored : int64 array
        Positions of the edges with another weight.
    """

    base: Prepared
    changed: Prepared
    closed: NDArray[np.int64]
    factored: NDArray[np.int64]


def without_edges(
    prepared: Prepared, edges: NDArray[np.int64]
) -> tuple[Graph, Preparation, NDArray[np.int64]]:
    """Return the graph with edges closed, its structure without them, and their lower labels."""
    tree, arcs = prepared.preparation.tree, prepared.preparation.arcs
    heads = prepared.indices[edges]
    low = np.unique(np.minimum(tree.label[tails_of(prepared, edges)], tree.label[heads]))
    low = low.astype(np.int64)
    indices, weights, attributes, symmetric = closed_edges(prepared, edges)
    checked: Any = (weights, prepared._arrays.scan)
    if weights is not None and weights is not prepared.weights:
        checked = checked_weights(frozen(weights), prepared.n_edges)
    arrays = HostArrays(prepared.indptr, frozen(indices), *checked)
    graph = prepared._with_arrays(arrays, attributes=attributes, directed=not symmetric)
    # The entries of an edge are stored with its lower label, which has few.
    count = arcs.edge_first[low + 1] - arcs.edge_first[low]
    entry = np.repeat(arcs.edge_first[low] - np.cumsum(count) + count, count)
    entry += np.arange(len(entry))
    gone = entry[np.isin(arcs.edge[entry], edges)]
    left = _cpu.prepared_without_entries(arcs.edge_first, arcs.edge, arcs.edge_place, gone)
    return graph, prepared.preparation.with_edges(*left), low


def changes_of(
    prepared: Prepared, factor: Mapping[Any, float] | Sequence[tuple[Any, float]]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the edges that have a factor, and their new weights."""
    try:
        pairs = list(factor.items()) if hasattr(factor, "items") else list(factor)
    except TypeError:
        raise GraphError(
            f"factor is {quoted(factor)}: give a mapping from edges to numbers"
        ) from None
    edges, factors = [np.empty(0, np.int64)], [np.empty(0)]
    for pair in pairs:
        if not hasattr(pair, "__len__") or len(pair) != 2:
            raise GraphError(f"factor holds {quoted(pair)}: give (edges, number)")
        given, number = pair
        is_number = isinstance(number, (int, float, np.number)) and not isinstance(number, bool)
        if not is_number or not 0 <= number < np.inf:
            raise GraphError(f"factor is {quoted(number)}: give a number of at least 0")
        at = edge_positions(prepared, list(given) if isinstance(given, tuple) else given)
        edges.append(at)
        factors.append(np.full(len(at), float(number)))
    at = np.concatenate(edges)
    distinct, count = np.unique(at, return_counts=True)
    if (count > 1).any():
        raise GraphError(f"edge {distinct[int(np.argmax(count > 1))]} has two factors: give one")
    before = prepared.effective_weights[at]
    new = before * np.concatenate(factors)
    if before.dtype.kind == "i":
        new = np.rint(new)
        if (np.abs(new) > np.iinfo(before.dtype).max - 1).any():
            raise GraphError(f"a weight times its factor does not fit {before.dtype}")
    return at, new.astype(before.dtype)
