"""Prepared graphs on CUDA as a variant: many sources in one sweep over cells of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.prepared.cells import PassShape
from nearfar.prepared.device_sweep import Sweep, padded
from nearfar.prepared.exact import polish
from nearfar.prepared.prepared import Prepared
from nearfar.registry import Answer, Estimate, Request, Workspace, variant
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph

__all__ = ["DeviceTreeOptions", "elimination_tree_rows"]


@dataclass(frozen=True, slots=True)
class DeviceTreeOptions:
    """Options of ``elimination_tree_rows@cuda``.

    Parameters
    ----------
    exact : bool
        As for ``elimination_tree@cpu``.
    sweep : int
        Sources per sweep; 0 chooses.
    """

    exact: bool = True
    sweep: int = 0


_ARC = 1.5e-13  # seconds per arc and source, the device being full
_VERTEX = 2.5e-12  # and per distance written
_LEVEL = 4e-7  # seconds per level of the tree, whatever the number of sources


def _many(facts: Facts, request: Request) -> Estimate | None:
    if not isinstance(facts.graph, Prepared):
        return None
    prepared = facts.graph
    arcs, height = len(prepared.metric.down.weight), prepared.preparation.figures.height
    seconds = request.n_sources * (_ARC * arcs + _VERTEX * facts.n) + 1e-4 + _LEVEL * height
    return Estimate(seconds, "prepared: sources in the lanes of warps, cells in shared memory")


def _is_prepared(graph: Graph, request: Request) -> Literal[True] | str:
    if not isinstance(graph, Prepared):
        return "the graph is not prepared: nearfar.prepare(graph) makes one that is"
    return True


@variant(
    "elimination_tree_rows",
    device="cuda",
    problems={"batch", "all_pairs"},
    weights="any",
    options=DeviceTreeOptions,
    requires=_is_prepared,
    paper="dibbelt-2016",
    section="elimination tree query; sources in lanes, cells of the tree in shared memory",
    summary="cells of the elimination tree in shared memory, sources in lanes (prepared graphs)",
    complexity="O(k arcs)",
    cost=_many,
)
def elimination_tree_rows(
    graph: Graph, sources: NDArray[np.int64], options: DeviceTreeOptions, workspace: Workspace
) -> Answer:
    """Rows or a table, in as many sweeps as the memory asks for."""
    assert isinstance(graph, Prepared)
    cp = runtime.cupy()
    n, dtype, columns = graph.n_vertices, graph.weight_dtype, workspace.columns
    width = n if columns is None else len(columns)
    if n == 0 or len(sources) == 0:
        return Answer(cp.empty((len(sources), width), dtype), {"iterations": 0})
    sweep = Sweep(graph, None, len(sources))
    timer = runtime.Timer().start()
    each = min(options.sweep or sources_per_sweep(sweep, len(sources)), len(sources))
    exact = dtype.kind == "f" and options.exact
    direct = (columns is None or exact) and sweep.can_gather and gathers(sweep)
    needed = sweep.scratch_bytes(each) + sweep.values_bytes(each, direct)
    row = width * dtype.itemsize
    given = workspace.out
    fits = given is not None and given.shape == (len(sources), width) and given.dtype == dtype
    there = fits and runtime.is_device_array(given)
    whole = there or workspace.on_device
    advice = "ask for fewer rows, targets or a reduction" if whole else ""
    held = 0 if there else row * (len(sources) if whole else each)
    if exact:
        held += n * dtype.itemsize * each
    runtime.require_memory(needed + held, advice)
    out: Any = given if fits else None
    if out is None:
        out = (cp if whole else np).empty((len(sources), width), dtype=dtype)
    values = None if direct else cp.empty((n, padded(each)), dtype=sweep.dtype)
    labels = sweep.tree.label
    place = labels if columns is None or exact else labels[cp.asarray(columns)]
    count = 0
    for first in range(0, len(sources), each):
        some = sources[first : first + each]
        mine = out[first : first + len(some)]
        in_place = whole and not exact
        rows = mine if in_place else cp.empty((len(some), len(place)), dtype)
        plan = sweep.gathered(rows) if direct else sweep.transposed(values, place, rows)
        plan(some)
        if not in_place:
            found = runtime.download(rows)
            if exact:
                polish(graph, some, found, workspace.threads)
                found = found if columns is None else found[:, columns]
            mine[...] = cp.asarray(found) if whole else found
        count += 1
    timer.stop()
    stats = {"sweeps": count, "device_seconds": timer.seconds}
    return Answer(out, stats)


def gathers(sweep: Sweep) -> bool:
    """Whether neighbours in the order of the sweep are neighbours in that of the vertices."""
    return sweep.cells.host.n_sectors < 0.5 * sweep.n


def sources_per_sweep(sweep: Sweep, sources: int) -> int:
    """As many sources as a third of the free memory has room for, and no more than pay."""
    free, _ = runtime.memory()
    each = sweep.values_bytes(1, False) // padded(1) + sweep.scratch_bytes(1) // padded(1)
    room = max(1, free // (3 * each) // 128) * 128
    return int(min(room, 8192, max(sources, 1)))


__all__ += ["PassShape", "gathers", "sources_per_sweep"]
