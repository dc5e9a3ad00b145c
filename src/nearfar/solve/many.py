"""Distances from many sources or of all pairs, as a matrix, a file, a sparse matrix or a reduction.

Rows are solved in blocks. A batch variant solves each block, distances beyond the limit are
masked, and a sink (an array, a file, a reduction) receives the block, so that at most one block is
in memory unless the result is the matrix.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.frames import LABELLED, labelled_matrix, labelled_pairs, labelling_library
from nearfar.choose import measured
from nearfar.errors import OptionError, keyword, quoted
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.turns import TurnGraph
from nearfar.options import Device, Devices, canonical_device, check_kind
from nearfar.prepared.cpu.pairs import pair_indices
from nearfar.raster.raster import Raster
from nearfar.raster.solve import cost_distances
from nearfar.solve.arrays import distinct_sources, repeat_rows
from nearfar.solve.from_targets import from_targets
from nearfar.solve.option_types import MethodOptions
from nearfar.solve.pairs import pair_distances
from nearfar.solve.rows.reductions import ReducingSink, Reduction
from nearfar.solve.steps.plan import first_plan
from nearfar.solve.steps.request import (
    as_graph_or_turns,
    check_block,
    check_stats,
    make_request,
    refuse_for_raster,
    refuse_tree_of_turns,
    vertices_or_all,
)
from nearfar.solve.steps.room import is_path, packed_edges, sink_of
from nearfar.solve.steps.run import Run
from nearfar.system.devices import several
from nearfar.system.devices.arrays import is_device_array, to_host

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_PAIRS_ALONE = (
    f"{keyword('pairs')} cannot be combined with sources, targets, out, reduce or predecessors"
)
#: Bytes of rows of a graph with turns that are reduced at a time.
_TURN_ROWS = 1 << 26


class _Call(MethodOptions, total=False):
    """Arguments common to all overloads of :func:`all_pairs`, and options of the method."""

    weight: str | Callable[[Any, Any, Any], Any] | None
    method: str
    device: Device
    threads: int | None
    limit: float | None
    targets: Iterable[Any] | None
    stats: dict[str, Any] | None
    progress: Callable[[float, float], None] | None
    memory: int | None
    block: int | None
    devices: Devices


class _PairsCall(_Call, total=False):
    """Arguments common to all overloads of :func:`distances`."""

    pairs: Iterable[tuple[Any, Any]] | None


_Reduced = Literal["count", "sum", "mean", "max", "harmonic"]  # one array


# Return types by `out`, `predecessors` and `reduce`, for the type checker.
# fmt: off
@overload
def distances(graph: GraphLike, sources: Iterable[Any] | None = None, *,
              predecessors: Literal[True], out: NDArray[Any] | None = None,
              **call: Unpack[_PairsCall]) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def distances(graph: GraphLike, sources: Iterable[Any] | None = None, *, out: Literal["csr"],
              **call: Unpack[_PairsCall]) -> csr_array[Any]: ...
@overload
def distances(graph: GraphLike, sources: Iterable[Any] | None = None, *,
              predecessors: Literal[False] = False, out: NDArray[Any] | None = None,
              reduce: _Reduced | tuple[str, Sequence[float]] | None = None,
              **call: Unpack[_PairsCall]) -> NDArray[Any]: ...
@overload
def distances(graph: GraphLike, sources: Iterable[Any] | None = None, *,
              predecessors: bool = False, out: Any = None,
              reduce: str | tuple[str, Sequence[float]] | None = None,
              **call: Unpack[_PairsCall]) -> Any: ...
# fmt: on
def distances(
    graph: GraphLike,
    sources: Iterable[Any] | None = None,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    method: str = "auto",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    targets: Iterable[Any] | None = None,
    predecessors: bool = False,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    reduce: str | tuple[str, Sequence[float]] | None = None,
    out: Any = None,
    memory: int | None = None,
    block: int | None = None,
    devices: Devices = None,
    **options: Unpack[MethodOptions],
) -> Any:
    """Compute exact distances from many sources.

    Parameters
    ----------
    graph : graph_like, TurnGraph or Raster
        Graph. With turns, vertices are those of the original graph, and predecessors are not
        available. Cells of a Raster are tuples, and without targets a row has the raster's shape.
    sources : vertices or None
        Sources of the rows, in order; None means every vertex.
    weight, device, threads, limit
        As for :func:`nearfar.sssp`.
    method : str
        ``"auto"``, a batch variant (``"lanes"``, ``"worker_per_source"``, ``"johnson"``, ...) or
        any single-source method, which workers run source by source.
    targets : vertices or None
        Targets of the columns, in order; None means every vertex. A search stops once all targets
        are settled.
    predecessors : bool
        Whether to return ``(distances, predecessors)``, arrays of the same shape on the same
        device; requires all columns.
    stats : dict or None
        Dict to be filled with the engine, the reason for the choice, counters and seconds.
    progress : callable or None
        Function called after each block with the number of finished rows and of all rows.
    pairs : list of (source, target) or None
        Pairs for which to return a vector of distances, instead of ``sources`` and ``targets``.
        ``stats["pairs_by"]`` is ``"table"``, ``"walks"`` or ``"labels"`` (of a graph prepared
        within the call too, which adds floats in fixed point), ``"both ends"`` or ``"searches"``.
    reduce : str, tuple or None
        Reduction of each row to one or a few numbers: ``"count"``, ``"sum"``, ``"mean"``,
        ``"max"``, ``"summary"``, ``"harmonic"``, ``"nearest:k"`` or ``("histogram", edges)``; see
        :class:`nearfar.solve.Reduction`.
    out : array, "csr", "pandas", "polars", "xarray", path or None
        Destination of the rows. None returns a new array. An array of the result's shape and dtype
        is filled. ``"csr"`` returns a ``scipy.sparse.csr_array`` of the reached pairs, including
        distances of 0. The name of a library returns its table, with names and without unreached
        pairs. A path ending in ``.npy``, ``.zarr`` or ``.parquet`` is written block by block; the
        same call resumes an interrupted run.
    memory : int or None
        Bytes that the run may use in addition to the graph's arrays; None means the free memory.
        Packed edges that would take more than half of it move to an unnamed file in the folder of
        ``out``.
    block : int or None
        Rows per block; None chooses a number.
    devices : "all", list of int or None
        CUDA devices that share the rows; None is the current one. If a device fails, others solve
        its block, and ``stats["failed_devices"]`` has the reason.
    **options
        Options of the variant.

    Returns
    -------
    array, shape (k, n) or (k, len(targets))
        Distances in the dtype of the weights (int32 without weights), or its 64-bit form if a
        distance does not fit. Unreached is inf or the dtype's maximum. A CuPy array for a graph of
        device arrays and for ``out`` on a device.

    Raises
    ------
    OutOfMemoryError
        If the run does not fit in memory, before anything is allocated.
    VertexError, OptionError, NegativeWeightError, NegativeCycleError, VariantUnavailable
        As for :func:`nearfar.sssp`.

    Notes
    -----
    A row has the same bits with every method and in every batch. O(k (n + m) log n) at worst on
    the CPU for non-negative weights.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> nearfar.distances(g, [0, 1], targets=[2])
    array([[7],
           [3]], dtype=int32)
    >>> nearfar.distances(g, pairs=[(0, 1), (1, 2)])
    array([4, 3], dtype=int32)
    """
    given: dict[str, Any] = {"limit": limit, "device": device, "threads": threads}
    if isinstance(graph, Raster):
        refuse_for_raster(
            method, weight=weight != "weight", predecessors=predecessors, pairs=pairs,
            reduce=reduce, out=out, memory=memory, block=block, devices=devices, stats=stats,
            **options,
        )  # fmt: skip
        if sources is None:
            raise OptionError("give the sources: one row per cell of a Raster would be too large")
        return cost_distances(graph, sources, targets=targets, progress=progress, **given)
    graph = as_graph_or_turns(graph, weight)
    labelled = isinstance(out, str) and out in LABELLED
    if labelled and (predecessors or reduce):
        raise OptionError(f"{keyword('out', out)} cannot be combined with predecessors or reduce")
    sizes = memory is not None or (block is not None and out is None)
    check_kind("distances", "memory", memory, "float | None")
    check_block("distances", block)
    check_stats(stats, progress)
    if labelled or pairs is not None or isinstance(graph, TurnGraph):
        how: dict[str, Any] = {"method": method, **given, "stats": stats, "progress": progress,
                               "memory": memory, "block": block, "devices": devices,
                               **options}  # fmt: skip
        if labelled:
            return _labelled(graph, sources, targets, pairs, out, how)
        if isinstance(graph, TurnGraph):
            refuse_tree_of_turns(predecessors)
            return _with_turns(graph, sources, targets, pairs, reduce, out, how)
        more = sources is not None or targets is not None or out is not None
        if more or reduce or predecessors or pairs is None:
            raise OptionError(_PAIRS_ALONE)
        return pair_distances(distances, graph, pairs, **how)
    rows = vertices_or_all(graph, sources, "source")
    columns = None if targets is None else vertices_or_all(graph, targets, "target")
    if predecessors and (columns is not None or reduce or isinstance(out, (str, os.PathLike))):
        raise OptionError(
            f"{keyword('predecessors')} needs all columns in an array: omit targets, and files"
        )
    if devices is not None:
        given["device"] = _on_cuda(device)
    # A file receives all rows in order, so only its blocks solve repeated sources once.
    places, in_file = None, out is not None and is_path(out)
    if not in_file:
        rows, places = distinct_sources(rows)
    simple = method == "auto" and not (options or predecessors or sizes)
    known = None
    if columns is not None and simple and devices is None and not is_device_array(out):
        about: dict[str, Any] = {}
        known = from_targets(distances, graph, rows, columns, about, **given)
        if known is not None and out is None and reduce is None:
            if progress is not None:
                progress(len(rows), len(rows))
            if stats is not None:
                stats.update(about)
            return known if places is None else repeat_rows(known, places)
    request = make_request(
        graph,
        "all_pairs" if _is_every(rows, graph.n_vertices) else "batch",
        rows,
        method=method,
        targets=columns,
        predecessors=predecessors,
        out=out,
        reduced=reduce is not None,
        sparse=isinstance(out, str) and out == "csr",
        **given,
    )
    sharing = None
    if devices is not None and several.chosen(devices) != several.chosen(None):
        sharing = several.chosen(devices)
    free = memory is None and not request.sparse
    plan = first_plan(
        graph,
        request,
        method,
        dict(options),
        devices=sharing,
        narrow=free and reduce is None,
        shorter=free,
    )
    if sharing is not None and plan.variant.device != "cuda":
        raise OptionError(f"{keyword('devices')} requires a CUDA method, not {plan.variant.id}")
    if memory is not None:
        plan = plan.within(int(memory))
    run = Run(plan, rows, places)
    if memory is not None:
        folder = os.path.dirname(os.path.abspath(out)) if in_file else None
        if edges_in := packed_edges(run, int(memory), folder):
            run.stats["edges_in"] = edges_in
    sink = sink_of(run, out, reduce, memory, block, predecessors)
    run.table = known
    began = time.perf_counter()
    result = run.into(sink, progress)
    ended = time.perf_counter()
    before = run.predecessors(result) if predecessors else None
    if method == "auto" and run.plan.variant is plan.variant and not in_file and known is None:
        seconds = time.perf_counter() - began
        measured.record_run(plan.timed, request, plan.variant, seconds)
    if places is not None:
        result = repeat_rows(result, places)
        before = None if before is None else repeat_rows(before, places)
    if stats is not None:
        stats.update(run.stats, seconds=ended - began, reason=run.plan.reason)
        if known is not None:
            stats.update(about)
        if predecessors:
            found_with_rows = run.stats.get("predecessor_seconds", 0.0)
            stats["predecessor_seconds"] = found_with_rows + time.perf_counter() - ended
    return (result, before) if predecessors else result


def _on_cuda(device: str) -> Literal["cuda"]:
    """Return the kind of device for ``devices=``, refusing a CPU."""
    if canonical_device(device) not in ("auto", "cuda"):
        raise OptionError(
            f"{keyword('devices')} requires {keyword('device', 'cuda')}, not {quoted(device)}"
        )
    return "cuda"


def _labelled(
    given_graph: Graph | TurnGraph,
    sources: Any,
    targets: Any,
    pairs: Any,
    library: str,
    call: dict[str, Any],
) -> Any:
    """Return a table with the names of the vertices of its rows and columns."""
    graph = given_graph.original if isinstance(given_graph, TurnGraph) else given_graph
    labelling_library(library, LABELLED)
    if pairs is not None:
        given = [tuple(pair) for pair in pairs]
        found = distances(given_graph, sources, targets=targets, pairs=given, **call)
        return labelled_pairs(library, given, to_host(found))
    rows, columns = (vertices_or_all(graph, ends, what) for ends, what in
                     ((sources, "source"), (targets, "target")))  # fmt: skip
    found = distances(
        given_graph,
        None if sources is None else graph.name_of(rows),
        targets=None if targets is None else graph.name_of(columns),
        **call,
    )
    return labelled_matrix(library, graph.name_of(rows), graph.name_of(columns), to_host(found))


def _with_turns(
    turns: TurnGraph,
    sources: Any,
    targets: Any,
    pairs: Any,
    reduce: Any,
    out: Any,
    call: dict[str, Any],
) -> Any:
    """Solve on the searched graph, from the starts to the ends of the vertices."""
    original = turns.original
    if pairs is not None:
        if sources is not None or targets is not None or reduce or out is not None:
            raise OptionError(_PAIRS_ALONE)
        begin, end = pair_indices(original, pairs)
        ways = np.stack([turns.starts[begin], turns.ends[end]], axis=1)
        return distances(turns.graph, pairs=ways, **call)
    rows = vertices_or_all(original, sources, "source")
    columns = None if targets is None else vertices_or_all(original, targets, "target")
    ends = turns.ends if columns is None else turns.ends[columns]
    if reduce is None:
        return distances(turns.graph, turns.starts[rows], targets=ends, out=out, **call)
    if out is not None:
        raise OptionError(f"{keyword('reduce')} cannot be combined with out: it returns new arrays")
    # The searched graph has more vertices than the rows that are reduced.
    sink = ReducingSink(Reduction.parse(reduce), rows, columns, original)
    sink.start((len(rows), len(ends)), original.weight_dtype)
    block = max(1, _TURN_ROWS // (8 * max(len(ends), 1)))
    for number, first in enumerate(range(0, max(len(rows), 1), block)):
        part = turns.starts[rows[first : first + block]]
        found = distances(turns.graph, part, targets=ends, **{**call, "progress": None})
        sink.put(number, first, to_host(found))
        if call["progress"] is not None:
            call["progress"](min(first + block, len(rows)), len(rows))
    return sink.finish()


def _is_every(rows: NDArray[np.int64], n: int) -> bool:
    return len(rows) == n and bool((rows == np.arange(n)).all())


# fmt: off
@overload
def all_pairs(graph: GraphLike, *, predecessors: Literal[True], out: NDArray[Any] | None = None,
              **call: Unpack[_Call]) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def all_pairs(graph: GraphLike, *, out: Literal["csr"],
              **call: Unpack[_Call]) -> csr_array[Any]: ...
@overload
def all_pairs(graph: GraphLike, *, predecessors: Literal[False] = False,
              out: NDArray[Any] | None = None,
              reduce: _Reduced | tuple[str, Sequence[float]] | None = None,
              **call: Unpack[_Call]) -> NDArray[Any]: ...
@overload
def all_pairs(graph: GraphLike, *, predecessors: bool = False, out: Any = None,
              reduce: str | tuple[str, Sequence[float]] | None = None,
              **call: Unpack[_Call]) -> Any: ...
# fmt: on
def all_pairs(
    graph: GraphLike,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    method: str = "auto",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    targets: Iterable[Any] | None = None,
    predecessors: bool = False,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
    reduce: str | tuple[str, Sequence[float]] | None = None,
    out: Any = None,
    memory: int | None = None,
    block: int | None = None,
    devices: Devices = None,
    **options: Unpack[MethodOptions],
) -> Any:
    """Compute exact distances between all pairs of vertices.

    Equivalent to :func:`distances` with every vertex as a source.

    Parameters
    ----------
    graph : graph_like
    weight, method, device, threads, limit, targets, predecessors, stats, progress
        As for :func:`distances`.
    reduce, out, memory, block, devices, **options
        As for :func:`distances`.

    Returns
    -------
    array, shape (n, n), or as ``targets``, ``predecessors``, ``out`` and ``reduce`` determine

    Raises
    ------
    OptionError
        For ``sources`` or ``pairs``, and as for :func:`distances`.
    """
    for name in ("sources", "pairs"):
        if name in options:
            raise OptionError(f"all_pairs uses every vertex as a source: use distances for {name}")
    return distances(
        graph,
        None,
        weight=weight,
        method=method,
        device=device,
        threads=threads,
        limit=limit,
        targets=targets,
        predecessors=predecessors,
        stats=stats,
        progress=progress,
        reduce=reduce,
        out=out,
        memory=memory,
        block=block,
        devices=devices,
        **options,
    )
