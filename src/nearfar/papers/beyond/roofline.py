"""Roofline of a device's memory: least number of bytes moved, and rates.

- *stream*: the bytes that any method has to move once (row bounds and edges of the reached
  vertices, and every distance) over the measured bandwidth of a copy;
- *gather*: as many reads of single distances in random order, over an array of this graph's size,
  as there are edges to read, over the measured rate of such reads. Every method that reads each
  edge reads the distance at its end.

Both are lower bounds for one read of each edge without waiting. A method with a chain of dependent
steps cannot reach them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from nearfar.graph.graph import Graph

_COPY = 1 << 28
_REPEATS = 5


def bytes_once(graph: Graph, distances: Any) -> dict[str, int]:
    """Return the bytes that any method moves at least once, and the number of edges it reads.

    Row bounds (two per reached vertex), edges (end and weight) of reached vertices, and one
    distance per vertex.
    """
    from nearfar.graph.dtypes import unreached_value

    reached = distances != unreached_value(distances.dtype)
    edges = int(graph.degrees[reached].sum(dtype=np.int64))
    weight = graph.weight_dtype.itemsize if graph.is_weighted else 0
    rows = int(reached.sum()) * 2 * graph.indptr.dtype.itemsize
    moved = rows + edges * (graph.indices.dtype.itemsize + weight) + distances.nbytes
    return {"edges": edges, "bytes": moved}


def rates(graph: Graph, device: str, scale: str) -> dict[str, float]:
    """Return bytes per second of a copy, and random reads per second from an array of n numbers.

    On the CPU the rates are those of one core; ``scale="tiny"`` moves fewer bytes.
    """
    measure = _cuda_rates if device == "cuda" else _cpu_rates
    return measure(graph.n_vertices, graph.weight_dtype, scale)


def bounds(moved: dict[str, int], at: dict[str, float]) -> dict[str, float]:
    """Return the seconds of both bounds, from :func:`bytes_once` and :func:`rates`."""
    return {"stream": moved["bytes"] / at["copy_bytes"], "gather": moved["edges"] / at["gathers"]}


def _best(run: Callable[[], float]) -> float:
    run()
    return min(run() for _ in range(_REPEATS))


def _cpu_rates(n: int, dtype: np.dtype[Any], scale: str) -> dict[str, float]:
    """Return bytes per second of a copy, and random reads per second from n numbers; one core."""
    size = _COPY // (64 if scale == "tiny" else 1)
    source, target = np.ones(size, dtype=np.uint8), np.empty(size, dtype=np.uint8)
    count = min(1 << 24, size // 8)
    where = np.random.default_rng(1).integers(0, n, count)
    numbers = np.zeros(n, dtype=dtype)
    out = np.empty(count, dtype=dtype)

    def copy() -> float:
        began = time.perf_counter()
        np.copyto(target, source)
        return time.perf_counter() - began

    def gather() -> float:
        began = time.perf_counter()
        np.take(numbers, where, out=out, mode="clip")
        return time.perf_counter() - began

    return {"copy_bytes": 2 * size / _best(copy), "gathers": count / _best(gather)}


def _cuda_rates(n: int, dtype: np.dtype[Any], scale: str) -> dict[str, float]:
    """Return the rates of the current CUDA device, timed by events."""
    from nearfar.system.devices import runtime

    cp = runtime.cupy()
    size = _COPY // 64 if scale == "tiny" else 4 * _COPY
    source, target = cp.ones(size, dtype=np.uint8), cp.empty(size, dtype=np.uint8)
    count = size // 16
    where = cp.asarray(np.random.default_rng(1).integers(0, n, count, dtype=np.int32))
    numbers = cp.zeros(n, dtype=dtype)
    out = cp.empty(count, dtype=dtype)

    def copy() -> float:
        timer = runtime.Timer().start()
        cp.copyto(target, source)
        return timer.stop().seconds

    def gather() -> float:
        timer = runtime.Timer().start()
        cp.take(numbers, where, out=out)
        return timer.stop().seconds

    return {"copy_bytes": 2 * size / _best(copy), "gathers": count / _best(gather)}
