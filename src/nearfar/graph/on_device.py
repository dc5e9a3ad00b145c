"""A graph made of device arrays: checked, kept and solved where they lie.

Nothing of it is copied to the host but what a person or a CPU method asks for: the arrays
``indptr``, ``indices`` and ``weights`` are downloaded on first use, each for itself.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphError
from nearfar.graph.build import index_dtype, refuse_index, refuse_row, refuse_weight
from nearfar.graph.dtypes import WEIGHT_DTYPES
from nearfar.graph.graph import AS_TYPE, Graph
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import struct_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DeviceArraysGraph", "from_device_arrays"]

_KERNELS = "cuda/scan_graph.cuh"
_NOWHERE = 2**63 - 1  # kNowhere there
_THREADS = 256
_FIRST = ("first_nonfinite", "first_negative")
_C_NAMES = {"int32": "int", "int64": "long long", "float32": "float", "float64": "double"}


class DeviceArraysGraph(Graph):
    """A :class:`nearfar.Graph` over CuPy arrays.

    Parameters
    ----------
    indptr, indices, weights : CuPy arrays, shapes (n + 1,), (m,) and (m,)
        Indices of one dtype; ``weights`` may be None.
    directed : bool
        False when the arrays hold every edge in both directions.
    scan : dict or None
        What a scan of equal weights found; None checks the arrays.

    Raises
    ------
    GraphError
        If the arrays do not describe a graph; says which entry is wrong.
    """

    def __init__(
        self,
        indptr: Any,
        indices: Any,
        weights: Any,
        *,
        directed: bool = True,
        scan: dict[str, Any] | None = None,
    ) -> None:
        if scan is None:
            scan = _scan(indptr, indices, weights)
            if scan.pop("n_negative_zero"):
                weights = weights + weights.dtype.type(0)  # -0.0 + 0.0 is 0.0
        self.device_arrays = indptr, indices, weights
        self._scan = scan
        self.directed, self.on_device = bool(directed), True
        self.attributes, self._kept = {}, {}
        self.vertex_names = self.coordinates = None

    def __getattr__(self, name: str) -> Any:
        """The arrays on the host, from the first time that they are asked for."""
        place = ("indptr", "indices", "weights").index(name) if name in _HOST_ARRAYS else None
        if place is None or "device_arrays" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        there = self.device_arrays[place]
        here = None if there is None else runtime.download(there)
        if here is not None:
            here.flags.writeable = False
        self.__dict__[name] = here
        return here

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.device_arrays[0]) - 1

    @property
    def n_edges(self) -> int:
        """Number of stored edges."""
        return len(self.device_arrays[1])

    @property
    def is_weighted(self) -> bool:
        """Whether edges carry weights."""
        return self.device_arrays[2] is not None

    @property
    def weight_dtype(self) -> np.dtype[Any]:
        """Dtype of weights and distances."""
        weights = self.device_arrays[2]
        return np.dtype(np.int32) if weights is None else np.dtype(weights.dtype)

    @property
    def index_dtype(self) -> np.dtype[Any]:
        """Dtype of the index arrays."""
        dtype: np.dtype[Any] = self.device_arrays[0].dtype
        return dtype

    @cached_property
    def widest_vertex(self) -> int:
        """The vertex of largest out-degree, the smallest such."""
        indptr = self.device_arrays[0]
        return int((indptr[1:] - indptr[:-1]).argmax()) if self.n_vertices else 0

    @cached_property
    def max_degree(self) -> int:
        """Largest out-degree; 0 for the empty graph."""
        indptr = self.device_arrays[0]
        return int((indptr[1:] - indptr[:-1]).max()) if self.n_vertices else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays on the device."""
        return sum(int(array.nbytes) for array in self.device_arrays if array is not None)

    def weight_sample(self, step: int) -> NDArray[Any]:
        """Every so manieth weight, on the host."""
        return runtime.download(self.device_arrays[2][::step].copy())

    def rows_of(self, vertices: NDArray[Any], most: int) -> NDArray[Any]:
        """Targets of some vertices' first edges, at most so many each, joined, on the host."""
        indptr, indices, _ = self.device_arrays
        cp = runtime.cupy()
        picked = cp.asarray(vertices)
        begin = runtime.download(indptr[picked]).astype(np.int64)
        counts = np.minimum(runtime.download(indptr[picked + 1]) - begin, most)
        ends = np.cumsum(counts)
        places = np.repeat(begin - (ends - counts), counts) + np.arange(int(ends[-1]))
        return runtime.download(indices[cp.asarray(places)])

    def astype(self, dtype: Any) -> Graph:
        """The graph with weights of another dtype, made on the device and kept."""
        dtype = np.dtype(dtype)
        indptr, indices, weights = self.device_arrays
        if dtype not in WEIGHT_DTYPES:
            return super().astype(dtype)  # which refuses it
        if weights is not None and dtype == weights.dtype:
            return self

        def make() -> Graph:
            given = runtime.cupy().ones(self.n_edges, np.int32) if weights is None else weights
            changed = given.astype(dtype)
            if dtype.kind == "i" and not bool((changed == given).all()):
                raise GraphError(
                    f"the weights do not fit {dtype} exactly: round or scale them first"
                )
            return DeviceArraysGraph(indptr, indices, changed, directed=self.directed)

        return AS_TYPE.of(self, make, dtype)

    def without_weights(self) -> Graph:
        """The same edges, each counting 1, over the same arrays."""
        indptr, indices, weights = self.device_arrays
        if weights is None:
            return self
        return DeviceArraysGraph(indptr, indices, None, directed=self.directed)


_HOST_ARRAYS = frozenset(("indptr", "indices", "weights"))


def from_device_arrays(
    indptr: Any, indices: Any, weights: Any = None, *, directed: bool = True
) -> DeviceArraysGraph:
    """A graph over device arrays of any integer and number dtypes, shared where the dtypes allow.

    Parameters
    ----------
    indptr, indices, weights : CuPy arrays, or device arrays with DLPack
        As :meth:`nearfar.Graph.from_csr`.

    Raises
    ------
    GraphError
        If the arrays do not describe a graph; says which entry is wrong.
    """
    arrays = {"indptr": runtime.upload(indptr), "indices": runtime.upload(indices)}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise GraphError(f"{name} has {array.ndim} dimensions: give a one-dimensional array")
        if array.size and array.dtype.kind not in "iu":
            raise GraphError(f"{name} has dtype {array.dtype}: give integers")
    first, targets = arrays.values()
    if len(first) == 0:
        raise GraphError("indptr is empty: a graph of n vertices has n + 1 entries")
    dtype = index_dtype(len(first) - 1, len(targets))
    # The check sees 64 bits before anything is cut to 32; no index of a graph needs the 64th bit.
    if not first.dtype == targets.dtype == dtype:
        first, targets = (array.astype(np.int64, copy=False) for array in (first, targets))
    values = None if weights is None else _numbers(runtime.upload(weights))
    if values is not None and values.shape != targets.shape:
        raise GraphError(f"weights has shape {values.shape}, but there are {len(targets)} edges")
    made = DeviceArraysGraph(first, targets, values, directed=directed)
    first, targets, values = made.device_arrays
    made.device_arrays = (
        first.astype(dtype, copy=False),
        targets.astype(dtype, copy=False),
        values,
    )
    return made


def _numbers(weights: Any) -> Any:
    """Weights in one of the four dtypes; smaller integers widen to int32, float16 to float32."""
    kind, size = weights.dtype.kind, weights.dtype.itemsize
    if weights.dtype in WEIGHT_DTYPES:
        return weights
    if kind == "b" or (kind in "iu" and size < 4):
        return weights.astype(np.int32)
    if kind == "u":
        if size == 8 and weights.size and int(weights.max()) > _NOWHERE:
            raise GraphError("weights above 2**63 - 1 do not fit int64: scale them down")
        return weights.astype(np.int64)
    if weights.dtype == np.float16:
        return weights.astype(np.float32)
    raise GraphError(f"weights have dtype {weights.dtype}: use int32, int64, float32 or float64")


def _scan(indptr: Any, indices: Any, weights: Any) -> dict[str, Any]:
    """Check the arrays in one pass on the device, and sum up the weights.

    Returns
    -------
    dict
        As of the host's scan: ``n_negative, first_negative, n_zero, min, max, mean``, and
        ``n_negative_zero``.
    """
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
    runtime.program(_KERNELS, macros).kernel("scan_graph")(
        blocks, _THREADS, (indptr, indices, weights, np.int64(n), np.int64(m), greatest, out)
    )
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
    negative = first["first_negative"]
    return {
        "n_negative": count["n_negative"],
        "first_negative": -1 if negative == _NOWHERE else negative,
        "n_zero": count["n_zero"],
        "n_negative_zero": count["n_negative_zero"],
        **found,
    }
