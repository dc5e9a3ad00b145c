"""Raster: an array of costs as an implicit graph."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.errors import (
    GraphError,
    NearfarError,
    NegativeWeightError,
    OptionError,
    VertexError,
    keyword,
    quoted,
)
from nearfar.graph.dtypes import WEIGHT_DTYPES, unreached_value, weight_dtype_of
from nearfar.graph.given import as_numpy, frozen, must_copy
from nearfar.options import check_kind
from nearfar.raster.slopes import SlopeTable
from nearfar.system.devices.arrays import is_device_array, module_of, to_host, upload
from nearfar.system.threads import check_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["Raster", "offsets"]

_CONNECTIVITIES = {2: (4, 8, 16), 3: (6, 18, 26)}
_RULES = {"mean": 0, "enter": 1}
_SLOPE = 2
_CORNERS = 3


class Raster:
    """Array of costs whose cells are vertices and whose steps to neighbours are edges.

    Parameters
    ----------
    cost : array, shape (rows, columns) or (planes, rows, columns), or None
        Cost per unit of length. NumPy, memory-mapped, CuPy, dask or xarray's ``DataArray``. None
        with an ``elevation`` means 1 everywhere. Contiguous arrays of float32, float64 and, where
        steps are integers, int32 are used without a copy; device arrays stay on their device. They
        may be changed between searches, which check them again, but not during one.
    cell_size : float or sequence of float
        Length of a cell along each axis; by default that of the coordinates of a ``DataArray``,
        else 1.
    connectivity : int or None
        4, 8 (default) or 16 neighbours in two dimensions; 6, 18 or 26 (default) in three. 16 adds
        the knight's moves, which barriers one cell wide do not stop.
    step : {"mean", "enter"}
        Cost of a step per unit of its length: the mean of both cells, or the cost of the entered
        cell.
    cut_corners : bool
        False forbids diagonal steps next to a barrier. Needs 8 neighbours, ``step="mean"``, floats
        and no elevation.
    lengths : bool
        False counts every step, diagonal ones too, as length 1.
    no_data : number or None
        A cost that marks barriers, besides NaN, infinity and the maximum of int32 and int64; by
        default the attribute ``_FillValue`` of a ``DataArray``, which marks cells without elevation
        too.
    negative : {"error", "barrier"}
        Meaning of a negative cost.
    elevation : array or None
        Elevations, an array of the same shape in the unit of ``cell_size``: the slope of each step
        changes its cost. Cells without a finite elevation are barriers.
    slope : SlopeTable, callable, pair of arrays or None
        Factor of the cost by slope, see :meth:`SlopeTable.from_any`; by default
        :func:`nearfar.raster.hiking`. Needs ``elevation`` and ``step="mean"``.
    dtype : dtype or None
        float32, float64, int32 or int64: the arithmetic and the dtype of distances. By default
        floats keep theirs, as do integers with ``step="enter"`` and ``lengths=False``; others
        become float64.

    Attributes
    ----------
    cost, elevation : array
    shape : tuple of int
    steps : int8 array, shape (connectivity, ndim)
        Offsets of the cells that steps come from, ascending; in a volume of one plane only those
        within it.
    n_barriers : int
        Cells that no path enters; counted on first use and by each search.

    Raises
    ------
    NegativeWeightError
        If a cost is negative; the message names the first cell.
    GraphError, OptionError
        For arrays or options of another kind.

    Notes
    -----
    A step costs ``(length / 2) * (cost[u] + cost[v])`` or ``length * cost[v]``, rounded once per
    operation.

    Examples
    --------
    >>> import numpy as np
    >>> import nearfar
    >>> raster = nearfar.raster.Raster(np.array([[1.0, 9.0, 1.0], [1.0, 1.0, 1.0]]))
    >>> nearfar.raster.cost_distance(raster, (0, 0)).path_to((0, 2)).tolist()
    [[0, 0], [1, 1], [0, 2]]
    """

    def __init__(
        self,
        cost: ArrayLike | Any,
        *,
        cell_size: float | Sequence[float] | None = None,
        connectivity: int | None = None,
        step: Literal["mean", "enter"] = "mean",
        cut_corners: bool = True,
        lengths: bool = True,
        no_data: float | None = None,
        negative: Literal["error", "barrier"] = "error",
        elevation: ArrayLike | Any = None,
        slope: Any = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        if cost is None:
            if elevation is None:
                raise OptionError("cost is None: give costs, or an elevation model to walk over")
            cost = _Ones(elevation)
        self._labels: Any = next((a for a in (cost, elevation) if _is_labelled(a)), None)
        given = _array(cost, "cost")
        if given.ndim not in _CONNECTIVITIES or given.size == 0:
            raise GraphError(f"cost has shape {given.shape}: expected 2 or 3 dimensions with cells")
        if not isinstance(step, str) or step not in _RULES:
            raise OptionError(f"{keyword('step')} is {quoted(step)}: give 'mean' or 'enter'")
        if negative not in ("error", "barrier"):
            raise OptionError(
                f"{keyword('negative')} is {quoted(negative)}: give 'error' or 'barrier'"
            )
        choices = _CONNECTIVITIES[given.ndim]
        connectivity = (
            choices[-1 if given.ndim == 3 else 1] if connectivity is None else connectivity
        )
        if connectivity not in choices:
            raise OptionError(
                f"{keyword('connectivity')} is {quoted(connectivity)}: give one of "
                f"{', '.join(map(str, choices))} in {given.ndim} dimensions"
            )
        check_kind("Raster", "lengths", lengths, "bool")
        check_kind("Raster", "cut_corners", cut_corners, "bool")
        self.connectivity, self.step, self.lengths = int(connectivity), step, bool(lengths)
        no_data = _fill_value(cost) if no_data is None else no_data
        self.no_data, self.negative = _mark_in(no_data, given.dtype), negative
        self.cell_size = self._sizes(cell_size, given.ndim)
        exact = step == "enter" and not lengths and elevation is None
        made = _in_dtype(given, _engine_dtype(given.dtype, exact, dtype), self.no_data)
        if not np.can_cast(given.dtype, made.dtype):  # other costs may round to the mark
            self.no_data = None
        #: Costs on a device, if they were given as device arrays; the GPU engine reads them in
        #: place.
        self.device_cost: Any = made if is_device_array(made) else None
        self._host_cost: NDArray[Any] | None = None if is_device_array(made) else made
        self.elevation: NDArray[Any] | None = None
        self.slope: SlopeTable | None = None
        if elevation is not None:
            if step != "mean" or self.dtype.kind != "f":
                raise OptionError("elevation requires step='mean' and float arithmetic")
            heights = _array(elevation, "elevation")
            if heights.shape != given.shape:
                raise GraphError(f"elevation has shape {heights.shape}, cost {given.shape}")
            missing = _mark_in(_fill_value(elevation), heights.dtype)
            if missing is not None:
                heights = np.where(heights == missing, np.nan, heights)
            with np.errstate(over="ignore"):  # too great a height is a barrier
                self.elevation = np.require(heights, dtype=self.dtype, requirements=("C", "A"))
            from nearfar.raster.slopes import hiking

            self.slope = hiking() if slope is None else SlopeTable.from_any(slope)
        elif slope is not None:
            raise OptionError("slope needs an elevation")
        self.cut_corners = bool(cut_corners)
        plain = step == "mean" and connectivity == 8 and elevation is None
        if not (cut_corners or plain):
            raise OptionError(
                "cut_corners=False needs connectivity=8, step='mean' and no elevation"
            )
        self._flat = given.ndim == 3 and len(given) == 1
        self.steps = offsets(given.ndim, self.connectivity, self._flat)
        #: Transform and coordinate system of a GeoTIFF, or None.
        self.georeference: Any = None
        self._scanned: tuple[int, int, Any, Any] | None = None
        self._refuse_negative()

    @property
    def cost(self) -> NDArray[Any]:
        """Costs on the host; costs on a device are copied on first use."""
        costs = self._host_cost  # another thread's search may drop it
        if costs is None:
            self._host_cost = costs = to_host(self.device_cost)
        return costs

    @property
    def _array(self) -> Any:
        """Costs on the device on which they were given."""
        return self._host_cost if self.device_cost is None else self.device_cost

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the array."""
        return tuple(self._array.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions, 2 or 3."""
        return int(self._array.ndim)

    @property
    def n_vertices(self) -> int:
        """Number of cells."""
        return int(self._array.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of costs and distances."""
        kind: np.dtype[Any] = np.dtype(self._array.dtype)
        return kind

    @property
    def n_barriers(self) -> int:
        """Number of cells that no path enters: NaN, infinite, marked or without elevation."""
        return int(self._scan()[0])

    @property
    def greatest_cost(self) -> Any:
        """Greatest cost of a passable cell."""
        return self._scan()[3]

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.shape))
        return f"Raster({size}, {self.dtype}, connectivity {self.connectivity}, {self.step})"

    def cells(self, given: Any, role: str = "cell") -> NDArray[np.int64]:
        """Return the positions of cells, in row-major order.

        Parameters
        ----------
        given : tuple of int, sequence of those, or bool array of the raster's shape
        role : str
            Their role, for the message of an error.

        Returns
        -------
        int64 array

        Raises
        ------
        VertexError
            For a cell outside the raster, or an invalid cell.
        """
        if isinstance(given, tuple) and all(type(i) is int for i in given):
            with contextlib.suppress(ValueError):  # one cell, as usual; errors are found below
                return np.array([np.ravel_multi_index(given, self.shape)])
        if isinstance(given, np.ndarray) and given.dtype == np.bool_:
            if given.shape != self.shape:
                raise VertexError(f"{role}: the mask has shape {given.shape}, not {self.shape}")
            return np.flatnonzero(given).astype(np.int64)
        try:
            table = np.asarray(given)
        except ValueError:
            table = np.empty(0, dtype=object)
        if table.size == 0 and not table.dtype.hasobject:
            return np.empty(0, dtype=np.int64)
        if table.ndim == 1:
            table = table[None]
        if table.ndim != 2 or table.shape[1] != self.ndim or table.dtype.kind not in "iu":
            axes = "(plane, row, column)" if self.ndim == 3 else "(row, column)"
            raise VertexError(f"{role} is {quoted(given)}: give {axes}, several of them, or a mask")
        outside = ((table < 0) | (table >= np.array(self.shape))).any(axis=1)
        if outside.any():
            first = tuple(table[int(np.argmax(outside))].tolist())
            raise VertexError(f"{role} {first} is outside the raster of shape {self.shape}")
        return np.asarray(
            np.ravel_multi_index(tuple(table.T.astype(np.int64)), self.shape), np.int64
        )

    def cells_at(self, points: ArrayLike) -> NDArray[np.int64]:
        """Return the cells that contain points, in the coordinates of a ``DataArray`` or GeoTIFF.

        Parameters
        ----------
        points : array, shape (k, 2)
            x and y.

        Returns
        -------
        int64 array, shape (k, 2)
            Row and column.

        Raises
        ------
        GraphError
            If the raster has no coordinates, or more than two dimensions.
        VertexError
            For a point outside.
        """
        try:
            table = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        except (TypeError, ValueError):
            raise VertexError(f"points is {quoted(points)}: give x and y of each") from None
        axes = self._axes()
        if self.georeference is not None:
            t = self.georeference.transform
            solved = np.linalg.solve([[t.a, t.b], [t.d, t.e]], (table - (t.c, t.f)).T)
            found = solved.T[:, ::-1]
        elif axes is not None and self.ndim == 2:
            columns = []
            given = table.T if self._x_first() else table.T[::-1]
            for places, size, values in zip(axes, self.cell_size, given, strict=True):
                down = len(places) > 1 and places[1] < places[0]
                gap = places[0] - values if down else values - places[0]
                columns.append(gap / size + 0.5)
            found = np.stack(columns, axis=1)
        else:
            raise GraphError("the raster has no x and y: name cells as (row, column)")
        inside = ((found >= 0) & (found < np.array(self.shape))).all(axis=1)  # False for NaN
        if not inside.all():
            first = tuple(table[int(np.argmin(inside))].tolist())
            raise VertexError(f"point {first} is outside the raster")
        return found.astype(np.int64)

    def points_of(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Return the centres of cells, in the coordinates of :meth:`cells_at`.

        Parameters
        ----------
        cells : array, shape (k, 2)
            Row and column.

        Returns
        -------
        float64 array, shape (k, 2)
            x and y; column and row where the raster has no coordinates.
        """
        rows, columns = np.asarray(cells).reshape(-1, 2).T
        axes = self._axes()
        if self.georeference is not None:
            t = self.georeference.transform
            right, down = columns + 0.5, rows + 0.5
            x, y = t.a * right + t.b * down + t.c, t.d * right + t.e * down + t.f
        elif axes is not None:
            x, y = axes[1][columns], axes[0][rows]
            if self._x_first():
                x, y = y, x
        else:
            x, y = columns, rows
        return np.stack([x, y], axis=1).astype(np.float64)

    def _describe(self, dtype: np.dtype[Any] | None = None) -> dict[str, Any]:
        """Return the raster in the form that the CPU engine reads."""
        kind = self.dtype if dtype is None else dtype
        cost = self.cost.astype(kind, copy=False)
        if kind != self.dtype:
            cost[self.cost == unreached_value(self.dtype)] = unreached_value(kind)
        return {"cost": cost, **self._describe_steps(kind)}

    def _describe_steps(self, kind: np.dtype[Any]) -> dict[str, Any]:
        """Return the parameters that an engine needs besides the costs."""
        offsets = np.zeros((len(self.steps), 3), dtype=np.int8)
        offsets[:, 3 - self.ndim :] = self.steps
        factors, inverses = self._factors(kind)
        return {
            "shape": (1,) * (3 - self.ndim) + self.shape,
            "rule": self._rule(),
            "offsets": offsets,
            "factors": factors,
            "inverses": inverses,
            "elevation": self.elevation,
            "table": None if self.slope is None else self.slope.in_dtype(self.dtype),
            "no_data": _no_data_in(self.no_data, self.dtype),
            "negative": self._scan()[1] >= 0,
        }

    def _factors(self, kind: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the factor of the costs of each step, and the inverse of its length."""
        if self.dtype.kind != "f":
            ones = np.ones(len(self.steps), dtype=kind)
            return ones, ones
        half = 1.0 if self.step == "enter" else 0.5
        among = self.ndim, self.connectivity, self._flat
        return _factors(*among, self.cell_size, self.lengths, half, self.dtype)

    def _rule(self) -> int:
        """Return the engines' number of the rule for a step's cost."""
        if self.slope is not None:
            return _SLOPE
        return _RULES[self.step] if self.cut_corners else _CORNERS

    def _cell(self, position: int) -> tuple[int, ...]:
        """Return the indices of a cell, given by its position."""
        return tuple(int(i) for i in np.unravel_index(position, self.shape))

    def _cost_of(self, cell: tuple[int, ...]) -> Any:
        """Return the cost of one cell, without copying all costs from a device."""
        return self._array[cell].item()

    def _with_cost(self, cost: NDArray[Any]) -> Raster:
        """Return the same raster with other costs, at least 0 and without marks of missing data."""
        made = copy.copy(self)
        made.device_cost, made._host_cost = None, cost
        made.no_data, made._scanned = None, None
        return made

    def _greatest_step(self) -> float:
        """Return a bound on the cost of a step that is not impassable."""
        factor = float(self._factors(self.dtype)[0].max())
        if self.slope is not None:
            values = self.slope.in_dtype(self.dtype)[0]
            factor *= float(values[np.isfinite(values)].max(initial=0))
        cells = 1 if self.step == "enter" else 2
        return cells * float(self.greatest_cost) * factor

    def _scaled(self) -> Raster:
        """Return a raster of float64 with the same passable steps, whose distances are finite."""
        scaled = self.cost.astype(np.float64) * 2.0**-300
        made = self._with_cost(np.where(self._passable(self.cost), scaled, np.inf))
        if self.elevation is not None:
            made.elevation = self.elevation.astype(np.float64)
        return made

    def is_barrier(self, cell: int) -> bool:
        """Return whether no path enters a cell, given by its position."""
        return not self._may_enter(np.array([cell]))[0]

    def _may_enter(self, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which cells, given by their positions, a path may enter."""
        costs, heights = self._array.reshape(-1), self.elevation
        if self.device_cost is None:
            some = costs[cells]
        else:  # one by one: CuPy would compile a kernel to gather them
            some = np.array([costs[i].item() for i in cells.tolist()], dtype=self.dtype)
        open_: NDArray[np.bool_] = self._passable(some)
        return open_ if heights is None else open_ & np.isfinite(heights.reshape(-1)[cells])

    def _passable(self, costs: Any) -> Any:
        """Return which of some costs, on the host or a device, are not those of barriers."""
        open_ = (costs >= 0) & (costs < unreached_value(self.dtype))  # not NaN
        marked = _no_data_in(self.no_data, self.dtype)
        return open_ if marked is None else open_ & (costs != marked)

    def _scan(self, again: bool = False) -> tuple[int, int, Any, Any]:
        """Return number of barriers, first negative cell or -1, least and greatest cost."""
        found = None if again else self._scanned
        if found is None:
            from nearfar import _cpu

            if self.device_cost is not None:
                found = self._scan_on_device()
            else:
                marked = _no_data_in(self.no_data, self.dtype)
                found = _cpu.raster_scan(self.cost, self.elevation, marked, check_threads(None))
            self._scanned = found
        return found

    def _scan_on_device(self) -> tuple[int, int, Any, Any]:
        cost, open_ = self.device_cost, self._passable(self.device_cost)
        if self.elevation is not None:
            open_ &= upload(np.isfinite(self.elevation))
        passable, negative = cost[open_], self._negative().reshape(-1)
        first = int(negative.argmax()) if bool(negative.any()) else -1
        ends = (passable.min().item(), passable.max().item()) if passable.size else (0, 0)
        return int(cost.size - passable.size), first, *ends

    def _negative(self) -> Any:
        """Return which costs are negative without being a mark of missing data."""
        marked = _no_data_in(self.no_data, self.dtype)
        negative = self._array < 0
        return negative if marked is None else negative & (self._array != marked)

    def _refuse_negative(self) -> None:
        """Raise an error for a negative cost, unless those are barriers."""
        if self.negative == "error" and self._scan()[1] >= 0:
            raise _negative(self, self._scan()[1])

    def _look_again(self) -> None:
        """Scan costs that their owner may have changed since the last search.

        The engines read suitable costs in place and unchecked, and a search over a negative one
        might not end. On the CPU the scan takes about 2 % of the time of a search of all cells.
        """
        if self.device_cost is not None:
            self._host_cost = None  # a copy, which may differ from the costs by now
            changed = True
        else:  # if anything can write to them
            arrays = (self.cost, self.elevation)
            changed = any(must_copy(a, a, True) for a in arrays if a is not None)
        if changed:
            self._scan(again=True)
            self._refuse_negative()

    def _axes(self) -> list[NDArray[np.float64]] | None:
        """Return coordinates along each axis, None without them."""
        if self._labels is None or any(d not in self._labels.coords for d in self._labels.dims):
            return None
        axes = [np.asarray(self._labels[d]) for d in self._labels.dims]
        numbers = all(axis.dtype.kind in "iuf" for axis in axes)  # no dates, no names
        return [axis.astype(np.float64) for axis in axes] if numbers else None

    def _x_first(self) -> bool:
        """Return whether the first dimension of a DataArray is that of x."""
        first = str(self._labels.dims[0]).lower()
        return first in ("x", "lon", "long", "longitude", "easting")

    def _sizes(self, given: Any, ndim: int) -> tuple[float, ...]:
        """Return the length of a cell along each axis."""
        if given is None:
            axes = self._axes()
            if axes is None:
                return (1.0,) * ndim
            sizes = []
            for places in axes:
                gaps = np.abs(np.diff(places))
                size = float(gaps.mean()) if len(gaps) else 1.0
                if len(gaps) and not np.allclose(gaps, size, rtol=1e-3):
                    raise GraphError("the coordinates are not equally spaced: give cell_size")
                sizes.append(size)
            given = sizes
        try:
            sizes = np.broadcast_to(np.asarray(given, dtype=np.float64), (ndim,)).tolist()
        except (TypeError, ValueError):
            sizes = [math.nan]
        if not all(math.isfinite(size) and size > 0 for size in sizes):
            raise OptionError(
                f"{keyword('cell_size')} is {quoted(given)}: give a length above 0, or {ndim} of "
                "them"
            )
        return tuple(sizes)


class _Ones:
    """Costs of 1, in the shape and floats of an elevation model."""

    def __init__(self, like: Any) -> None:
        self._like = _array(like, "elevation")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        kind = self._like.dtype
        return np.ones(self._like.shape, dtype=kind if kind.kind == "f" else np.float64)


def _is_labelled(array: Any) -> bool:
    return hasattr(array, "dims") and hasattr(array, "coords") and hasattr(array, "data")


def _fill_value(array: Any) -> Any:
    """Return the value that marks missing data by an attribute of a DataArray, or None."""
    return array.attrs.get("_FillValue") if _is_labelled(array) else None


def _mark_in(no_data: Any, dtype: np.dtype[Any]) -> int | float | None:
    """Return the mark of barriers as arrays of a dtype have it; None for none, or NaN."""
    if no_data is None:
        return None
    if isinstance(no_data, bool) or not isinstance(no_data, int | float | np.number):
        raise OptionError(f"{keyword('no_data')} is {quoted(no_data)}: give a number")
    try:
        with np.errstate(over="ignore"):
            mark: int | float = np.asarray(no_data, dtype if dtype.kind == "f" else None).item()
    except OverflowError:  # above all floats
        return None
    return None if mark != mark else mark


def _array(given: Any, what: str) -> NDArray[Any]:
    """Return a NumPy array of the given array, without a copy if possible."""
    if isinstance(given, np.ma.MaskedArray):
        kind = given.dtype if given.dtype.kind == "f" else np.dtype(np.float64)
        filled: NDArray[Any] = np.ma.filled(np.ma.asarray(given, dtype=kind), np.nan)
        return filled
    values = given.data if _is_labelled(given) else given
    if what == "cost" and is_device_array(values):
        there: NDArray[Any] = upload(values)
        return there
    array = as_numpy(values, what)
    if array.dtype.kind not in "fiub":
        raise GraphError(f"{what} has dtype {array.dtype}: give numbers")
    return array


def _engine_dtype(given: np.dtype[Any], exact: bool, wanted: Any) -> np.dtype[Any]:
    """Return the dtype that an engine computes in."""
    if wanted is not None:
        dtype = weight_dtype_of(wanted)
        if dtype is None:
            raise OptionError(
                f"{keyword('dtype')} is {quoted(wanted)}: give {', '.join(map(str, WEIGHT_DTYPES))}"
            )
        if dtype.kind != "f" and not exact:
            raise OptionError(
                f"dtype {dtype} needs steps that cost integers: step='enter' and lengths=False"
            )
        return dtype
    if given.kind == "f":
        return np.dtype(np.float64 if given.itemsize > 4 else np.float32)
    if not exact:
        return np.dtype(np.float64)
    wide = given.itemsize > 4 or (given.kind == "u" and given.itemsize == 4)
    return np.dtype(np.int64 if wide else np.int32)


def _in_dtype(array: NDArray[Any], dtype: np.dtype[Any], no_data: Any) -> NDArray[Any]:
    """Return the array in an engine's dtype, contiguous; a suitable array is not copied."""
    if dtype.kind == "i" and array.dtype.kind == "f":
        raise OptionError(f"costs are {array.dtype}: they would lose their fractions in {dtype}")
    module = module_of(array)
    if not np.can_cast(array.dtype, dtype):
        # The mark may not fit.
        top = np.iinfo(dtype).max if dtype.kind == "i" else np.finfo(dtype).max
        kind = array.dtype.kind
        data = array == array if no_data is None else array != no_data
        large = data & (array > top) & (array != np.inf)
        if large.any():
            raise GraphError(
                f"a cost of {array[large].max()} does not fit {dtype}: scale costs down"
            )
        if dtype.kind == "f":
            array = module.where(data, array, np.nan)
        else:  # unsigned costs are not negative
            array = module.where(data, array if kind == "u" else module.maximum(array, -1), top)
    if is_device_array(array):
        there: NDArray[Any] = module.ascontiguousarray(array.astype(dtype, copy=False))
        return there
    return np.require(array, dtype=dtype, requirements=("C", "A"))


def _no_data_in(no_data: Any, dtype: np.dtype[Any]) -> Any:
    """Return the mark of barriers in a dtype; None if no cost can equal it."""
    if no_data is None:
        return None
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return float(dtype.type(no_data))
    bounds = np.iinfo(dtype)
    fits = bounds.min <= no_data <= bounds.max and no_data == int(no_data)
    return int(no_data) if fits else None


def _negative(raster: Raster, first: int) -> NegativeWeightError:
    """Return the error for a negative cost, which names the cell instead of an edge."""
    count = int(raster._negative().sum())
    error = NegativeWeightError(first, count)
    cell = raster._cell(first)
    NearfarError.__init__(
        error,
        f"{count} negative cost{'s' if count > 1 else ''}, the first at cell {cell}: costs are "
        f"non-negative; name the value of missing data as {keyword('no_data')}, or pass "
        f"{keyword('negative', 'barrier')}",
    )
    return error


@functools.cache
def offsets(ndim: int, connectivity: int, flat: bool = False) -> NDArray[np.int8]:
    """Return the read-only offsets of a cell's neighbours, ascending by position in the array.

    Engines store no planes around a single one, ``flat``, which has only those within it.
    """
    reach = 2 if connectivity == 16 else 1
    kept = []
    for offset in itertools.product(range(-reach, reach + 1), repeat=ndim):
        moved = sum(map(abs, offset))
        longest = max(map(abs, offset))
        if connectivity == 16:
            fits = longest == 1 or (longest == 2 and moved == 3)
        else:
            most = {4: 1, 8: 2, 6: 1, 18: 2, 26: 3}[connectivity]
            fits = longest == 1 and moved <= most
        if fits and not (flat and offset[0]):
            kept.append(offset)
    return frozen(np.array(kept, dtype=np.int8))


@functools.lru_cache(maxsize=64)
def _factors(
    ndim: int,
    connectivity: int,
    flat: bool,
    sizes: tuple[float, ...],
    measured: bool,
    share: float,
    dtype: np.dtype[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the read-only factor of the costs of each step, and the inverse of its length."""
    lengths = np.sqrt(((offsets(ndim, connectivity, flat) * np.array(sizes)) ** 2).sum(axis=1))
    counted = lengths if measured else np.ones(len(lengths))
    with np.errstate(over="ignore"):  # of cells that are very large or small
        factors, inverses = (counted * share).astype(dtype), (1.0 / lengths).astype(dtype)
    return frozen(factors), frozen(inverses)
