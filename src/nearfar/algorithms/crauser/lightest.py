"""The lightest out-edge and in-edge of every vertex (paper section 3.1), once a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["KERNELS", "device_lightest", "lightest_in", "lightest_out"]

KERNELS = "algorithms/crauser/crauser.cuh"


def lightest_out(graph: Graph) -> NDArray[Any]:
    """Lightest out-edge of each vertex, shape (n,); "unreached" without one; cached. O(n + m)."""
    found = graph.cache.get("lightest_out")
    if found is None:
        from nearfar import _cpu

        found = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
        _cpu.lightest_edges(graph.view, found)
        graph.cache["lightest_out"] = found
    return found


def lightest_in(graph: Graph) -> NDArray[Any]:
    """Weight of each vertex's lightest in-edge, from the cached transpose. O(n + m)."""
    return lightest_out(graph.transpose())


def device_lightest(graph: Graph) -> Any:
    """Lightest out-edge of every vertex on the current device, computed there once and cached."""
    from nearfar.cuda.device_graph import device_graph
    from nearfar.system.devices import runtime

    held = graph.cache.setdefault("cuda", {})
    key = ("lightest_out", runtime.device().ordinal)
    if key not in held:
        device = device_graph(graph)
        lightest = runtime.cupy().empty(device.n, dtype=device.weight_dtype)
        kernel = runtime.program(KERNELS, device.macros).kernel("lightest_edges")
        blocks = max(1, -(-device.n // 256))
        kernel(blocks, 256, (np.int64(device.n), device.offsets, device.edges, lightest))
        held[key] = lightest
    return held[key]
