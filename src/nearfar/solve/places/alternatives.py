"""Alternative routes between two places on a prepared graph, over vertices of separators.

A path through a vertex is a shortest path to it and one from it. It is an alternative if it is
admissible (Abraham, Delling, Goldberg and Werneck 2013): it shares little with earlier routes,
its detours are not much longer than the parts of the shortest route that they replace, and
around the vertex it is a shortest path. Candidate vertices are those where both search spaces of
the elimination tree meet, which are separators between the ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar import _cpu
from nearfar.errors import OptionError, UnreachableError, quoted
from nearfar.graph.turns import TurnGraph
from nearfar.prepared.cpu.pairs import edges_of_path
from nearfar.prepared.prepared import Prepared
from nearfar.solve.places.route import Route, chosen_ends, made_route
from nearfar.solve.places.table import prepared_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["routes"]

#: Vertices that are tried for each route wanted.
_TRIES = 12


def routes(
    graph: Prepared,
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
    """Return the shortest route between two places, and alternatives worth taking.

    Parameters
    ----------
    graph : Prepared
    origin, destination : places
        One place each; as for :func:`nearfar.route`.
    k : int
        Maximum number of routes, including the shortest.
    stretch : float
        Maximum length of an alternative relative to the shortest route, also of the parts where
        they differ; at least 1.
    sharing : float
        Maximum length that an alternative shares with earlier routes, as a share of the shortest
        route's length, 0 to 1.
    local : float
        Above 0, at most 1: around the vertex of an alternative, a part of this share of the
        shortest route's length to both sides is itself a shortest path.
    to, parts, max_distance
        As for :func:`nearfar.table`.

    Returns
    -------
    list of Route
        The shortest first, then in order of length; often fewer than k.

    Raises
    ------
    UnreachableError
        If there is no path.
    OptionError
        If the graph is not prepared, or a number is out of its range.

    Notes
    -----
    Two walks to the root of the elimination tree, and for each of at most 12 vertices per route two
    paths and a distance.

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
    if isinstance(graph, TurnGraph):
        raise OptionError("routes takes graphs without turn costs: give turns.original, prepared")
    if not isinstance(graph, Prepared):
        raise OptionError("routes needs a prepared graph: nearfar.prepare(graph) makes one")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise OptionError(f"k is {quoted(k)}: give an integer of at least 1")
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
        raise OptionError("routes takes one origin and one destination")
    if not np.isfinite(ends.length[0]):
        raise UnreachableError("there is no way from the origin to the destination")
    if ends.first[0] < 0:
        only = made_route(ends, 0, np.empty(0, np.int64))
        return [] if only is None else [only]
    search = _Alternatives(graph, *ends.vertices(0))
    found = search.paths(int(k), float(stretch), float(sharing), float(local))
    beside = float(ends.length[0]) - search.length(found[0])
    made = [made_route(ends, 0, path, search.length(path) + beside) for path in found]
    return [route for route in made if route is not None]


class _Alternatives:
    """Admissible paths between two vertices."""

    def __init__(self, graph: Prepared, source: int, target: int) -> None:
        self.graph, self.source, self.target = graph, source, target
        self.weights = graph.effective_weights

    def length(self, path: NDArray[Any]) -> float:
        """Return the length of a path."""
        return float(self.weights[path].sum(dtype=np.float64))

    def paths(self, k: int, stretch: float, sharing: float, local: float) -> list[NDArray[Any]]:
        """Return edges of the shortest path and of alternatives, in order of length."""
        shortest = edges_of_path(self.graph, self.source, self.target)
        if shortest is None:
            raise UnreachableError("there is no way from the origin to the destination")
        found = [shortest]
        best = self.length(shortest)
        on_best = taken = np.sort(shortest)
        passed = {self.source, *self.graph.indices[shortest].tolist()}
        view = self.graph.metric_view
        vias, _ = _cpu.prepared_vias(view, self.source, self.target, stretch)
        tries = _TRIES * k
        for via in vias.tolist():
            if len(found) == k or not tries:
                break
            if via in passed:
                continue
            tries -= 1
            parts = [edges_of_path(self.graph, self.source, via),
                     edges_of_path(self.graph, via, self.target)]  # fmt: skip
            if parts[0] is None or parts[1] is None:
                continue
            path = np.concatenate([parts[0], parts[1]])
            weights = self.weights[path].astype(np.float64)
            total = float(weights.sum())
            common = float(weights[_among(taken, path)].sum())
            if total > stretch * best * (1 + 1e-12) or common > sharing * best:
                continue
            same = common if taken is on_best else float(weights[_among(on_best, path)].sum())
            if total - same > stretch * (best - same) * (1 + 1e-12):
                continue
            heads = self.graph.indices[path].tolist()
            if len({self.source, *heads}) <= len(heads):
                continue  # passes a vertex twice
            if not self._is_local(path, weights, len(parts[0]), local * best):
                continue
            found.append(path)
            taken = np.sort(np.concatenate([taken, path]))
            passed.update(heads)
        return [found[0], *sorted(found[1:], key=self.length)]

    def _is_local(
        self, path: NDArray[Any], weights: NDArray[np.float64], at: int, reach: float
    ) -> bool:
        """Return whether the piece of a path around a vertex is a shortest path (the T-test)."""
        along = np.concatenate([[0.0], np.cumsum(weights)])
        first = max(int(np.searchsorted(along, along[at] - reach, side="right")) - 1, 0)
        last = min(int(np.searchsorted(along, along[at] + reach)), len(path))
        begin = self.source if first == 0 else int(self.graph.indices[path[first - 1]])
        end = int(self.graph.indices[path[last - 1]])
        between = float(self.graph.distance_between(begin, end))
        return float(weights[first:last].sum()) <= between * (1 + 1e-6)


def _among(some: NDArray[Any], edges: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which edges are among some, which ascend."""
    if not len(some):
        return np.zeros(len(edges), bool)
    found: NDArray[np.bool_] = (
        some[np.minimum(np.searchsorted(some, edges), len(some) - 1)] == edges
    )
    return found
