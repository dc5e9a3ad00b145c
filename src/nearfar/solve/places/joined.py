"""Graphs with a place as an additional vertex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import VertexError
from nearfar.graph.build import row_edges, row_starts
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.lines import EDGE_LINES, OF_EDGES, EdgeLines, edge_lines
from nearfar.solve.places.entries import check_weights, entries
from nearfar.solve.places.given import as_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OPTIONS: dict[str, Any] = {"to": "edge", "parts": "largest", "max_distance": None}


def with_place(graph: Graph, place: Any) -> tuple[Graph, Any]:
    """Return the graph with one place as its last vertex, and the name of that vertex.

    Weights become float64, since a fraction of a weight is not an integer. O(n + m).
    """
    snapped = as_places(graph, place, "source", {**_OPTIONS, "threads": None}).snapped
    if len(snapped) != 1 or not snapped.found[0]:
        raise VertexError("source is several places, or none within max_distance: give one place")
    check_weights(graph)
    n = graph.n_vertices
    leave, arrive = (entries(graph, snapped, leaving) for leaving in (True, False))
    out, into = (ways.vertex[0] >= 0 for ways in (leave, arrive))
    tails = np.concatenate([graph.tails(np.int64), np.full(out.sum(), n), arrive.vertex[0][into]])
    heads = np.concatenate([graph.indices, leave.vertex[0][out], np.full(into.sum(), n)])
    costs = [graph.effective_weights, leave.cost[0][out], arrive.cost[0][into]]
    # A stable sort preserves the order of the graph's edges, with new ones last in each row.
    order = np.argsort(tails, kind="stable")
    indptr = np.searchsorted(tails[order], np.arange(n + 2))
    attributes = {k: v for k, v in graph.attributes.items() if k not in OF_EDGES}
    lines = edge_lines(graph)
    if lines is not None:
        attributes[EDGE_LINES] = _reordered(lines, order)
    made = Graph(
        indptr,
        heads[order],
        np.concatenate(costs).astype(np.float64)[order],
        directed=True,
        vertex_names=_names(graph, snapped.x[0], snapped.y[0]),
        coordinates=np.vstack([graph.coordinates, [snapped.x[0], snapped.y[0]]]),  # type: ignore[list-item]
        attributes=attributes,
        copy=False,
    )
    return made, made.name_of(n)


def _reordered(lines: EdgeLines, order: NDArray[np.int64]) -> EdgeLines:
    """Return the lines of edges in another order; additional edges are straight."""
    added = len(order) + 1 - len(lines.first)
    first = np.append(lines.first, np.full(added, lines.first[-1]))
    return EdgeLines(row_starts(np.diff(first)[order]), lines.xy[row_edges(first, order)[1]])


def _names(graph: Graph, x: float, y: float) -> Any:
    """Return the names of the vertices plus one, or None if there are none."""
    numbers = graph.vertex_numbers
    if numbers is not None:
        return None if graph.vertex_names is None else range(numbers.start, numbers.stop + 1)
    names = np.empty(graph.n_vertices + 1, dtype=object)
    names[:-1] = graph.vertex_names.tolist()  # type: ignore[union-attr]
    names[-1] = (float(x), float(y))
    return names
