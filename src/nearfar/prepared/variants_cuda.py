"""Variant for prepared graphs on CUDA: many sources in one sweep over cells of the tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.prepared.cuda.bottoms.cells import Sweep
from nearfar.prepared.cuda.bottoms.leaves import TileSweep, row_sweep
from nearfar.prepared.cuda.bottoms.table import sources_per_table, table_pays
from nearfar.prepared.cuda.device import require_factor
from nearfar.prepared.cuda.query import query_bytes
from nearfar.prepared.cuda.shapes import UNIT
from nearfar.prepared.cuda.sinks.reduction import reduced, reduces
from nearfar.prepared.cuda.sinks.rows import DeviceRows, RowForm
from nearfar.prepared.first import (
    FirstOptions,
    can_be_prepared,
    cost_of_preparing,
    fits_arcs,
    of_prepared,
)
from nearfar.prepared.guess import Guess
from nearfar.prepared.prepared import Prepared, Sums
from nearfar.registry import Answer, Estimate, Request, RowReduction, Workspace, variant
from nearfar.system.devices import runtime
from nearfar.system.devices.several import each_block


@dataclass(frozen=True, slots=True)
class DeviceTreeOptions:
    """Options of ``elimination_tree_rows@cuda``.

    Parameters
    ----------
    sums : {"fixed", "search"}
        As for ``elimination_tree@cpu``.
    sweep : int
        Sources per sweep; 0 chooses.
    """

    sums: Sums = "fixed"
    sweep: int = 0


_ARC = 1.5e-13  # seconds per arc and source on a full device
_VERTEX = 2.5e-12  # seconds per written distance
_COMMON = 3e-14  # seconds per entry of a table and level of the tree
_LEVEL = 4e-7  # seconds per level of the tree, for any number of sources
_RESTORED = 1e-10  # seconds per distance for restoring a search's float sums
_SEARCHED = 1.2e-10  # least seconds per vertex and source of searches from thousands
_MOST_AT_ONCE = 8192  # sources per sweep: more are not faster
_CUT = 2e-7  # seconds per vertex for cutting the tree into cells and uploading them


def _many(facts: Facts, request: Request) -> Estimate | None:
    if not isinstance(facts.graph, Prepared):
        return None
    seconds = _rows_seconds(facts, request, facts.graph)
    return Estimate(seconds, "prepared: sources in the lanes of warps, cells in shared memory")


def _rows_seconds(facts: Facts, request: Request, prepared: Prepared) -> float:
    height = prepared.preparation.figures.height
    return _swept(facts, request, prepared.metric.n_swept, height) + 1e-4 + _LEVEL * height


def _swept(facts: Facts, request: Request, arcs: float, height: float) -> float:
    each = _ARC * arcs + _VERTEX * facts.n
    if isinstance(facts.graph, Prepared) and facts.graph.adds_floats:
        each += _RESTORED * facts.n
    elif request.targets is not None:  # a table is a product, unless it has many targets
        each = min(each, len(request.targets) * (_COMMON * height + _VERTEX))
    return request.n_sources * each


def _first(facts: Facts, request: Request) -> Estimate | None:
    searches = request.n_sources * _SEARCHED * facts.n
    return cost_of_preparing(facts, request, searches, _rows_seconds, _guessed)


def _guessed(facts: Facts, request: Request, found: Guess) -> tuple[float, float]:
    gain = max(facts.gain, 1.0)  # a GPU's profile has no gain of workers
    weights = found.weights / (1 + (request.threads - 1) * (gain - 1))
    height = 2 * math.sqrt(facts.n)
    rows = _swept(facts, request, found.n_arcs, height) + _CUT * facts.n + _LEVEL * height
    return weights, rows


def is_table(prepared: Prepared, columns: Any) -> bool:
    """Return whether targets are few enough for a product; sums of a search need whole rows."""
    if columns is None or prepared.adds_floats:
        return False
    return table_pays(prepared, len(columns))


def _reduced(
    graph: Prepared,
    sources: NDArray[np.int64],
    options: DeviceTreeOptions,
    workspace: Workspace,
    reduction: RowReduction,
) -> Answer:
    """Reduce rows during the pass down the tree, if possible."""
    columns = workspace.columns
    width = graph.n_vertices if columns is None else len(columns)
    if not len(sources) or not reduces(graph, reduction, width):
        return Answer(None)
    if reduction.kind == "nearest" and graph.fixed is not None:
        return Answer(None)  # rounding makes ties, broken by vertex
    table = is_table(graph, columns)

    def each(wanted: int) -> int:
        at_once = _sources_at_once(graph, columns, table, wanted, rows=False)
        return options.sweep or min(at_once, wanted)

    most = options.sweep or _MOST_AT_ONCE
    devices = list(workspace.devices or [runtime.device().ordinal])
    limit = workspace.limit
    return reduced(graph, reduction, columns, limit, most, each, table, sources, devices)


@variant(
    "elimination_tree_rows",
    device="cuda",
    problems={"batch", "all_pairs"},
    weights="any",
    options=DeviceTreeOptions,
    requires=fits_arcs,
    paper="dibbelt-2016",
    section="elimination tree query; sources in lanes, cells of the tree in shared memory",
    summary="cells of the elimination tree in shared memory, sources in lanes (prepared graphs)",
    complexity="O(k arcs)",
    cost=_many,
    devices={"host", "device"},
    reduces=True,
)
def elimination_tree_rows(
    graph: Graph, sources: NDArray[np.int64], options: DeviceTreeOptions, workspace: Workspace
) -> Answer:
    """Solve rows, a table or a reduction, in sweeps that fit the memory."""
    assert isinstance(graph, Prepared)
    cp = runtime.cupy()
    graph = graph.summing(options.sums)
    if workspace.reduction is not None:
        return _reduced(graph, sources, options, workspace, workspace.reduction)
    dtype, columns = graph.answer_dtype, workspace.columns
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
    table = is_table(graph, columns)
    with runtime.on_device(devices[0]):
        each = min(
            options.sweep or _sources_at_once(graph, columns, table, share, rows=True), share
        )
    home = runtime.device().ordinal
    advice = "ask for fewer rows, targets or a reduction" if whole else ""
    if whole and not there:
        runtime.require_memory(shape[0] * shape[1] * dtype.itemsize, advice)
    out: Any = given if fits else (cp if whole else np).empty(shape, dtype=dtype)
    form = RowForm(columns, home if whole else None, advice, workspace.threads)
    blocks = [slice(k, min(k + each, len(sources))) for k in range(0, len(sources), each)]

    def begin() -> Callable[[slice], None]:
        rows = DeviceRows(graph, form, each, table)
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


def _sources_at_once(
    prepared: Prepared, columns: Any, table: bool, sources: int, rows: bool
) -> int:
    if table:
        return sources_per_table(prepared, len(columns), sources)
    require_factor(prepared)
    sweep = row_sweep(prepared, sources) if rows else Sweep(prepared, None, sources)
    return sources_per_sweep(sweep, sources)


def sources_per_sweep(sweep: Sweep | TileSweep, sources: int) -> int:
    """Return the number of sources per block that fits a third of the free memory."""
    free, _ = runtime.memory()
    each = query_bytes(sweep.tree, sweep.dtype, 1, sweep.n_kept) // UNIT
    room = max(1, min(free // (3 * each), sweep.most_sources) // 128) * 128
    return int(min(room, _MOST_AT_ONCE, max(sources, 1)))


@variant(
    "prepare_first",
    device="cuda",
    problems={"batch", "all_pairs"},
    options=FirstOptions,
    requires=can_be_prepared,
    paper="dibbelt-2016",
    section="customizable contraction hierarchies; sources in lanes",
    summary="prepares the graph within the call, if there are enough sources to repay it",
    complexity="O(m log n + triangles + k arcs)",
    cost=_first,
    devices={"host", "device"},
    reduces=True,
)
def prepare_first(
    graph: Graph, sources: NDArray[np.int64], options: FirstOptions, workspace: Workspace
) -> Answer:
    """Prepare a plain graph on the host, cache the prepared graph on it, and answer."""
    solve = elimination_tree_rows
    return of_prepared(graph, sources, options, workspace, solve, DeviceTreeOptions)
