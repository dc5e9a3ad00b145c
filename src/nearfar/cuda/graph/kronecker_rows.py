"""Kronecker graphs generated on the devices that solve them, each generating its own rows.

The graph is that of :func:`nearfar.generators.kronecker.kronecker`, but it is never on the host,
so its size is limited only by the total memory of the devices. The edges of a row are in no fixed
order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearfar.cuda.device_graph import C_NAMES, DeviceGraph, Rows
from nearfar.errors import OptionError
from nearfar.generators import common
from nearfar.generators.random import Stream
from nearfar.system.devices import runtime
from nearfar.system.devices.structs import filled, struct_dtype

_KERNELS = "cuda/graph/kronecker_rows.cuh"
_LIMITS = tuple(round(float(limit) * 2**32) for limit in np.cumsum([0.57, 0.19, 0.19]))
_THREADS = 256


def kronecker_rows(
    scale: int, devices: Sequence[int], edge_factor: int = 16, seed: int = 1
) -> list[Rows]:
    """Generate rows of a symmetrised Kronecker graph with int32 weights 1..255 on each device."""
    levels = common.check_int("scale", scale, 5, 30)
    factor = common.check_int("edge_factor", edge_factor, 1, 1 << 10)
    count = len(devices)
    if not 1 <= count <= 1 << (levels - 5):
        raise OptionError(f"{count} devices for 2^{levels} vertices: give 1 to {1 << (levels - 5)}")
    n = 1 << levels
    cuts = [n * k // count // 32 * 32 for k in range(count)] + [n]
    kind = struct_dtype(_KERNELS, "Kronecker")
    wide, narrow = np.dtype(np.int64), np.dtype(np.int32)
    macros: dict[str, str | int] = {
        "INDEX_T": C_NAMES[narrow.name],
        "OFFSET_T": C_NAMES[wide.name],
        "WEIGHT_T": C_NAMES[narrow.name],
        "WEIGHTED": 1,
    }
    made = []
    for device, first, last in zip(devices, cuts, cuts[1:], strict=False):
        with runtime.on_device(device):
            cp = runtime.cupy()
            program = runtime.program(_KERNELS, macros)
            description = filled(
                kind,
                key=Stream(seed, "kronecker.edges").key,
                scramble_key=Stream(seed, "kronecker.scramble").key,
                weight_key=Stream(seed, "kronecker.weights").key,
                limits=list(_LIMITS),
                drawn=n * factor,
                scale=levels,
                scrambled=1,
                low=1,
                range=255,
                first=first,
                last=last,
            )
            grid = runtime.device().multiprocessors * 16
            offsets = cp.zeros(last - first + 1, dtype=np.int64)
            degrees = {"kronecker": description, "degrees": offsets[1:]}
            program.kernel("kronecker_degrees")(grid, _THREADS, degrees)
            cp.cumsum(offsets, out=offsets)
            m = int(offsets[-1])
            runtime.require_memory(
                8 * m + 8 * (last - first), "give more devices, or a lower scale"
            )
            edges = cp.empty(8 * m, dtype=np.uint8)
            rows = {"kronecker": description, "cursors": offsets[:-1].copy(), "edges": edges}
            program.kernel("kronecker_rows")(grid, _THREADS, rows)
            graph = DeviceGraph(last - first, m, offsets, edges, narrow, wide, narrow, True, 8)
            made.append(Rows(device, first, last, graph))
    return made
