"""Lightest out-edge and in-edge of every vertex (paper section 3.1), computed once per graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot

KERNELS = "papers/ortega_arranz_2015/crauser/crauser.cuh"
LIGHTEST_OUT: Slot[NDArray[Any]] = Slot("lightest out-edges")
_DEVICE_LIGHTEST: Slot[Any] = Slot("lightest out-edges on the device")


def lightest_out(graph: Graph) -> NDArray[Any]:
    """Return each vertex's lightest out-edge, "unreached" without one; cached. O(n + m)."""

    def make() -> NDArray[Any]:
        from nearfar import _cpu

        found = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
        _cpu.lightest_edges(graph.view, found)
        return found

    return LIGHTEST_OUT.of(graph, make)


def lightest_in(graph: Graph) -> NDArray[Any]:
    """Return the weight of each vertex's lightest in-edge, from the cached transpose. O(n + m)."""
    return lightest_out(graph.transpose())


def device_lightest(graph: Graph) -> Any:
    """Return each vertex's lightest out-edge on the current device, computed once per device."""
    from nearfar.cuda.device_graph import device_graph
    from nearfar.system.devices import runtime

    def make() -> Any:
        device = device_graph(graph)
        lightest = runtime.cupy().empty(device.n, dtype=device.weight_dtype)
        kernel = runtime.program(KERNELS, device.macros).kernel("lightest_edges")
        blocks = max(1, -(-device.n // 256))
        arguments = {"offsets": device.offsets, "edges": device.edges, "lightest": lightest}
        kernel(blocks, 256, {**arguments, "n": np.int64(device.n)})
        return lightest

    return _DEVICE_LIGHTEST.of(graph, make, runtime.device().ordinal)
