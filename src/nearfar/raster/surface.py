"""The surface: least costs of all cells, the paths, which source is nearest, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError, ProofError, UnreachableError
from nearfar.graph.dtypes import unreached_value
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from nearfar.raster.raster import Raster

__all__ = ["Surface"]

_NONE = 255
_ROOT = 254
_BROKEN = {
    "source": "source {v} has distance {dv}, above its initial cost",
    "impossible": "cell {v} has distance {dv}, which no path can have",
    "improves": "cell {v} has distance {dv}, but the step from {u} (distance {du}) gives a shorter "
    "one",
    "unlinked": "cell {v} has distance {dv}, but no tight step leads to it",
}


@dataclass(repr=False, eq=False)
class Surface:
    """The answer of :func:`nearfar.raster.cost_distance`.

    Parameters
    ----------
    raster : Raster
    sources : int64 array, shape (k,)
        Positions of the sources in row-major order, as given.
    distances : array, shape of the raster
        Least cost from the nearest source, initial costs counted; inf, or the maximum of an
        integer dtype, where no source leads.
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

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.raster.shape))
        return f"Surface({size}, {len(self.sources)} sources, {self.engine})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self.distances, dtype=dtype, copy=True if copy is None else copy)

    @property
    def reachable(self) -> NDArray[np.bool_]:
        """Bool array of the raster's shape: which cells were reached."""
        reached: NDArray[np.bool_] = self.distances != unreached_value(self.distances.dtype)
        return reached

    @cached_property
    def links(self) -> NDArray[np.uint8]:
        """Back-links, uint8 of the raster's shape; made on first use by one pass, O(n).

        A value below 254 is a row of :attr:`Raster.steps`: the offset of the cell before this one.
        254 is a source, 255 a cell that was not reached. Of several cells before it the one with
        the smallest position is taken.
        """
        links, flaw = self._links()
        if flaw is not None:
            raise self._flaw(flaw)
        return links

    def _links(self) -> tuple[NDArray[np.uint8], Any]:
        from nearfar import _cpu

        links = np.empty(self.raster.shape, dtype=np.uint8)
        given = self.raster.describe(self.distances.dtype)
        flaw = _cpu.raster_links(
            given,
            self.distances,
            self.sources,
            self.initial,
            self.limit,
            links,
            check_threads(self.threads),
        )
        return links, flaw

    @property
    def predecessors(self) -> NDArray[np.int64]:
        """Position of the cell before each, -1 for sources and unreached cells."""
        links = self.links
        away = np.append(self._away(), np.zeros(256 - len(self.raster.steps), dtype=np.int64))
        before = np.arange(links.size).reshape(links.shape) + away[links]
        before[links >= _ROOT] = -1
        return before

    @cached_property
    def allocation(self) -> NDArray[np.int32]:
        """For each cell the row of its nearest source in :attr:`sources`, -1 where unreached."""
        from nearfar import _cpu

        described = self.raster.describe()
        rows = np.empty(self.raster.shape, dtype=np.int32)
        _cpu.raster_allocation(
            described["shape"], described["offsets"], self.links, self.sources, rows,
            check_threads(self.threads),
        )  # fmt: skip
        return rows

    def distance_to(self, cell: Any) -> float | int:
        """Distance of one cell.

        Parameters
        ----------
        cell : tuple of int

        Returns
        -------
        int or float
            inf where it was not reached.
        """
        value = self.distances.reshape(-1)[self._one(cell)]
        unreached = value == unreached_value(self.distances.dtype)
        return float("inf") if unreached else value.item()

    def path_to(self, cell: Any) -> NDArray[np.int64]:
        """The cells of a least-cost path.

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
        from nearfar import _cpu

        end = self._one(cell)
        if self.distance_to(cell) == float("inf"):
            beyond = "" if self.limit is None else f" within the limit {self.limit}"
            raise UnreachableError(f"cell {self._name(end)} is not reached{beyond}")
        path = _cpu.raster_path(self._away(), self.links.reshape(-1), end)
        return np.stack(np.unravel_index(path, self.raster.shape), axis=1).astype(np.int64)

    def paths_to(self, cells: Iterable[Any]) -> list[NDArray[np.int64]]:
        """Least-cost paths to several cells.

        Parameters
        ----------
        cells : sequence of tuples of int, or mask

        Returns
        -------
        list of int64 arrays
            Empty, with shape (0, ndim), for a cell that was not reached.
        """
        paths = []
        for end in self.raster.cells(cells, "target"):
            cell = np.unravel_index(end, self.raster.shape)
            reached = self.reachable.reshape(-1)[end]
            paths.append(self.path_to(cell) if reached else np.empty((0, self.raster.ndim), int))
        return paths

    def verify(self) -> None:
        """Prove the surface in one pass over the steps, independently of the search.

        Proven are: each source has at most its initial cost; no step lowers a cell (up to the
        limit); and each reached cell hangs by tight steps from a source. O(n).

        Raises
        ------
        ProofError
            Naming the first cell that breaks the proof.
        """
        _, flaw = self._links()
        if flaw is not None:
            raise self._flaw(flaw)

    def to_xarray(self) -> Any:
        """The distances as a ``DataArray`` with the coordinates of the costs.

        Returns
        -------
        xarray.DataArray
            NaN where no source leads; coordinates, dimensions and attributes such as the
            coordinate system as the cost or the elevation had them.

        Raises
        ------
        GraphError
            If the raster was not made of a ``DataArray``.
        """
        labels = self.raster._labels
        if labels is None:
            raise GraphError("the raster was not made of a DataArray: use distances")
        return labels.copy(data=self.as_floats())

    def as_floats(self) -> NDArray[Any]:
        """Distances with NaN where no source leads, as files and pictures want them."""
        kind = self.distances.dtype if self.distances.dtype.kind == "f" else np.float64
        return np.where(self.reachable, self.distances, np.nan).astype(kind)

    def _away(self) -> NDArray[np.int64]:
        """What each step adds to a position."""
        strides = np.cumprod((1, *self.raster.shape[:0:-1]))[::-1]
        away: NDArray[np.int64] = (self.raster.steps.astype(np.int64) * strides).sum(axis=1)
        return away

    def _one(self, cell: Any) -> int:
        found = self.raster.cells(tuple(int(i) for i in cell), "cell")
        return int(found[0])

    def _name(self, position: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(position, self.raster.shape))

    def _flaw(self, flaw: tuple[str, int, int]) -> ProofError:
        kind, u, v = flaw
        flat = self.distances.reshape(-1)
        return ProofError(
            _BROKEN[kind].format(u=self._name(u), v=self._name(v), du=flat[u], dv=flat[v])
        )
