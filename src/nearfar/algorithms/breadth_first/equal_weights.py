"""Breadth-first search of graphs whose weights are all equal.

A path of k edges of weight w has the length of w added k times, from left to right, so distances
follow from numbers of edges. Rounding is monotone: fewer edges are never longer.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cuda.device_graph import C_NAMES, device_graph
from nearfar.errors import OutOfMemoryError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import FARTHEST
from nearfar.graph.slots import Slot
from nearfar.registry import CHOICES, Answer, Declined, Solver, Workspace
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import is_device_array

#: The same edges without weights.
_HOPS: Slot[Graph] = Slot("edges without weights")
#: Lengths of paths by number of edges, by device; None is the host.
_LENGTHS: Slot[Any] = Slot("lengths of paths by number of edges")
_DECLINED: Slot[bool] = Slot("no memory for edges without weights")
_FILE = "algorithms/breadth_first/lengths.cuh"
_THREADS = 256


def also_equal_weights(search: Solver) -> Solver:
    """Let a search that counts edges answer graphs with equal weights, too."""

    @wraps(search)
    def run(graph: Graph, source: Any, options: Any, workspace: Workspace) -> Answer:
        if not graph.is_weighted:
            return search(graph, source, options, workspace)
        hops = _HOPS.of(graph, graph.without_weights)
        if workspace.targets is not None and not _grow(lengths_by_hops(graph)):
            workspace = replace(workspace, targets=None)  # more edges may be no farther
        if workspace.limit is not None:
            workspace = replace(workspace, limit=hops_within(graph, workspace.limit))
        try:
            answer = search(hops, source, options, workspace)
            answer.distances = _lengths_of(graph, hops, answer.distances, workspace.threads)
        except OutOfMemoryError as error:
            _DECLINED.put(graph, True)
            CHOICES.drop(graph)
            raise Declined(f"no memory for the edges without weights: {error}") from error
        return answer

    return run


def hops_within(graph: Graph, limit: float) -> int:
    """Return the greatest number of edges of a path that is not longer than a limit."""
    return int(np.searchsorted(lengths_by_hops(graph), limit, side="right")) - 1


def has_declined(graph: Graph) -> bool:
    """Return whether a search found no memory for a second copy of a graph's edges."""
    return bool(_DECLINED.get(graph))


def lengths_by_hops(graph: Graph) -> NDArray[Any]:
    """Return the length of a path of each number of edges below n; unreached if it does not fit."""

    def make() -> NDArray[Any]:
        dtype, weight = graph.weight_dtype, graph.max_weight
        if dtype.kind == "f":
            steps = np.full(graph.n_vertices, weight, dtype)
            steps[:1] = 0
            with np.errstate(over="ignore"):  # inf is unreached
                return np.cumsum(steps, dtype=dtype)
        fit = min(graph.n_vertices, FARTHEST[dtype] // max(int(weight), 1) + 1)
        lengths = np.full(graph.n_vertices, unreached_value(dtype), dtype)
        lengths[:fit] = np.arange(fit, dtype=dtype) * dtype.type(weight)
        return lengths

    lengths: NDArray[Any] = _LENGTHS.of(graph, make)
    return lengths


def _grow(lengths: NDArray[Any]) -> bool:
    """Return whether every further edge makes a path longer, also after rounding."""
    return len(lengths) < 2 or bool(lengths[-1] > lengths[-2])


def _lengths_of(graph: Graph, hops: Graph, counts: Any, threads: int) -> Any:
    """Return the distances that belong to numbers of edges, in place if the sizes agree."""
    lengths = lengths_by_hops(graph)
    on_device = is_device_array(counts)
    xp: Any = runtime.cupy() if on_device else np
    in_place = lengths.dtype.itemsize == counts.dtype.itemsize
    found = counts.view(lengths.dtype) if in_place else xp.empty(len(counts), lengths.dtype)
    if not on_device:
        _cpu.lengths_of_hops(counts, lengths, found, threads)
        return found
    there = _LENGTHS.of(graph, lambda: runtime.upload(lengths), runtime.device().ordinal)
    macros = {**device_graph(hops).macros, "WEIGHT_T": C_NAMES[lengths.dtype.name]}
    kernel = runtime.program(_FILE, macros).kernel("lengths_of_hops")
    blocks = min(-(-len(counts) // _THREADS), runtime.device().multiprocessors * 8)
    arguments = {"hops": counts, "lengths": there, "distance": found, "n": np.int64(len(counts))}
    kernel(blocks, _THREADS, arguments)
    return found
