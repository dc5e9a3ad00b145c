"""Arrays of a graph on a GPU, which are validated, stored and solved on that GPU.

Only arrays that the caller or a CPU method reads are copied to the host: :class:`nearfar.Graph`
downloads ``indptr``, ``indices`` and ``weights`` separately on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError
from nearfar.graph.build import (
    checked_weights,
    index_dtype,
    refuse_dtype,
    refuse_index,
    refuse_row,
    refuse_weight,
    runs,
    sample_step,
    unpaired_edge,
)
from nearfar.graph.given import as_weight_dtype, checked_indices
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import as_dtype
from nearfar.system.devices.structs import struct_dtype

_KERNELS = "cuda/graph/scan_graph.cuh"
_WIDEN = "cuda/distances/widen.cuh"
_NOWHERE = 2**63 - 1  # kNowhere in the kernel
_THREADS = 256
_FIRST = ("first_nonfinite", "first_negative")
_C_NAMES = {"int32": "int", "int64": "long long", "float32": "float", "float64": "double"}


@dataclass(frozen=True, slots=True)
class DeviceArrays:
    """Validated arrays of a graph on a device, with the interface of ``HostArrays``."""

    device_arrays: tuple[Any, Any, Any]
    scan: dict[str, Any]
    sample: NDArray[Any] | None = None  # some weights on the host, copied with the scan

    @property
    def indptr(self) -> NDArray[Any]:
        """Row starts; these three properties copy to the host on every access."""
        return _download(self.device_arrays[0])

    @property
    def indices(self) -> NDArray[Any]:
        """Edge targets."""
        return _download(self.device_arrays[1])

    @property
    def weights(self) -> NDArray[Any] | None:
        """Weights."""
        return None if self.device_arrays[2] is None else _download(self.device_arrays[2])

    def widest_vertex(self) -> int:
        """Return the first vertex of largest out-degree."""
        return int(self.scan["widest_vertex"])

    def max_degree(self) -> int:
        """Return the largest out-degree."""
        return int(self.scan["max_degree"])

    def weight_sample(self) -> NDArray[Any]:
        """Return evenly spaced weights on the host, starting with the first."""
        if self.sample is not None:
            return self.sample
        m = len(self.device_arrays[1])
        return np.ones(-(-m // sample_step(m)), dtype=np.int32)

    def rows_of(self, vertices: NDArray[Any], most: int) -> NDArray[Any]:
        """Return the targets of the first edges of some vertices, on the host."""
        indptr, indices, _ = self.device_arrays
        cp = runtime.cupy()
        picked = cp.asarray(vertices)
        begin = runtime.download(indptr[picked]).astype(np.int64)
        end = runtime.download(indptr[picked + 1])
        _, places = runs(np.minimum(end - begin, most), begin)
        return runtime.download(indices[cp.asarray(places)])

    def astype(self, dtype: np.dtype[Any]) -> DeviceArrays:
        """Return the arrays with weights converted exactly to another dtype on the device."""
        indptr, indices, weights = self.device_arrays
        with runtime.on_device(int(indptr.device.id)):  # the caller's current device may differ
            given = runtime.cupy().ones(len(indices), np.int32) if weights is None else weights
            changed = as_dtype(given, dtype)
            if dtype.kind == "i" and not bool((changed == given).all()):
                refuse_dtype(dtype)
            return _checked(indptr, indices, changed)

    def without_weights(self) -> DeviceArrays:
        """Return the same edges with weight 1 each, sharing the arrays."""
        indptr, indices, _ = self.device_arrays
        _, weights = checked_weights(None, len(indices))
        return DeviceArrays((indptr, indices, None), {**self.scan, **weights})

    def one_way_edge(self) -> int | None:
        """Return an edge without a reverse edge of the same weight, or None; O(m log m)."""
        indptr, indices, weights = self.device_arrays
        values = runtime.cupy().ones(len(indices), np.int32) if weights is None else weights
        return unpaired_edge(tails(indptr, len(indices)), indices, values)


def widening(values: Any, out: Any) -> Callable[[], None]:
    """Compile the conversion of contiguous 32-bit distances to `out`, and return its launch."""
    macros: dict[str, str | int] = dict.fromkeys(("INDEX_T", "OFFSET_T"), "int")
    macros |= {"WEIGHT_T": _C_NAMES[out.dtype.name], "FROM_T": _C_NAMES[values.dtype.name]}
    with runtime.on_device(int(values.device.id)):
        kernel = runtime.program(_WIDEN, macros).kernel("widen")
        blocks = min(-(-values.size // _THREADS), runtime.device().multiprocessors * 8)
    arguments = {"given": values, "distance": out, "count": np.int64(values.size)}

    def widen() -> None:
        with runtime.on_device(int(values.device.id)):
            if blocks:
                kernel(blocks, _THREADS, arguments)

    return widen


def tails(indptr: Any, m: int) -> Any:
    """Return the tail of each edge, on the device."""
    cp = runtime.cupy()
    return cp.searchsorted(indptr, cp.arange(m, dtype=indptr.dtype), side="right") - 1


def _download(array: Any) -> NDArray[Any]:
    here = runtime.download(array)
    here.flags.writeable = False
    return here


def _checked(indptr: Any, indices: Any, weights: Any) -> DeviceArrays:
    """Return the arrays after a check, without negative zeros."""
    scan = _scan(indptr, indices, weights)
    if scan.pop("n_negative_zero"):
        weights = weights + weights.dtype.type(0)  # -0.0 + 0.0 is 0.0
    sample = None
    if weights is not None and len(weights):
        sample = runtime.download(weights[:: sample_step(len(weights))].copy())
    return DeviceArrays((indptr, indices, weights), scan, sample)


def validate(indptr: Any, indices: Any, weights: Any = None, *, copy: bool = True) -> DeviceArrays:
    """Check CSR arrays of any dtype on the device, and convert them to the library's dtypes."""
    given = indptr, indices, weights
    first = checked_indices(runtime.upload(indptr), "indptr")
    targets = checked_indices(runtime.upload(indices), "indices")
    if len(first) == 0:
        raise GraphError("indptr is empty: a graph of n vertices has n + 1 entries")
    dtype = index_dtype(len(first) - 1, len(targets))
    # Indices are checked in int64 before they are truncated to int32.
    if not first.dtype == targets.dtype == dtype:
        first, targets = (array.astype(np.int64, copy=False) for array in (first, targets))
    values = None if weights is None else as_weight_dtype(runtime.upload(weights))
    if values is not None and values.shape != targets.shape:
        raise GraphError(f"weights has shape {values.shape}, but there are {len(targets)} edges")
    made = _checked(first, targets, values)
    first, targets, values = made.device_arrays
    first, targets = (array.astype(dtype, copy=False) for array in (first, targets))
    kept = first, targets, values
    if copy:
        kept = tuple(map(_own, kept, given))
    return DeviceArrays(kept, made.scan, made.sample)


def from_edges(
    sources: Any,
    targets: Any,
    weights: Any = None,
    *,
    n_vertices: int | None = None,
    directed: bool = True,
) -> DeviceArrays:
    """Sort an edge list into rows on the device, preserving the order of each vertex's edges.

    O(m log m) at most, with four arrays of 64-bit integers in addition to the result.
    """
    cp = runtime.cupy()
    ends = [runtime.upload(array) for array in (sources, targets)]
    for name, array in zip(("sources", "targets"), ends, strict=True):
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise GraphError(
                f"{name} has shape {array.shape} and dtype {array.dtype}: give integers in a "
                "one-dimensional array"
            )
    tails, heads = (array.astype(np.int64) for array in ends)
    if len(tails) != len(heads):
        raise GraphError(f"{len(tails)} sources and {len(heads)} targets: give one per edge")
    values = None if weights is None else runtime.upload(weights)
    if values is not None and values.shape != tails.shape:
        raise GraphError(f"{values.shape} weights for {len(tails)} edges: give one per edge")
    runtime.require_memory(4 * 8 * len(tails), "give a shorter list of edges")
    if not directed:
        back = cp.flatnonzero(tails != heads)
        tails, heads = cp.concatenate((tails, heads[back])), cp.concatenate((heads, tails[back]))
        values = None if values is None else cp.concatenate((values, values[back]))
    largest = max(int(tails.max()), int(heads.max())) if len(tails) else -1
    n = largest + 1 if n_vertices is None else int(n_vertices)
    if len(tails) and (largest >= n or min(int(tails.min()), int(heads.min())) < 0):
        ends_of = cp.concatenate((tails, heads))
        at = int((ends_of < 0).argmax() if int(ends_of.min()) < 0 else (ends_of >= n).argmax())
        side = "source" if at < len(tails) else "target"
        raise GraphError(
            f"{side} {int(ends_of[at])} of edge {at % len(tails)} is outside the graph: give 0 to "
            f"{n - 1}"
        )
    order = cp.argsort(tails, kind="stable")
    indptr = cp.searchsorted(tails[order], cp.arange(n + 1))
    return validate(indptr, heads[order], None if values is None else values[order])


def _own(array: Any, given: Any) -> Any:
    """Return an array that only nearfar uses: a copy unless it was already converted."""
    shared = array is given or not isinstance(given, runtime.cupy().ndarray)
    return runtime.copied(array) if shared and array is not None else array


def _scan(indptr: Any, indices: Any, weights: Any) -> dict[str, Any]:
    """Check the arrays in one pass on the device; return statistics and the longest row."""
    n, m = len(indptr) - 1, len(indices)
    weight = np.dtype(np.int32) if weights is None else np.dtype(weights.dtype)
    floating = weight.kind == "f"
    value = np.float64 if floating else np.int64
    source = _C_NAMES[indptr.dtype.name]
    macros: dict[str, str | int] = dict.fromkeys(("INDEX_T", "OFFSET_T", "SOURCE_T"), source)
    macros |= {"WEIGHT_T": _C_NAMES[weight.name], "WEIGHTED": int(weights is not None)}
    part = struct_dtype(_KERNELS, "GraphPart", macros, wide_t=np.dtype(value).str)
    blocks = max(1, min(runtime.device().multiprocessors * 4, -(-max(n + 1, m) // _THREADS)))
    out = runtime.cupy().empty(blocks * part.itemsize, dtype=np.uint8)
    greatest = value(np.inf) if floating else value(_NOWHERE)
    arguments = {"indptr": indptr, "indices": indices, "weights": weights, "n": np.int64(n)}
    arguments |= {"m": np.int64(m), "greatest": greatest, "parts": out}
    runtime.program(_KERNELS, macros).kernel("scan_graph")(blocks, _THREADS, arguments)
    parts = runtime.download(out).view(part)
    names = part.names or ()
    count = {name: int(parts[name].sum()) for name in names if name.startswith("n_")}
    first = {name: int(parts[name].min()) for name in ("bad_row", "bad_index", *_FIRST)}
    if first["bad_row"] != _NOWHERE:
        refuse_row(first["bad_row"], int(indptr[first["bad_row"]]), m)
    if first["bad_index"] != _NOWHERE:
        refuse_index(first["bad_index"], int(indices[first["bad_index"]]), n)
    if count["n_nonfinite"]:
        at = first["first_nonfinite"]
        refuse_weight(at, float(weights[at]), count["n_nonfinite"])
    one = weight.type(1 if m else 0).item()
    found = {"min": one, "max": one, "mean": float(one)}
    if weights is not None and m:
        least, most = parts["least"].min().item(), parts["most"].max().item()
        found = {"min": least, "max": most, "mean": float(parts["sum"].sum()) / m}
    longest = int(parts["longest"].max())
    widest = int(parts["longest_at"][parts["longest"] == longest].min()) if longest else 0
    negative = first["first_negative"]
    return {
        "n_negative": count["n_negative"],
        "first_negative": -1 if negative == _NOWHERE else negative,
        "n_zero": count["n_zero"],
        "n_negative_zero": count["n_negative_zero"],
        "max_degree": longest,
        "widest_vertex": widest,
        **found,
    }
