"""Predecessors and masks of distances that lie on the device; see tight_edges.cuh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda import runtime
from nearfar.cuda.device_graph import C_NAMES, device_graph
from nearfar.cuda.sorted_rows import SEGMENT, rows_are_sorted
from nearfar.errors import SolverError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph import Graph

__all__ = ["device_predecessors", "mask_above"]

_THREADS = 256
_TALLY = np.dtype([("reached", np.uint64), ("filled", np.uint64), ("greatest", np.uint64)])
_CONTROL_BYTES = 384  # struct LevelControl
_STATUS_AT = 128
_LEAST_SPAN, _TURNS = 512, 4  # edges a warp takes at a time; such turns a warp
_MOST_ROWS = 32_768  # of the grid's y
ROUNDS_BEYOND = 2  # the watchdog: a round takes at least one vertex


class _Pass:
    """The programs for one graph and form; kept with the graph."""

    def __init__(self, device: DeviceGraph, pulls: bool, is_sorted: bool, signed: bool) -> None:
        macros = {
            **device.macros,
            "PULL": int(pulls),
            "SORTED": int(is_sorted),
            "SIGNED": int(signed),
            "SEGMENT": SEGMENT,
        }
        program = runtime.program("cuda/tight_edges.cuh", macros)
        self.start = program.kernel("tight_start")
        self.edges = program.kernel("tight_edges")
        self.levels = program.kernel("tight_levels")
        self.blocks = self.edges.resident_blocks(_THREADS)


def _pass(graph: Graph, device: DeviceGraph) -> _Pass:
    pulls = not graph.directed
    is_sorted = rows_are_sorted(graph, device)
    held = graph.cache.setdefault("cuda_predecessors", {})
    key = (runtime.device().ordinal, device.vertex_dtype, device.offset_dtype, is_sorted)
    if key not in held:
        held[key] = _Pass(device, pulls, is_sorted, bool(graph.n_negative))
    return held[key]  # type: ignore[no-any-return]


def device_predecessors(
    graph: Graph, sources: Sequence[int], distances: Any
) -> tuple[Any, dict[str, Any]]:
    """Predecessors from finished distances, without leaving the device.

    The same as :func:`nearfar.paths.tight_predecessors` gives on the host. O(n + m) work a row.

    Parameters
    ----------
    graph : Graph
        With weights of the distances' dtype.
    sources : sequence of int
        Vertex indices, one a row.
    distances : CuPy array, shape (n,) or (k, n)
        Exact distances, C-contiguous.

    Returns
    -------
    predecessors : CuPy array of the distances' shape, dtype of ``graph.indptr``
        -1 for sources and unreached vertices.
    stats : dict
        ``device_seconds``, and ``rows_by_levels``: rows in which edges that add nothing mattered.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    SolverError
        If the watchdog's bound on rounds is reached.
    """
    cp = runtime.cupy()
    device = device_graph(graph)
    n, m, k = device.n, device.m, len(sources)
    id_bytes = device.vertex_dtype.itemsize
    advice = "ask for predecessors of fewer sources, or on the host: device='cpu'"
    runtime.require_memory(k * (n * id_bytes + _TALLY.itemsize), advice)
    made = _pass(graph, device)
    found = cp.empty((k, n), dtype=device.vertex_dtype)
    tallies = cp.zeros(k * _TALLY.itemsize, dtype=np.uint8)
    rows = distances.reshape(k, n)
    timer = runtime.Timer().start()
    by_levels: list[int] = list(range(k)) if graph.n_negative else []
    for first in range(0, k, _MOST_ROWS):
        many = min(k - first, _MOST_ROWS)
        part = (rows[first:], found[first:], tallies[first * _TALLY.itemsize :])
        width = max(min(made.blocks, -(-n // _THREADS)) // many, 1)
        made.start((width, many), _THREADS, (np.int64(n), *part))
        if m and not graph.n_negative:
            width = max(made.blocks // many, 1)
            warps = width * (_THREADS // 32)
            span = min(max(_LEAST_SPAN, -(-m // (_TURNS * warps))), 1 << 24)
            arguments = (np.int64(n), np.int64(m), device.offsets, device.edges, *part)
            made.edges((width, many), _THREADS, (*arguments, np.int64(span)))
    if not graph.n_negative:
        seen = tallies.get().view(_TALLY)
        by_levels = np.flatnonzero(seen["reached"] > seen["filled"] + 1).tolist()
    for row in by_levels if m else ():
        _by_levels(made, device, int(sources[row]), rows[row], found[row])
    seconds = timer.stop().seconds
    wanted = graph.indptr.dtype
    if wanted != found.dtype:
        found = found.astype(wanted)
    stats = {"device_seconds": seconds, "rows_by_levels": len(by_levels)}
    return found.reshape(distances.shape), stats


def _by_levels(
    made: _Pass, device: DeviceGraph, source: int, distance: Any, predecessor: Any
) -> None:
    """Give the vertices that are left their predecessors, level by level, in one launch."""
    cp = runtime.cupy()
    n = device.n
    runtime.require_memory(n * (4 + device.vertex_dtype.itemsize), "ask on the host: device='cpu'")
    control = cp.zeros(_CONTROL_BYTES, dtype=np.uint8)
    arguments = (np.int64(n), device.offsets, device.edges, distance, np.int64(source), predecessor)
    scratch = (cp.empty(n, dtype=np.int32), cp.empty(n, dtype=device.vertex_dtype), control)
    made.levels(
        runtime.device().multiprocessors,
        _THREADS,
        (*arguments, *scratch, np.int64(n + ROUNDS_BEYOND)),
        cooperative=True,
    )
    if int(control[_STATUS_AT : _STATUS_AT + 8].get().view(np.int64)[0]):
        raise SolverError(
            f"predecessors were not found within {n + ROUNDS_BEYOND} rounds: check the device "
            "with `nearfar doctor`"
        )


def mask_above(graph: Graph, distances: Any, bound: Any) -> None:
    """Make every distance above ``bound`` (a number of the distances' dtype) unreached, in place.

    Parameters
    ----------
    graph : Graph
        Whose distances they are; any dtype.
    distances : CuPy array
    """
    dtype = np.dtype(distances.dtype)
    macros = {**device_graph(graph).macros, "WEIGHT_T": C_NAMES[dtype.name]}
    kernel = runtime.program("cuda/mask_above.cuh", macros).kernel("mask_above")
    blocks = min(-(-distances.size // _THREADS), runtime.device().multiprocessors * 8)
    if blocks:
        kernel(blocks, _THREADS, (distances, dtype.type(bound), np.int64(distances.size)))
