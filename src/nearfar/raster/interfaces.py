"""Functions with the arguments of scikit-image, xarray-spatial and dijkstra3d.

Change one import: ``from nearfar.raster.interfaces import MCP_Geometric``. Costs are computed in
the dtype of each library, so that the numbers agree; among several least-cost paths a different one
may be chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError, UnreachableError, quoted
from nearfar.raster.raster import Raster
from nearfar.raster.raster import offsets as offsets_of
from nearfar.raster.solve import cost_distance as search
from nearfar.raster.surface import Surface, labelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MCP",
    "MCP_Geometric",
    "cost_distance",
    "dijkstra",
    "distance_field",
    "parental_field",
    "path_from_parents",
    "route_through_array",
]

_ROOT = 254


class MCP:
    """Least-cost paths as in ``skimage.graph.MCP``: a path costs the sum of its cells.

    Parameters
    ----------
    costs : array
        Two or three dimensions; negative, infinite and NaN costs are barriers.
    offsets : None
        Not supported; the neighbourhoods are those of ``fully_connected``.
    fully_connected : bool
        Allow diagonal steps too.
    sampling : sequence of float or None
        Length of a cell along each axis.
    """

    _geometric = False

    def __init__(
        self,
        costs: ArrayLike,
        offsets: None = None,
        fully_connected: bool = True,
        sampling: Sequence[float] | None = None,
    ) -> None:
        if offsets is not None:
            raise OptionError("offsets is not supported: give fully_connected")
        array = np.asarray(costs, dtype=np.float64)
        if array.ndim not in (2, 3):
            raise OptionError(f"costs has {array.ndim} dimensions: give 2 or 3")
        self._raster = Raster(
            array,
            connectivity=3**array.ndim - 1 if fully_connected else 2 * array.ndim,
            negative="barrier",
            cell_size=None if sampling is None else tuple(sampling),
            step="mean" if self._geometric else "enter",
            lengths=self._geometric,
        )
        # scikit-image's offsets lead from a cell to its neighbour, nearfar's from the neighbour.
        steps = offsets_of(array.ndim, self._raster.connectivity)
        self.offsets: NDArray[np.int8] = -steps[::-1]
        self._surface: Surface | None = None

    def find_costs(
        self,
        starts: Any,
        ends: Any = None,
        find_all_ends: bool = True,
        max_coverage: float = 1.0,
        max_cumulative_cost: float | None = None,
        max_cost: float | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
        """Find the least cost of every cell.

        Parameters
        ----------
        starts : sequence of tuples of int
        ends : sequence of tuples of int or None
            Stop once all of these are found.
        find_all_ends : bool
            Only True is supported.
        max_coverage : float
            Only 1 is supported.
        max_cumulative_cost : float or None
            Greatest cost to search.
        max_cost : None
            Not supported.

        Returns
        -------
        cumulative_costs : float64 array
            Costs; inf for unreached cells.
        traceback : int16 array
            Rows of :attr:`offsets` by which paths enter each cell; -1 for starts, -2 for unreached
            cells.

        Raises
        ------
        OptionError, VertexError
            As :func:`nearfar.raster.cost_distance`.
        """
        if not find_all_ends or max_coverage != 1.0 or max_cost is not None:
            raise OptionError(
                "find_all_ends, max_coverage and max_cost support only their defaults"
            )
        cells = [tuple(int(i) for i in start) for start in starts]
        first = None if self._geometric else [self._raster.cost[cell] for cell in cells]
        targets = None if ends is None or len(ends) == 0 else ends
        self._surface = search(
            self._raster, cells, initial=first, targets=targets, limit=max_cumulative_cost
        )
        links = self._surface.links
        rows = {tuple(step): i for i, step in enumerate((-self.offsets).tolist())}
        code = np.full(256, -2, dtype=np.int16)
        code[_ROOT] = -1
        code[: len(self._raster.steps)] = [
            rows[tuple(step)] for step in self._raster.steps.tolist()
        ]
        traceback = code[links]
        return self._surface.distances, traceback

    def traceback(self, end: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the path to a cell, after :meth:`find_costs`.

        Parameters
        ----------
        end : tuple of int

        Returns
        -------
        list of tuples of int
            From a start to the end.

        Raises
        ------
        UnreachableError
            If there is no path; it is a ValueError, as in scikit-image.
        """
        if self._surface is None:
            raise OptionError("traceback: call find_costs first")
        return [tuple(cell) for cell in self._surface.path_to(end).tolist()]


class MCP_Geometric(MCP):
    """Least-cost paths as in ``skimage.graph.MCP_Geometric``: mean of both cells times length."""

    _geometric = True


def route_through_array(
    array: ArrayLike,
    start: Sequence[int],
    end: Sequence[int],
    fully_connected: bool = True,
    geometric: bool = True,
) -> tuple[list[tuple[int, ...]], float]:
    """Find one least-cost path, as ``skimage.graph.route_through_array``.

    Parameters
    ----------
    array : array
    start, end : tuple of int
        Negative indices count from the end.
    fully_connected : bool
        Allow diagonal steps too.
    geometric : bool
        Mean of both cells times length; False sums the cells.

    Returns
    -------
    path : list of tuples of int
    cost : float

    Raises
    ------
    UnreachableError
        If there is no path.
    """
    shape = np.shape(array)
    cells = [
        tuple(int(i) + (n if i < 0 else 0) for i, n in zip(cell, shape, strict=True))
        for cell in (start, end)
    ]
    finder = (MCP_Geometric if geometric else MCP)(array, fully_connected=fully_connected)
    costs, _ = finder.find_costs([cells[0]], [cells[1]])
    return finder.traceback(cells[1]), costs[cells[1]]


def cost_distance(
    raster: Any,
    friction: Any,
    x: str = "x",
    y: str = "y",
    target_values: Sequence[float] = (),
    max_cost: float = np.inf,
    connectivity: int = 8,
) -> Any:
    """Return accumulated cost to the nearest of the marked cells, as ``xrspatial.cost_distance``.

    Parameters
    ----------
    raster : xarray.DataArray
        Cells with a finite value other than 0 are sources, or those with one of ``target_values``.
    friction : xarray.DataArray
        Cost per unit of length; NaN, 0 and negative ones are barriers.
    x, y : str
        Names of the dimensions.
    target_values : sequence of float
    max_cost : float
        Greatest cost to search.
    connectivity : {4, 8}

    Returns
    -------
    xarray.DataArray
        float32, NaN for unreached cells.

    Raises
    ------
    OptionError
        If shapes or names of dimensions differ.
    """
    both = [getattr(array, "dims", ()) for array in (raster, friction)]
    if any(len(dims) != 2 or set(dims) != {x, y} for dims in both) or any(
        raster.sizes[axis] != friction.sizes[axis] for axis in (x, y)
    ):
        raise OptionError(f"raster and friction need the same shape and dimensions {y}, {x}")
    friction = friction.transpose(*raster.dims)
    marks = np.asarray(raster.data, dtype=np.float64)
    wanted = np.isin(marks, list(target_values)) if len(target_values) else marks != 0
    values = np.asarray(friction.data, dtype=np.float32)
    open_ = np.isfinite(values) & (values > 0)
    sources = wanted & np.isfinite(marks) & open_
    if not sources.any():
        return labelled(raster, np.full(raster.shape, np.nan, dtype=np.float32))
    cost = labelled(raster, np.where(open_, values, np.float32(np.nan)))
    limit = None if max_cost == np.inf else max_cost
    surface = search(cost, sources, connectivity=connectivity, limit=limit)
    return surface.to_xarray()


def _field(data: ArrayLike, source: Any, connectivity: int, voxel_graph: Any) -> Surface:
    """Return the surface for dijkstra3d's arguments: float32, steps cost the entered cell."""
    if voxel_graph is not None:
        raise OptionError("voxel_graph is not supported: mark barriers as infinite costs")
    array = np.asarray(data)
    flat = {4: 4, 6: 4, 8: 8, 18: 8, 26: 8}
    if array.ndim == 2:
        if connectivity not in flat:
            raise OptionError(f"connectivity is {quoted(connectivity)}: give 4 or 8")
        connectivity = flat[connectivity]
    kind = np.float64 if array.dtype == np.float64 else np.float32
    grid = Raster(array.astype(kind, copy=False), connectivity=connectivity, step="enter",
                  lengths=False)  # fmt: skip
    return search(grid, source)


def distance_field(
    data: ArrayLike,
    source: Any,
    connectivity: int = 26,
    voxel_graph: None = None,
    return_max_location: bool = False,
) -> Any:
    """Return the least cost of every voxel, as ``dijkstra3d.distance_field`` does.

    Parameters
    ----------
    data : array
        Cost of entering each voxel.
    source : tuple of int, or several
    connectivity : {6, 18, 26}
    voxel_graph : None
        Not supported.
    return_max_location : bool
        Return the farthest voxel too.

    Returns
    -------
    float32 array, or float64 for float64 costs; with the location, a pair

    Raises
    ------
    OptionError, VertexError, NegativeWeightError
        As :func:`nearfar.raster.cost_distance`.
    """
    surface = _field(data, source, connectivity, voxel_graph)
    if not return_max_location:
        return surface.distances
    reached = np.where(surface.reachable, surface.distances, -1)
    farthest = np.unravel_index(int(np.argmax(reached)), reached.shape)
    return surface.distances, tuple(int(i) for i in farthest)


def dijkstra(
    data: ArrayLike,
    source: Sequence[int],
    target: Sequence[int],
    bidirectional: bool = False,
    connectivity: int = 26,
    compass: bool = False,
    compass_norm: float = -1,
    line_preference_weight: float = 0,
    voxel_graph: None = None,
    anisotropy: None = None,
) -> NDArray[np.int64]:
    """Find one least-cost path, as ``dijkstra3d.dijkstra``.

    Parameters
    ----------
    data : array
        Cost of entering each voxel.
    source, target : tuple of int
    bidirectional, compass, compass_norm
        Ignored options of dijkstra3d, which do not change the cost of the path.
    connectivity : {6, 18, 26}
    line_preference_weight, voxel_graph, anisotropy
        Keep their defaults.

    Returns
    -------
    int64 array, shape (length, ndim)

    Raises
    ------
    OptionError
        For an unsupported option.
    UnreachableError
        If there is no path.
    """
    if line_preference_weight or anisotropy is not None:
        raise OptionError(
            "line_preference_weight and anisotropy are not supported: use nearfar.raster.Raster"
        )
    return _field(data, source, connectivity, voxel_graph).path_to(target)


def parental_field(
    data: ArrayLike, source: Sequence[int], connectivity: int = 26, voxel_graph: None = None
) -> NDArray[Any]:
    """Return the predecessor of every voxel, as ``dijkstra3d.parental_field`` does.

    Parameters
    ----------
    data : array
        Cost of entering each voxel.
    source : tuple of int
    connectivity : {6, 18, 26}
    voxel_graph : None
        Not supported.

    Returns
    -------
    uint32 or uint64 array
        1 plus the position of the preceding voxel, first axis fastest; 0 for the
        source and for unreached cells.

    Raises
    ------
    OptionError, VertexError, NegativeWeightError
        As :func:`nearfar.raster.cost_distance`.
    """
    surface = _field(data, source, connectivity, voxel_graph)
    before = surface.predecessors
    cells = np.unravel_index(np.maximum(before, 0), before.shape)
    fast = np.ravel_multi_index(cells, before.shape, order="F")
    kind = np.uint32 if before.size < 2**32 else np.uint64
    return np.asfortranarray(np.where(before < 0, 0, fast + 1).astype(kind))


def path_from_parents(parents: NDArray[Any], target: Sequence[int]) -> NDArray[np.int64]:
    """Return the path to a voxel from a parental field, as ``dijkstra3d.path_from_parents``.

    Parameters
    ----------
    parents : array
        Of :func:`parental_field`.
    target : tuple of int

    Returns
    -------
    int64 array, shape (length, ndim)

    Raises
    ------
    UnreachableError
        If the parents contain a cycle.
    """
    flat = parents.reshape(-1, order="F")
    path = [int(np.ravel_multi_index(tuple(target), parents.shape, order="F"))]
    while (before := int(flat[path[-1]])) > 0:
        path.append(before - 1)
        if len(path) > flat.size:
            raise UnreachableError(f"the parents of {tuple(target)} contain a cycle")
    cells = np.unravel_index(np.array(path[::-1]), parents.shape, order="F")
    return np.stack(cells, axis=1).astype(np.int64)
