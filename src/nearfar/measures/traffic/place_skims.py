"""Totals along the shortest paths between places on edges, from those between vertices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.snap import Snapped
from nearfar.graph.turns import TurnGraph, named_graph
from nearfar.solve.places.entries import check_weights, entries, part, same_edge
from nearfar.solve.places.table import numbered

#: Lengths and totals between vertices.
Between = tuple["NDArray[Any]", list["NDArray[Any]"]]


def place_skims(
    graph: Graph | TurnGraph,
    origins: Snapped,
    destinations: Snapped,
    quantities: list[NDArray[Any]],
    between: Callable[[NDArray[np.int64], NDArray[np.int64]], Between],
) -> Between:
    """Return lengths and totals between places; infinite without a path.

    The shortest of the paths through the ends of both edges counts, with the shares of the
    quantities on edges that are travelled in part.
    """
    check_weights(named_graph(graph))
    graphs = [graph, *(_with_quantity(graph, values.astype(np.float64)) for values in quantities)]
    leaving = [entries(each, origins, True) for each in graphs]
    arriving = [entries(each, destinations, False) for each in graphs]
    starts, rows = numbered(leaving[0].vertex)
    stops, columns = numbered(arriving[0].vertex)
    lengths, totals = between(starts, stops)
    reached = lengths != unreached_value(lengths.dtype)
    found = [np.full((len(origins), len(destinations)), np.inf) for _ in graphs]
    for a in range(rows.shape[1]):
        i = np.flatnonzero(rows[:, a] >= 0)
        for b in range(columns.shape[1]):
            j = np.flatnonzero(columns[:, b] >= 0)
            if not len(i) or not len(j):
                continue
            at, here = np.ix_(rows[i, a], columns[j, b]), np.ix_(i, j)
            ways = [table[at] + leave.cost[i, a, None] + arrive.cost[j, b]
                    for table, leave, arrive in zip([lengths, *totals], leaving, arriving,
                                                    strict=True)]  # fmt: skip
            better = reached[at] & (ways[0] < found[0][here])
            for table, way in zip(found, ways, strict=True):
                table[here] = np.where(better, way, table[here])
    i, j = same_edge(origins, destinations)
    along = [part(named_graph(each), origins, destinations, i, j) for each in graphs]
    better = along[0] <= found[0][i, j]
    for table, way in zip(found, along, strict=True):
        table[i[better], j[better]] = way[better]
    return found[0], found[1:]


def _with_quantity(graph: Graph | TurnGraph, values: NDArray[np.float64]) -> Graph | TurnGraph:
    """Return the graph with a quantity as weights, which is 0 on turns."""
    if not isinstance(graph, TurnGraph):
        return graph.with_weights(values)
    arrays = graph.starts, graph.ends, graph.vertices, graph.edges, np.zeros_like(graph.extra)
    return TurnGraph(graph.original.with_weights(values), graph.graph, *arrays)
