"""Paths of pairs on a CUDA device; see paths.cuh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import VariantUnavailable, keyword
from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.pairs.pairs import Walks, device_walks, walks_over
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

_OPENED: Slot[_Opened] = Slot("origins of arcs on the device")
_SHARE = 4  # steps take at most one over this of the free memory
_ADVICE = f"give fewer pairs at a time, or use {keyword('device', 'cpu')}"


@dataclass(frozen=True)
class _Opened:
    """Data for unpacking shortcuts in addition to walks; arrays of ``paths.cuh``."""

    walks: Walks
    # `first` and `head_depth` of all arcs, and `length`, shape (n_arcs * sides,): int32 arrays
    arcs: dict[str, Any]
    origin: Any  # int32 array, shape (n_arcs * sides, 2)
    program: Any


def device_paths(
    prepared: Prepared, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[Any, Any, Any]:
    """Return the edges of a shortest path for each pair."""
    cp = runtime.cupy()
    opened = _OPENED.of(prepared, lambda: _open(prepared), runtime.device().ordinal)
    height = max(opened.walks.tree.height, 1)
    there, to = cp.asarray(starts), cp.asarray(ends)
    room = int(runtime.memory()[0] // (_SHARE * 16 * height))
    at_once = max(1, min(room, len(there), 2**31 // (2 * height)))
    runtime.require_memory(at_once * 16 * height, _ADVICE)
    parts = [
        _some(opened, there[low : low + at_once], to[low : low + at_once])
        for low in range(0, len(there), at_once)
    ]
    offsets = cp.zeros(len(there) + 1, dtype=np.int64)
    if not parts:
        return offsets, cp.empty(0, np.int32), cp.empty(0, bool)
    counts, edges, reached = (cp.concatenate(part) for part in zip(*parts, strict=True))
    cp.cumsum(counts, out=offsets[1:])
    return offsets, edges, reached.astype(bool)


def _some(opened: _Opened, starts: Any, ends: Any) -> tuple[Any, Any, Any]:
    """Return the edges of each pair's path, their numbers, and whether there is a path."""
    cp, walks = runtime.cupy(), opened.walks
    count, height = len(starts), max(walks.tree.height, 1)
    steps = cp.empty((count, 2 * height), dtype=np.int32)
    before = cp.empty_like(steps)
    reached = cp.empty(count, dtype=np.uint8)
    counts = cp.empty(count, dtype=np.int64)
    both = {"count": np.int32(count), "height": np.int32(height), "steps": steps, "before": before}
    both |= {"bounds": cp.empty((count, 2), dtype=np.int32)}
    arguments = {**walks.arguments, **opened.arcs, **both, "sources": starts, "targets": ends}
    arguments |= {"reached": reached, "n_edges": counts}
    walks.launch(opened.program.kernel("trace_paths"), count, arguments, beside=4, most=4)
    offsets = cp.zeros(count + 1, dtype=np.int64)
    cp.cumsum(counts, out=offsets[1:])
    total = int(offsets[-1])
    runtime.require_memory(4 * total, _ADVICE)
    edges = cp.empty(total, dtype=np.int32)
    if total:
        opening = {**both, "length": opened.arcs["length"], "offsets": offsets}
        opening |= {"origin": opened.origin, "edges": edges}
        opened.program.kernel("open_paths")(-(-total // 256), 256, opening)
    return counts, edges, reached


def _open(prepared: Prepared) -> _Opened:
    metric, arcs = prepared.metric, prepared.preparation.arcs
    if arcs.n_arcs >= 2**30:
        raise VariantUnavailable(
            f"{arcs.n_arcs} arcs are too many for paths: use {keyword('device', 'cpu')}"
        )
    # The arcs that the CPU follows, so that both choose the same of several shortest paths.
    same = metric.swept[0] is metric.up and metric.swept[1] is metric.down
    walks = device_walks(prepared) if same else walks_over(prepared, metric.up, metric.down)
    origins = prepared._origins
    length = np.empty(len(origins) // 2, dtype=np.int32)
    _cpu.prepared_path_lengths(origins, metric.sides, length)
    parts = {"first": arcs.first.astype(np.int32), "head_depth": arcs.head_depth, "length": length}
    runtime.require_memory(origins.nbytes + sum(part.nbytes for part in parts.values()))
    macros = {**walks.tree.macros, "PRUNES": int(prepared.n_negative == 0), "SIDES": metric.sides}
    program = runtime.program("prepared/cuda/pairs/paths.cuh", macros)
    there = {name: runtime.upload(part) for name, part in parts.items()}
    return _Opened(walks, there, runtime.upload(origins), program)
