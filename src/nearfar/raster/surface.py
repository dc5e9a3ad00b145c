"""Surface: least costs of all cells, the paths, the nearest sources, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError, ProofError, UnreachableError, VertexError, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.system.devices.arrays import is_device_array, to_host
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from nearfar.raster.raster import Raster

__all__ = ["Surface"]

#: Attributes that say how the numbers of a file are stored, which distances are not.
_OF_THE_FILE = ("_FillValue", "missing_value", "scale_factor", "add_offset")
_ROOT = 254
#: Time of a cell of a path without links, relative to that of a cell's link.
_TRACE = 8
_BROKEN = {
    "source": "source {v} has distance {dv}, above its initial cost",
    "impossible": "cell {v} has distance {dv}, which is not the length of any path",
    "improves": "cell {v} has distance {dv}, but the step from {u} (distance {du}) gives a shorter "
    "one",
    "unlinked": "cell {v} has distance {dv}, but no tight step leads to it",
}


def labelled(like: Any, values: NDArray[Any]) -> Any:
    """Return a DataArray of values with the coordinates and attributes of another one."""
    made = like.copy(data=values)
    for name in _OF_THE_FILE:
        made.attrs.pop(name, None)
    made.encoding = {k: v for k, v in like.encoding.items() if k == "grid_mapping"}
    return made


@dataclass(repr=False, eq=False)
class Surface:
    """Answer of :func:`nearfar.raster.cost_distance`.

    Parameters
    ----------
    raster : Raster
    sources : int64 array, shape (k,)
        Positions of the sources in row-major order, as given.
    distances : array, shape of the raster
        Least cost from the nearest source, initial costs counted; inf, or the maximum of an
        integer dtype, for unreached cells. On the device, if the costs are device arrays and a GPU
        computed the distances.
    initial : array, shape (k,), or None
        Cost at which each source starts; None means 0.
    limit : float or None
        Cells farther than this are unreached.
    engine : str
    stats : dict
        Seconds, the number of barriers and counters of the run.
    """

    raster: Raster
    sources: NDArray[np.int64]
    distances: NDArray[Any]
    initial: NDArray[Any] | None = None
    limit: float | None = None
    engine: str = ""
    stats: dict[str, Any] = field(default_factory=dict)
    threads: int | None = None
    _traced: int = field(default=0, init=False)  # cells of paths found without links

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.raster.shape))
        return f"Surface({size}, {len(self.sources)} sources, {self.engine})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self._values, dtype=dtype, copy=True if copy is None else copy)

    @property
    def _values(self) -> NDArray[Any]:
        """Distances on the host."""
        return self._copied if is_device_array(self.distances) else self.distances

    @cached_property
    def _copied(self) -> NDArray[Any]:
        return to_host(self.distances)

    @property
    def reachable(self) -> NDArray[np.bool_]:
        """Bool array of the raster's shape, True for reached cells."""
        reached: NDArray[np.bool_] = self._values != unreached_value(self._values.dtype)
        return reached

    @cached_property
    def links(self) -> NDArray[np.uint8]:
        """Back-links, uint8 of the raster's shape; computed on first use by one pass, O(n).

        A value below 254 is a row of :attr:`Raster.steps`, the offset of the preceding cell.
        254 is a source, 255 an unreached cell. Of several predecessors the one with
        the smallest position is chosen.
        """
        links, flaw = self._links()
        if flaw is not None:
            raise self._flaw(flaw)
        return links

    def _links(self) -> tuple[NDArray[np.uint8], Any]:
        from nearfar import _cpu

        links = np.empty(self.raster.shape, dtype=np.uint8)
        given = self.raster._describe(self._values.dtype)
        flaw = _cpu.raster_links(
            given,
            self._values,
            self.sources,
            self.initial,
            self.limit,
            links,
            check_threads(self.threads),
        )
        return links, flaw

    @property
    def predecessors(self) -> NDArray[np.int64]:
        """Position of the predecessor of each cell, -1 for sources and unreached cells."""
        links = self.links
        away = np.append(self._away(), np.zeros(256 - len(self.raster.steps), dtype=np.int64))
        before = np.arange(links.size).reshape(links.shape) + away[links]
        before[links >= _ROOT] = -1
        return before

    @cached_property
    def allocation(self) -> NDArray[np.int32]:
        """Position in :attr:`sources` of the nearest source of each cell, -1 if unreached."""
        from nearfar import _cpu

        described = self.raster._describe_steps(self.raster.dtype)
        rows = np.empty(self.raster.shape, dtype=np.int32)
        _cpu.raster_allocation(
            described["shape"], described["offsets"], self.links, self.sources, rows,
            check_threads(self.threads),
        )  # fmt: skip
        return rows

    def distance_to(self, cell: Any) -> float | int:
        """Return the distance of one cell.

        Parameters
        ----------
        cell : tuple of int

        Returns
        -------
        int or float
            inf for an unreached cell.
        """
        return self._distance(self._one(cell))

    def _distance(self, position: int) -> float | int:
        """Return the distance of a cell, given by its position."""
        value: float | int = self._values.item(position)
        return float("inf") if value == unreached_value(self._values.dtype) else value

    def path_to(self, cell: Any) -> NDArray[np.int64]:
        """Return the cells of a least-cost path.

        Parameters
        ----------
        cell : tuple of int

        Returns
        -------
        int64 array, shape (length, ndim)
            From the nearest source to the cell.

        Raises
        ------
        UnreachableError
            If the cell was not reached.
        """
        end = self._one(cell)
        if self._distance(end) == float("inf"):
            beyond = "" if self.limit is None else f" within the limit {self.limit}"
            raise UnreachableError(f"cell {self.raster._cell(end)} is not reached{beyond}")
        return self._path(end)

    def _path(self, end: int) -> NDArray[np.int64]:
        """Return the path to a reached cell, given by its position."""
        from nearfar import _cpu

        path = np.empty(0, dtype=np.int64)
        known = "links" in self.__dict__
        if not known and self._traced * _TRACE <= self._values.size:
            given = self.raster._describe(self._values.dtype)
            ends = self.sources, self.initial, self.limit
            path = _cpu.raster_trace(given, self._values, *ends, end)
            self._traced += len(path) + len(self.sources)
        if not len(path):
            path = _cpu.raster_path(self._away(), self.links.reshape(-1), end)
        return np.stack(np.unravel_index(path, self.raster.shape), axis=1).astype(np.int64)

    def paths_to(self, cells: Iterable[Any]) -> list[NDArray[np.int64]]:
        """Return least-cost paths to several cells.

        Parameters
        ----------
        cells : sequence of tuples of int, or mask

        Returns
        -------
        list of int64 arrays
            Empty, with shape (0, ndim), for an unreached cell.
        """
        return [
            np.empty((0, self.raster.ndim), int)
            if self._distance(end) == float("inf")
            else self._path(end)
            for end in self.raster.cells(cells, "target").tolist()
        ]

    def verify(self) -> None:
        """Prove the surface in one pass over the steps, independently of the search.

        The proof checks that each source has at most its initial cost, that no step lowers a cell
        (up to the limit), and that tight steps lead from a source to each reached cell. O(n).

        Raises
        ------
        ProofError
            If the proof fails; the message names the first cell.
        """
        _, flaw = self._links()
        if flaw is not None:
            raise self._flaw(flaw)

    def to_xarray(self) -> Any:
        """Return the distances as a ``DataArray`` with the coordinates of the costs.

        Returns
        -------
        xarray.DataArray
            NaN for unreached cells; coordinates, dimensions and attributes such as the
            coordinate system are those of the cost or the elevation, without the attributes and the
            encoding that describe how a file stores the numbers.

        Raises
        ------
        GraphError
            If the raster was not made from a ``DataArray``.
        """
        labels = self.raster._labels
        if labels is None:
            raise GraphError("the raster was not made from a DataArray: use distances")
        return labelled(labels, self.as_floats())

    def as_floats(self) -> NDArray[Any]:
        """Return the distances with NaN for unreached cells, as for files and pictures."""
        kind = self._values.dtype if self._values.dtype.kind == "f" else np.float64
        return np.where(self.reachable, self._values, np.nan).astype(kind)

    def _away(self) -> NDArray[np.int64]:
        """Return the change of position in the flat array per step."""
        strides = np.cumprod((1, *self.raster.shape[:0:-1]))[::-1]
        away: NDArray[np.int64] = (self.raster.steps.astype(np.int64) * strides).sum(axis=1)
        return away

    def _one(self, cell: Any) -> int:
        found = self.raster.cells(cell, "cell")
        if len(found) != 1:
            raise VertexError(f"cell is {quoted(cell)}: give one, or several to paths_to")
        return int(found[0])

    def _flaw(self, flaw: tuple[str, int, int]) -> ProofError:
        kind, u, v = flaw
        flat = self._values.reshape(-1)
        return ProofError(
            _BROKEN[kind].format(
                u=self.raster._cell(u), v=self.raster._cell(v), du=flat[u], dv=flat[v]
            )
        )
