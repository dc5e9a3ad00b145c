"""Customization on a CUDA device: weights of the arcs from device arrays of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import far_value
from nearfar.graph.graph import Graph
from nearfar.prepared.cuda.metric.arcs import ADVICE, CLUSTER, DeviceArcs, customize_kernel, threads
from nearfar.prepared.cuda.metric.metric import DeviceMetric
from nearfar.prepared.metric.arc_weights import detours_are_longer, value_dtype
from nearfar.system.devices import runtime

_FEW = 128  # arcs of a level, in all metrics, up to which one cluster processes it


def customized_on_device(
    structure: DeviceArcs, graphs: list[Graph], perfect: bool
) -> list[DeviceMetric]:
    """Return the weights of all arcs from edge weights on the device, for one or several metrics.

    O(triangles log degree) work in as many steps as the tree has levels.
    """
    cp = runtime.cupy()
    count, n_arcs = len(graphs), structure.n_arcs
    dtypes = {value_dtype(graph) for graph in graphs}
    values = dtypes.pop() if len(dtypes) == 1 else np.dtype(np.int64)
    m = graphs[0].n_edges
    each = n_arcs * values.itemsize * (2 + 2 * perfect + 1) + n_arcs
    runtime.require_memory(count * each, ADVICE)
    of_edges = [_weights_there(graph) for graph in graphs]
    flat = of_edges[0] if count == 1 else cp.concatenate(of_edges)
    far = far_value(values)
    weights = cp.full(count * n_arcs * 2, far, dtype=values)
    call = _Calls(structure, values, graphs[0].weight_dtype, count)
    call.weigh(flat, m, weights)
    differ = runtime.Pinned(1)
    differ.copy_from((weights[0::2] != weights[1::2]).any())
    # Whether directions differ rarely changes, so the device does not wait for the test.
    begun = structure.sides_before[0] == 2
    if begun:
        call.levels("lower_triangles", 2, weights=weights)
    sides = 1 + any(differ.wait())
    structure.sides_before[0] = sides
    if sides == 1:
        weights = cp.ascontiguousarray(weights[0::2])
    if not begun:
        call.levels("lower_triangles", sides, weights=weights)
    flags = None
    if perfect:
        detours = cp.full(len(weights), far, dtype=values)
        call.levels("upper_triangles", sides, weights=weights, detours=detours)
        flags = cp.empty(count * n_arcs, dtype=np.uint8)
        ties = all(detours_are_longer(graph, weights) for graph in graphs)
        call.mark(sides, weights, detours, ties, flags)
    size = n_arcs * sides
    return [
        DeviceMetric(
            structure,
            weights[i * size : (i + 1) * size],
            None if flags is None else flags[i * n_arcs : (i + 1) * n_arcs],
            sides,
        )
        for i in range(count)
    ]


def _weights_there(graph: Graph) -> Any:
    if graph.device_arrays and graph.device_arrays[2] is not None:
        return graph.device_arrays[2]
    return runtime.upload(graph.effective_weights)


class _Calls:
    """Launches of one customization."""

    def __init__(
        self, structure: DeviceArcs, values: np.dtype[Any], weight: np.dtype[Any], metrics: int
    ) -> None:
        self.structure, self.metrics = structure, metrics
        self.types = values, weight

    def _kernel(self, name: str, sides: int) -> Any:
        return customize_kernel(name, *self.types, sides)

    def _blocks(self, items: int) -> int:
        return max(1, min(-(-items // 256), runtime.device().multiprocessors * 8))

    def weigh(self, of_edges: Any, m: int, weights: Any) -> None:
        """Assign the edges' weights, in both directions."""
        s = self.structure
        entries = len(s.edges["edge"])
        if entries:
            arguments = {
                **s.edges,
                "entries": np.int64(entries),
                "of_edges": of_edges,
                "m": np.int64(m),
                "weights": weights,
                "n_arcs": np.int64(s.n_arcs),
            }
            grid = (self._blocks(entries), self.metrics)
            self._kernel("weigh_edges", 2)(grid, 256, arguments)

    def levels(self, name: str, sides: int, **arrays: Any) -> None:
        """Process all levels: near the root by a cluster of blocks, else by all blocks."""
        s = self.structure
        if not len(s.levels["arcs"]):
            return
        crowded, rest = _cuts(s.sizes, self.metrics)
        parts = [(name, 0, rest), (f"{name}_near_root", rest, len(s.sizes))]
        if name == "upper_triangles":
            parts.reverse()
        arrivals = runtime.cupy().zeros(2, dtype=np.uint32)
        for number, (kernel, level, end) in enumerate(parts):
            arguments = {
                **arrays,
                **s.levels,
                "level": np.int32(level),
                "end": np.int32(end),
                "crowded": np.int32(crowded),
                "n_arcs": np.int64(s.n_arcs),
                "metrics": np.int32(self.metrics),
                "arrivals": arrivals[number:],
            }
            blocks = runtime.device().multiprocessors if kernel == name else CLUSTER
            if end > level:
                self._kernel(kernel, sides)(blocks, threads(), arguments, cooperative=True)

    def mark(self, sides: int, weights: Any, detours: Any, ties: bool, flags: Any) -> None:
        """Mark the arcs that queries need."""
        count = len(flags)
        if count:
            arguments = {"weights": weights, "detours": detours, "flags": flags}
            arguments |= {"count": np.int64(count), "ties": np.int32(ties)}
            self._kernel("mark_arcs", sides)(self._blocks(count), 256, arguments)


def _cuts(sizes: NDArray[np.int64], metrics: int) -> tuple[int, int]:
    """Count the levels with more arcs than warps, and those too large for a cluster."""
    warps = runtime.device().multiprocessors * threads() // 32
    return _up_to(sizes, warps), _up_to(sizes, _FEW // metrics)


def _up_to(sizes: NDArray[np.int64], most: int) -> int:
    """Return the number of levels up to the last one with more arcs than ``most``."""
    large = np.flatnonzero(sizes > most)
    return int(large[-1]) + 1 if len(large) else 0
