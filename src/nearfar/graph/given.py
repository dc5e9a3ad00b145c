"""Conversion of arrays of any library and dtype, which the caller may still be able to modify."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, quoted
from nearfar.graph.dtypes import WEIGHT_DTYPES
from nearfar.system.devices.arrays import is_device_array, to_host


def as_numpy(values: Any, what: str) -> NDArray[Any]:
    """Convert any array-like to a NumPy array; DLPack and CuPy arrays are copied if necessary."""
    if is_device_array(values):
        return to_host(values)
    # np.ma takes long to import, and plain arrays do not need it.
    if hasattr(values, "mask") and isinstance(values, np.ma.MaskedArray):
        masked = int(np.count_nonzero(np.ma.getmaskarray(values)))
        if masked:
            raise GraphError(f"{what} has {masked} masked entries: omit these edges")
        return np.ma.getdata(values)
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        try:
            return np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError) as error:
            raise GraphError(f"{what} cannot be read through DLPack: {error}") from None
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of unequal lengths, a Dataset of xarray
        raise GraphError(f"{what} cannot be read as an array: {error}") from None


def as_weights(weights: Any) -> NDArray[Any]:
    """Convert weights of any library to a NumPy array of a supported dtype."""
    return as_weight_dtype(as_numpy(weights, "weights"))


def as_weight_dtype(array: NDArray[Any]) -> NDArray[Any]:
    """Convert weights to a supported dtype: smaller integers to int32, float16 to float32."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b" or (kind in "iu" and size < 4):
        return array.astype(np.int32)
    if kind == "u":
        wide = array.astype(np.int64)
        if size == 8 and array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise GraphError("weights above 2**63 - 1 do not fit int64: scale them down")
        return wide
    if kind == "f" and size == 2:
        return array.astype(np.float32)
    if array.dtype.isnative and array.dtype in WEIGHT_DTYPES:
        return array
    if kind == "i" or (kind == "f" and size <= 8):
        return array.astype(array.dtype.newbyteorder("="))
    raise GraphError(f"weights have dtype {array.dtype}: use int32, int64, float32 or float64")


def as_indices(values: Any, what: str) -> NDArray[Any]:
    """Convert to a one-dimensional integer array; floats are refused instead of truncated."""
    return checked_indices(as_numpy(values, what), what)


def checked_indices(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Return an array after checking that it is one-dimensional and has integers."""
    if array.ndim != 1:
        raise GraphError(f"{what} has {array.ndim} dimensions: give a one-dimensional array")
    if array.size and array.dtype.kind not in "iu":
        raise GraphError(f"{what} has dtype {array.dtype}: give integers")
    return array


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make the array read-only, so that graphs can share it, and return it."""
    array.flags.writeable = False
    return array


def kept(array: NDArray[Any], given: NDArray[Any], copy: bool) -> NDArray[Any]:
    """Return a read-only array with fixed values, without a copy if nothing can write to it."""
    if array is not given and not np.may_share_memory(array, given):
        return frozen(array)  # a converted array is not shared with the caller
    if must_copy(array, given, copy):
        return frozen(array.copy())
    view = array.view()  # the flag of the caller's array does not change
    view.flags.writeable = False
    return view


def as_direction(directed: Any) -> bool:
    """Return whether a graph is directed; text such as "no" is refused."""
    if not isinstance(directed, (int, np.bool_)) or directed not in (0, 1):
        raise GraphError(f"directed is {quoted(directed)}: give True or False")
    return bool(directed)


def must_copy(array: NDArray[Any], given: NDArray[Any], copy: bool) -> bool:
    """Return whether to copy an array, since its owner may still write to it."""
    return copy and np.may_share_memory(array, given) and not _immutable(array)


def _immutable(array: Any) -> bool:
    """Return whether neither the array nor any base array of it is writable."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        if array.base is None:
            return True
        array = array.base
    try:
        return memoryview(array).readonly
    except TypeError:
        return False
