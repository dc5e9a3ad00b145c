"""Prepared graphs on CUDA as a variant: many sources in one sweep over cells of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.prepared.cells import PassShape
from nearfar.prepared.device_reduce import DeviceReduction, reduces
from nearfar.prepared.device_rows import DeviceRows, RowForm
from nearfar.prepared.device_shapes import padded
from nearfar.prepared.device_sweep import Sweep
from nearfar.prepared.prepared import Prepared
from nearfar.registry import (
    Answer,
    Estimate,
    Figures,
    Request,
    RowReduction,
    Workspace,
    variant,
)
from nearfar.system.devices import runtime
from nearfar.system.devices.several import each_block

if TYPE_CHECKING:
    from collections.abc import Callable

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
    arcs, height = prepared.metric.n_swept, prepared.preparation.figures.height
    seconds = request.n_sources * (_ARC * arcs + _VERTEX * facts.n) + 1e-4 + _LEVEL * height
    return Estimate(seconds, "prepared: sources in the lanes of warps, cells in shared memory")


def _is_prepared(graph: Graph, request: Request) -> Literal[True] | str:
    if not isinstance(graph, Prepared):
        return "the graph is not prepared: nearfar.prepare(graph) makes one that is"
    return True


def _reduced(
    graph: Graph,
    sources: NDArray[np.int64],
    options: DeviceTreeOptions,
    workspace: Workspace,
    reduction: RowReduction,
) -> Figures | None:
    """What rows come to, as their distances are on their way down the tree."""
    assert isinstance(graph, Prepared)
    columns = workspace.columns
    width = graph.n_vertices if columns is None else len(columns)
    if not len(sources) or not reduces(graph, reduction, options.exact, width):
        return None
    count = len(sources)
    each = min(options.sweep or sources_per_sweep(Sweep(graph, None, count), count), count)
    return DeviceReduction(graph, reduction, columns, workspace.limit, each)(sources)


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
    devices={"host", "device"},
    reduce=_reduced,
)
def elimination_tree_rows(
    graph: Graph, sources: NDArray[np.int64], options: DeviceTreeOptions, workspace: Workspace
) -> Answer:
    """Rows or a table, in as many sweeps as the memory asks for."""
    assert isinstance(graph, Prepared)
    cp = runtime.cupy()
    dtype, columns = graph.weight_dtype, workspace.columns
    shape = (len(sources), graph.n_vertices if columns is None else len(columns))
    if graph.n_vertices == 0 or len(sources) == 0:
        return Answer(cp.empty(shape, dtype), {"iterations": 0})
    devices = list(workspace.devices or [runtime.device().ordinal])
    given = workspace.out
    fits = given is not None and given.shape == shape and given.dtype == dtype
    there = fits and runtime.is_device_array(given)
    whole = there or workspace.on_device
    timer = runtime.Timer().start()
    share = -(-len(sources) // len(devices))
    with runtime.on_device(devices[0]):
        each = min(options.sweep or sources_per_sweep(Sweep(graph, None, share), share), share)
    home = runtime.device().ordinal
    advice = "ask for fewer rows, targets or a reduction" if whole else ""
    if whole and not there:
        runtime.require_memory(shape[0] * shape[1] * dtype.itemsize, advice)
    out: Any = given if fits else (cp if whole else np).empty(shape, dtype=dtype)
    form = RowForm(columns, options.exact, home if whole else None, advice, workspace.threads)
    blocks = [slice(k, min(k + each, len(sources))) for k in range(0, len(sources), each)]

    def begin() -> Callable[[slice], None]:
        rows = DeviceRows(graph, form, each)
        return lambda block: rows(sources[block], out[block])

    failed = each_block(devices, blocks, begin)
    timer.stop()
    stats: dict[str, Any] = {"sweeps": len(blocks)}
    if devices == [home]:
        stats["device_seconds"] = timer.seconds
    else:
        stats["devices"] = devices
    if failed:
        stats["failed_devices"] = {device: str(error) for device, error in failed.items()}
    return Answer(out, stats)


def sources_per_sweep(sweep: Sweep, sources: int) -> int:
    """As many sources as a third of the free memory has room for, and no more than pay."""
    free, _ = runtime.memory()
    each = sweep.values_bytes(1) // padded(1) + sweep.scratch_bytes(1) // padded(1)
    room = max(1, free // (3 * each) // 128) * 128
    return int(min(room, 8192, max(sources, 1)))


__all__ += ["PassShape", "sources_per_sweep"]
