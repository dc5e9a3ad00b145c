"""Answer of a search with turn costs, in vertices and edges of the original graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.paths import FlatPaths, Paths
from nearfar.errors import OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.turns import TurnGraph, real_edges


@dataclass(slots=False, repr=False, eq=False)
class TurnPaths(Paths):
    """Answer for one source of a graph with turns, returned by :func:`nearfar.sssp`.

    The interface is that of :class:`nearfar.Paths`, with vertices and edges of the original graph;
    distances include the costs of turns. Vertices have no single predecessor, and a path may visit
    a vertex twice to avoid a forbidden turn.

    Attributes
    ----------
    turns : TurnGraph
        Graph of the answer.
    searched : Paths
        Answer on the graph that was searched.
    """

    turns: Any = None
    searched: Any = None

    def _find_predecessors(self) -> Any:
        raise OptionError(
            "with turns a vertex has no single predecessor: use path_to and edges_to, or "
            "searched.predecessors for the graph that was searched"
        )

    def _edges(self, end: int) -> NDArray[np.int64]:
        return real_edges(self.turns, self.searched.edges_to(self.turns.ends[end]))

    def _steps_to(self, end: int) -> NDArray[Any]:
        return np.append(self._source_index, self.graph.indices[self._edges(end)])

    def _flat_paths(self, ends: NDArray[np.int64]) -> FlatPaths:
        reached = self._host_distances[ends] != unreached_value(self._host_distances.dtype)
        none = np.empty(0, dtype=np.int64)
        paths = [
            self._steps_to(int(end)) if is_reached else none
            for end, is_reached in zip(ends, reached, strict=True)
        ]
        offsets = np.cumsum([0, *map(len, paths)], dtype=np.int64)
        return FlatPaths(offsets, np.concatenate([none, *paths]))


def turn_paths(turns: TurnGraph, searched: Paths, source: int) -> TurnPaths:
    """Return the answer for the original graph, of which ``source`` is an index."""
    original = turns.original
    distances = searched._host_distances[turns.ends]
    return TurnPaths(
        original,
        source,
        distances,
        engine=searched.engine,
        reason=searched.reason,
        stats=searched.stats,
        limit=searched.limit,
        turns=turns,
        searched=searched,
    )
