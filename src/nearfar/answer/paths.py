"""Answer for one source, with distances, predecessors, paths and statistics."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from nearfar import _cpu
from nearfar.answer.frames import paths_frame, with_unreached
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.cuda.device_graph import DEVICE_GRAPH
from nearfar.errors import GraphError, OutOfMemoryError, not_reached
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.prepared import is_prepared
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import to_host
from nearfar.system.html import facts_table

#: Paths, and edges read for paths, up to which the predecessors of all vertices take longer: the
#: edges are a share of all, and a few.
_PATHS, _WALKED, _FEW = 16, 4, 1024


@dataclass(frozen=True, slots=True)
class FlatPaths:
    """Paths in flat arrays.

    Attributes
    ----------
    offsets : int64 array, shape (k + 1,)
        Path ``i`` is ``vertices[offsets[i]:offsets[i + 1]]``; empty for an unreachable target.
    vertices : array
        External names, each path from the source to its target.
    """

    offsets: NDArray[np.int64]
    vertices: NDArray[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> NDArray[Any]:
        if not -len(self) <= i < len(self):
            raise IndexError(f"path {i} of {len(self)}")
        i %= len(self)
        return self.vertices[self.offsets[i] : self.offsets[i + 1]]


def lightest_edges(graph: Graph, vertices: ArrayLike) -> NDArray[np.int64]:
    """Return the first lightest edge between the vertices of each step of a path."""
    return _cpu.path_edges(graph.view, np.asarray(vertices, dtype=np.int64))


@dataclass(slots=False, repr=False, eq=False)
class Paths:
    """Answer for one source, returned by :func:`nearfar.sssp`.

    ``paths[vertex]`` is a distance, ``len(paths)`` the number of vertices, iteration yields the
    external names of the vertices, and ``np.asarray(paths)`` is :meth:`to_numpy`.

    Attributes
    ----------
    graph : Graph
        Graph of the answer.
    distances : array, shape (n,)
        Dtype of the weights (int32 without weights; int64 if a sum does not fit 32 bits).
        Unreached is inf, or the maximum of an integer dtype. An answer on the GPU has a CuPy array.
    engine : str
        Id of the variant that ran.
    reason : str
        Reason for the choice.
    stats : dict
        Counters and times of the run. ``"call_seconds"`` is the time of the whole call of
        :func:`sssp`. It includes ``"seconds"`` for the method (of which ``"device_seconds"`` for
        GPU kernels), ``"predecessor_seconds"`` for predecessors and ``"download_seconds"`` for the
        copy of the distances to the host. ``"workers"`` is the number of CPU threads.
    limit : int, float or None
        Inclusive limit; vertices farther than this are unreached.
    """

    graph: Graph
    _source_index: int
    distances: Any
    engine: str = ""
    reason: str = ""
    stats: dict[str, Any] = field(default_factory=dict)
    limit: int | float | None = None
    _predecessors: Any = None
    _threads: int = 1  # for predecessors
    _waits: bool = True  # until a kernel for them is compiled; else cores find them meanwhile
    _read: int = 0  # edges read for paths without predecessors

    @property
    def source(self) -> Any:
        """External name of the source."""
        return self.graph.name_of(self._source_index)

    @property
    def predecessors(self) -> Any:
        """Predecessor (vertex index) of each vertex on a shortest path; -1 for none.

        Computed on first use, on the device of the distances. :meth:`nearfar.Graph.name_of`
        converts indices to names.
        """
        if self._predecessors is None:
            self._predecessors = self._find_predecessors()
        return self._predecessors

    def _find_predecessors(self) -> Any:
        make = partial(
            tight_predecessors,
            self.graph,
            self._source_index,
            threads=self._threads,
            stats=self.stats,
        )
        if self.engine.endswith("@cuda") and DEVICE_GRAPH.filled_anywhere(self.graph):
            # The edges are already on the device: transfers cost less than a pass on the host.
            with (
                contextlib.suppress(OutOfMemoryError, runtime.Compiling),
                runtime.compiling_in_background(not self._waits),
            ):
                return make(self.distances, by_device=True)
            if not self._waits:
                self.bring_to_host()
        return make(self.distances)

    @property
    def _host_predecessors(self) -> NDArray[Any]:
        return to_host(self.predecessors)

    @cached_property
    def _host_distances(self) -> NDArray[Any]:
        return to_host(self.distances)

    def bring_to_host(self) -> None:
        """Replace device arrays by host arrays, reusing a copy that exists."""
        self.distances = self._host_distances
        if self._predecessors is not None:
            self._predecessors = self._host_predecessors

    @property
    def reachable(self) -> Any:
        """Bool array, shape (n,): True for reached vertices."""
        return self.distances != unreached_value(np.dtype(self.distances.dtype))

    @cached_property
    def _summary(self) -> tuple[int, int]:
        reached, farthest = _cpu.distance_summary(self._host_distances)
        return int(reached), int(farthest)

    @property
    def n_reached(self) -> int:
        """Number of reached vertices, including the source."""
        return self._summary[0]

    @property
    def farthest(self) -> Any:
        """External name of the first reached vertex of greatest distance."""
        return self.graph.name_of(self._summary[1])

    def distance_to(self, target: Any) -> Any:
        """Return the distance of one vertex.

        Parameters
        ----------
        target : int or vertex name

        Returns
        -------
        int or float
            A Python number in units of the weights; inf for an unreached vertex.
        """
        value = self._host_distances[self.graph.index_of(target, "target")]
        return float("inf") if value == unreached_value(value.dtype) else value.item()

    def path_to(self, target: Any) -> list[Any]:
        """Return the vertices of a shortest path.

        Parameters
        ----------
        target : int or vertex name

        Returns
        -------
        list
            External names, source first, target last.

        Raises
        ------
        UnreachableError
            If the target was not reached.
        """
        path: list[Any] = self.graph.name_of(self._steps_to(self._reached(target))).tolist()
        return path

    def _reached(self, target: Any) -> int:
        """Return the index of a target, or raise if it is not reached."""
        end = self.graph.index_of(target, "target")
        if self._host_distances[end] == unreached_value(self._host_distances.dtype):
            raise not_reached(self.source, target, self.limit)
        return end

    def _steps_to(self, end: int) -> NDArray[Any]:
        """Return the path to a reached vertex, as indices."""
        return self._flat_paths(np.array([end], dtype=np.int64)).vertices

    def edges_to(self, target: Any) -> NDArray[np.int64]:
        """Return the edges of the path that :meth:`path_to` returns.

        Parameters
        ----------
        target : int or vertex name

        Returns
        -------
        int64 array
            Positions in :attr:`nearfar.Graph.indices`, from source to target. Of parallel edges
            the first lightest one is taken. Empty for the source itself.

        Raises
        ------
        UnreachableError
            If the target was not reached.
        """
        return self._edges(self._reached(target))

    def _edges(self, end: int) -> NDArray[np.int64]:
        """Return the edges of the path to a reached vertex."""
        return lightest_edges(self.graph, self._steps_to(end))

    def paths_to(self, targets: Iterable[Any]) -> FlatPaths:
        """Return shortest paths to many targets as flat arrays.

        The cost is the sum of their lengths.

        Parameters
        ----------
        targets : iterable of int or vertex name

        Returns
        -------
        FlatPaths
            One path per target, in the order of the targets; empty for an unreached target.
        """
        flat = self._flat_paths(self.graph.indices_of(targets, "target"))
        if self.graph.vertex_names is None:
            return flat
        return FlatPaths(flat.offsets, self.graph.name_of(flat.vertices))

    def _flat_paths(self, ends: NDArray[np.int64]) -> FlatPaths:
        """Return the paths as vertex indices, in the graph's index dtype."""
        reached = self._host_distances[ends] != unreached_value(self._host_distances.dtype)
        ends = np.where(reached, ends, -1)
        found = self._walked(ends)
        return FlatPaths(*(found or _cpu.flat_paths(self._host_predecessors, ends)))

    def _walked(self, ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
        """Return offsets and vertices of paths by the edges into their vertices, if these are few.

        None where the predecessors of all vertices are known, or are faster to find.
        """
        if self._predecessors is not None or len(ends) > _PATHS:
            return None
        if self.graph.on_device or is_prepared(self.graph):
            return None
        solved, row = self.graph.tight_form(self._source_index, self._host_distances)
        most = solved.n_edges // _WALKED + _FEW - self._read
        if most <= 0 or solved.n_negative or not solved.has_transpose:
            return None
        into = solved.transpose()
        if not into.has_view:
            return None
        found: Any = _cpu.tight_paths(into.view, self._source_index, row, ends, most)
        self._read += most if found is None else found[2]
        return None if found is None else found[:2]

    def tree(self) -> Graph:
        """Return the shortest-path tree.

        Returns
        -------
        Graph
            Graph with the same vertices and only the edges from a predecessor to its vertex.
        """
        predecessors = self._host_predecessors
        reached = np.flatnonzero(predecessors >= 0)
        before = predecessors[reached]
        weights = self._host_distances[reached] - self._host_distances[before]
        return Graph.from_edges(
            before,
            reached,
            weights if self.graph.is_weighted else None,
            n_vertices=self.graph.n_vertices,
            vertex_names=self.graph.vertex_names,
            names=False,
            coordinates=self.graph.coordinates,
        )

    # ---- conversions ---------------------------------------------------------------------------

    def to_numpy(self, unreached: float = float("nan")) -> NDArray[Any]:
        """Return the distances on the host, with a chosen value for unreached vertices.

        Parameters
        ----------
        unreached : int or float
            Value for unreached vertices. The default NaN lets ``np.nanmean`` and similar functions
            ignore them.

        Returns
        -------
        array, shape (n,)
            A new array. Integer distances become float64 if their dtype cannot hold ``unreached``,
            such as NaN; otherwise the dtype is that of :attr:`distances`.

        Raises
        ------
        OptionError
            If float64 cannot hold a distance exactly; -1 keeps integers.
        """
        return with_unreached(self._host_distances, unreached)

    def to_dict(self) -> dict[Any, Any]:
        """Return the distances of the reached vertices by name, as NetworkX does.

        Returns
        -------
        dict
            Python numbers by external name, in vertex order.

        Raises
        ------
        GraphError
            If several vertices have the same name.
        """
        places = np.flatnonzero(self._host_reached)
        names = np.asarray(self.graph.name_of(places)).tolist()
        found = dict(zip(names, self._host_distances[places].tolist(), strict=True))
        if len(found) < len(names):
            raise GraphError(
                f"{len(names)} vertices have {len(found)} names: use to_frame(), which has one row "
                "per vertex"
            )
        return found

    def to_frame(self, library: str | None = None, *, reached_only: bool = False) -> Any:
        """Return the answer as a table with one row per vertex.

        Parameters
        ----------
        library : {"pandas", "polars"} or None
            Library of the table; None uses the first that is installed.
        reached_only : bool
            Whether to omit unreached vertices.

        Returns
        -------
        DataFrame
            Columns ``vertex`` (external name), ``distance`` (missing if unreached),
            ``predecessor`` (external name; missing for the source and unreached vertices) and
            ``reached``. Integers stay integers: pandas' ``Int32`` or ``Int64``, polars' nullable
            integers.

        Raises
        ------
        OptionError
            For an unknown library.
        MissingDependencyError
            If it is not installed.
        """
        distances, before = self._host_distances, self._host_predecessors
        return paths_frame(self.graph, distances, before, library, reached_only)

    @property
    def _host_reached(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self._host_distances != unreached_value(
            self._host_distances.dtype
        )
        return found

    def __len__(self) -> int:
        return self.graph.n_vertices

    def __getitem__(self, vertex: Any) -> Any:
        return self.distance_to(vertex)

    def __iter__(self) -> Iterator[Any]:
        yield from np.asarray(self.graph.name_of(np.arange(len(self)))).tolist()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("converting an answer makes a copy: use paths.distances instead")
        found = self.to_numpy()
        return found if dtype is None else found.astype(dtype)

    def _repr_html_(self) -> str:
        facts: list[tuple[str, object]] = [
            ("source", self.source),
            ("reached", f"{self.n_reached:,} of {len(self):,} vertices"),
            ("farthest", f"{self.farthest} at {self._farthest_text}"),
            ("dtype", self.distances.dtype),
            ("method", f"{self.engine} ({self.reason})" if self.reason else self.engine),
        ]
        unit = self.graph.attributes.get("unit")
        facts += [("unit", unit)] if unit else []
        facts += [("limit", self.limit)] if self.limit is not None else []
        if "seconds" in self.stats:
            facts.append(("time", f"{self.stats['seconds'] * 1e3:.3g} ms"))
        return facts_table("Paths", facts)

    @property
    def _farthest_text(self) -> str:
        farthest = self.distance_to(self.farthest)
        return f"{farthest:,.6g}" if isinstance(farthest, float) else f"{farthest:,}"

    def __repr__(self) -> str:
        seconds = self.stats.get("seconds")
        time = "" if seconds is None else f", {seconds * 1e3:.3g} ms"
        farthest = self.distance_to(self.farthest)
        shown = f"{farthest:.6g}" if isinstance(farthest, float) else farthest
        return (
            f"Paths(source={self.source!r}, reached {self.n_reached:,} of "
            f"{self.graph.n_vertices:,}, farthest {shown}, "
            f"{self.distances.dtype}, {self.engine}{time})"
        )
