"""Transpose of a directed graph, computed on the device; see reverse.cuh."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from nearfar.cuda.device_graph import DeviceGraph
from nearfar.errors import OutOfMemoryError
from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import struct_dtype

_FILE = "algorithms/breadth_first/reverse.cuh"
_HEAVY = 512  # kReverseHeavy of that file
_THREADS = 1024
_SECONDS = 1e-10  # seconds per edge, measured on an H200
_REVERSE: Slot[Reverse | None] = Slot("transpose on the device")
_SPENT: Slot[list[float]] = Slot("searches that would have pulled")


@dataclass(frozen=True)
class Reverse:
    """Transpose of a graph on a device, without weights."""

    device: DeviceGraph
    seconds: float  # device time for building it


def reverse_of(graph: Graph, device: DeviceGraph, *, make: bool) -> Reverse | None:
    """Return the transpose of a graph, cached on it; without ``make`` only if it exists."""
    if not make:
        return _REVERSE.get(graph, device.key)
    return _REVERSE.of(graph, lambda: _reverse(device), device.key)


def reversing_pays(graph: Graph, device: DeviceGraph, seconds: float = 0.0) -> bool:
    """Return whether searches that could have pulled have taken as long as transposing would."""
    spent = _SPENT.of(graph, lambda: [0.0], device.key)
    spent[0] += seconds
    return spent[0] >= _SECONDS * device.m


def _reverse(device: DeviceGraph) -> Reverse | None:
    cp = runtime.cupy()
    n, m = device.n, device.m
    offset, vertex = device.offset_dtype, device.vertex_dtype
    blocks = runtime.device().multiprocessors
    most_heavy = m // _HEAVY + 1
    control = struct_dtype(_FILE, "ReverseControl", device.macros)
    try:
        runtime.require_memory(
            (2 * n + 1 + blocks) * offset.itemsize
            + (m + most_heavy) * vertex.itemsize
            + control.itemsize
        )
    except OutOfMemoryError:
        return None
    offsets = cp.empty(n + 1, dtype=offset)
    edges = cp.empty(max(m, 1) * vertex.itemsize, dtype=np.uint8)
    kernel = runtime.program(_FILE, device.macros).kernel("reverse")
    given = {
        "offsets": device.offsets,
        "edges": device.edges,
        "n": np.int64(n),
        "m": np.int64(m),
        "in_offsets": offsets,
        "in_edges": edges.view(vertex),
        "places": cp.empty(n, dtype=offset),
        "sums": cp.empty(blocks, dtype=offset),
        "heavy": cp.empty(most_heavy, dtype=vertex),
        "control": cp.zeros(control.itemsize, dtype=np.uint8),
    }
    launch = runtime.Launch(kernel, blocks, _THREADS, given, cooperative=True)
    timer = runtime.Timer().start()
    launch()
    seconds = timer.stop().seconds
    return Reverse(dataclasses.replace(device, offsets=offsets, edges=edges), seconds)
