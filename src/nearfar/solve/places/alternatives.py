"""Alternative routes between two places on a prepared graph, through vertices of separators.

A path via a vertex joins a shortest path to it and a shortest path from it. It is an alternative if
it is admissible (Abraham, Delling, Goldberg and Werneck 2013): it shares little with earlier
routes, its detours are not much longer than the parts of the shortest route that they replace, and
it is a shortest path around the vertex. Candidates are the vertices at which the search spaces of
both ends meet in the elimination tree, which are separators between the ends, and then
combinations of several such vertices. The search is in ``prepared/cpu/routes.cpp``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import OptionError, UnreachableError, quoted
from nearfar.graph.turns import real_edges, searched_graph
from nearfar.prepared.cpu.pairs import edges_of_path
from nearfar.prepared.prepared import Prepared
from nearfar.prepared.turns import PreparedTurns
from nearfar.solve.places.route import Route, chosen_ends, made_routes
from nearfar.solve.places.table import prepared_places
from nearfar.solve.steps.request import check_count

#: Candidate vertices tried per requested route.
_TRIES = 12


def routes(
    graph: Prepared | PreparedTurns,
    origin: Any,
    destination: Any,
    k: int = 3,
    *,
    stretch: float = 1.25,
    sharing: float = 0.8,
    local: float = 0.25,
    to: Literal["edge", "vertex"] = "edge",
    parts: Literal["largest", "all"] = "largest",
    max_distance: float | None = None,
) -> list[Route]:
    """Return the shortest route between two places, and admissible alternatives.

    Parameters
    ----------
    graph : Prepared or PreparedTurns
    origin, destination : places
        A single place each, as for :func:`nearfar.route`.
    k : int
        Maximum number of routes, including the shortest.
    stretch : float
        Maximum length of an alternative relative to the shortest route, and of each detour relative
        to the part that it replaces; at least 1.
    sharing : float
        Maximum length that an alternative shares with earlier routes, as a fraction of the shortest
        route's length, 0 to 1. With 1, routes only have to be distinct, and detours near the ends
        are included.
    local : float
        Fraction of the shortest route's length, above 0 and at most 1: a part of this length on
        both sides of the vertex that defines an alternative must be a shortest path.
    to, parts, max_distance
        As for :func:`nearfar.table`.

    Returns
    -------
    list of Route
        Routes in order of length, the shortest route first; often fewer than k.

    Raises
    ------
    UnreachableError
        If there is no path.
    OptionError
        If the graph is not prepared, or a number is out of range.

    Notes
    -----
    Two walks to the root of the elimination tree and at most 12 candidates per route. A candidate
    takes time for shortcuts that no earlier one has unpacked, and one distance per vertex. For
    route-choice models, which need many distinct routes of a pair, use
    ``routes(prepared, a, b, 1000, stretch=1.5, sharing=1, local=0.01)``.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges(
    ...     [0, 1, 0, 2], [1, 3, 2, 3], [4, 4, 5, 4], directed=False,
    ...     coordinates=[[0, 0], [1, 1], [1, -1], [2, 0]],
    ... )
    >>> [found.vertices for found in nearfar.routes(nearfar.prepare(g, force=True), 0, 3)]
    [[0, 1, 3], [0, 2, 3]]
    """
    searched = searched_graph(graph)
    if not isinstance(searched, Prepared):
        raise OptionError("routes needs a prepared graph: use nearfar.prepare(graph)")
    k = check_count("k", k, 1)
    for name, value, low, high in (
        ("stretch", stretch, 1, np.inf),
        ("sharing", sharing, 0, 1),
        ("local", local, 1e-9, 1),
    ):
        if not isinstance(value, (int, float, np.number)) or not low <= value <= high:
            raise OptionError(f"{name} is {quoted(value)}: give a number from {low:g} to {high:g}")
    options = {"to": to, "parts": parts, "max_distance": max_distance, "threads": 1}
    _, starts, stops = prepared_places(graph, "weight", origin, destination, options)
    solver = {"method": "auto", "device": "cpu", "threads": 1}
    ends = chosen_ends(graph, starts.snapped, stops.snapped, solver)
    if len(ends.length) != 1:
        raise OptionError("routes needs a single origin and a single destination")
    if not np.isfinite(ends.length[0]):
        raise UnreachableError("there is no way from the origin to the destination")
    if ends.first[0] < 0:
        return made_routes(ends, 0, [(np.empty(0, np.int64), float(ends.length[0]))])
    limits = float(stretch), float(sharing), float(local)
    found = _paths(searched, *ends.vertices(0), k, *limits)
    if ends.turns is not None:  # distinct paths of the searched graph remain distinct
        found = [(real_edges(ends.turns, path), length) for path, length in found]
    beside = float(ends.length[0]) - found[0][1]
    return made_routes(ends, 0, ((path, length + beside) for path, length in found))


def _paths(
    graph: Prepared, source: int, target: int, k: int, stretch: float, sharing: float, local: float
) -> list[tuple[NDArray[np.int64], float]]:
    """Return edges and lengths of the shortest path and of alternatives, in order of length."""
    if source == target:
        return [(np.empty(0, np.int64), 0.0)]
    numbers = k, _TRIES * k, stretch, sharing, local
    ways: Any = _cpu.prepared_routes(
        graph._walks, graph._origins, graph.indices, source, target, *numbers
    )
    if ways is None and (wide := graph._wider()) is not None:
        return _paths(wide, source, target, k, stretch, sharing, local)
    if ways is None:
        edges_of_path(graph, source, target)  # raises if the length of a path does not fit
        raise UnreachableError("there is no way from the origin to the destination")
    offsets, edges, lengths = ways
    at = offsets.tolist()
    found = [(edges[i:j], length) for (i, j), length in
             zip(pairwise(at), lengths.tolist(), strict=True)]  # fmt: skip
    # The first path has the sums of a search if rounding causes ties, and no cycle of weight 0.
    if graph.adds_floats or graph.summed.min_weight <= 0:
        first = np.asarray(edges_of_path(graph, source, target), np.int64)
        found = [(first, found[0][1])] + [
            way for way in found[1:] if not np.array_equal(way[0], first)
        ]
    return found
