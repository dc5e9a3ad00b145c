"""Many sources and all pairs: one call for a matrix, a file, a sparse matrix or a reduction.

The work goes in blocks of rows. Each block is solved by one batch variant, masked, and handed to a
sink (an array, a file, a reduction), so that no more than one block is in memory unless the caller
wants the matrix.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.errors import OptionError, OutOfMemoryError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.options import check_kind, check_limit
from nearfar.solve.one import as_graph, check_threads, vertex_indices
from nearfar.solve.run import BatchRun
from nearfar.solve.sinks import ArraySink, CsrSink, DeviceArraySink, Reduction, Sink, widened
from nearfar.system.devices import runtime
from nearfar.system.memory import free_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["all_pairs", "distances", "free_memory", "pair_distances"]


def distances(
    graph: Any,
    sources: Iterable[Any] | None = None,
    targets: Iterable[Any] | None = None,
    limit: float | None = None,
    predecessors: bool = False,
    out: Any = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    *,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    reduce: str | tuple[str, Sequence[float]] | None = None,
    method: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    block: int | None = None,
    stats: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Exact distances from many sources at once.

    Parameters
    ----------
    graph : Graph, SciPy sparse matrix or NetworkX graph
    sources : vertices or None
        One row each, in this order; None means every vertex.
    targets : vertices or None
        One column each, in this order; None means every vertex. A search stops once all are
        settled.
    limit : number or None
        Inclusive; what is farther is left unreached. In units of the weights.
    predecessors : bool
        Return ``(distances, predecessors)``, both arrays of one shape on one device; needs every
        column. -1 for a source and for what it does not reach; the tree that
        :func:`nearfar.sssp` gives.
    out : array, "csr", path or None
        Where the rows go. None: a new array. An array (also memory-mapped, or a
        CuPy array when the run is on a GPU) of the result's shape and dtype is written to and
        returned. ``"csr"``: a ``scipy.sparse.csr_array`` of the pairs
        reached (within ``limit``); a distance of 0 is stored too. A path ending in ``.npy``,
        ``.zarr`` or ``.parquet``: written block by block with a manifest beside it; the same call
        again after an interruption resumes (see :mod:`nearfar.solve.files`).
    device : {"auto", "cpu", "cuda"}
    pairs : list of (source, target) or None
        Instead of ``sources`` and ``targets``: one distance a pair, as a vector.
    reduce : str, tuple or None
        One number (or few) a row without the matrix: ``"count"``, ``"sum"``, ``"mean"``, ``"max"``,
        ``"nearest:k"`` or ``("histogram", edges)``; see :class:`nearfar.solve.sinks.Reduction`.
    method : str
        ``"auto"``, a batch variant (``"lanes"``, ``"worker_per_source"``, ``"johnson"``, ...) or
        any single-source method, which workers then run source by source.
    threads : int or None
        CPU workers; None uses all cores of this process.
    memory : int or None
        Bytes that the run may use; None asks the system what is free.
    block : int or None
        Rows a block; None chooses.
    stats : dict or None
        Filled with the engine, the reason of the choice, counters and seconds.
    **options
        Options of the variant.

    Returns
    -------
    array, shape (k, n) or (k, len(targets))
        Dtype of the weights (int32 without weights, 64 bits when a 32-bit sum does not fit);
        unreached is inf or the dtype's maximum. Other values of ``out``, ``pairs`` and ``reduce``
        return what they say. For a graph made of device arrays, and for ``out`` on a device, the
        result is a CuPy array that never was on the host; otherwise it is a NumPy array.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated, with the bytes needed and the options that fit.
    VertexError, OptionError, NegativeWeightError, NegativeCycleError, VariantUnavailable
        As for :func:`nearfar.sssp`.

    Notes
    -----
    A row is the same bits whatever the method, the batch and its neighbours. O(k (n + m) log n) at
    worst on the CPU for non-negative weights.

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
    graph = as_graph(graph)
    for name, value, kind in (
        ("method", method, "str"),
        ("memory", memory, "float | None"),
        ("block", block, "int | None"),
    ):
        check_kind("distances", name, value, kind)
    if stats is not None and not isinstance(stats, dict):
        raise OptionError(f"stats is {stats!r}: give a dict to fill, or None")
    if pairs is not None:
        if sources is not None or targets is not None or reduce or out is not None or predecessors:
            raise OptionError("pairs goes without sources, targets, out, reduce and predecessors")
        return pair_distances(
            graph, pairs, limit, device, method=method, threads=threads, stats=stats, **options
        )
    rows = _indices(graph, sources, "source")
    columns = None if targets is None else _indices(graph, targets, "target")
    if predecessors and (columns is not None or reduce or isinstance(out, (str, os.PathLike))):
        raise OptionError("predecessors needs every column and an array: no targets, no file")
    bound = check_limit(limit, graph.weight_dtype)
    if device == "auto" and (
        runtime.is_device_array(out) or (graph.on_device and "@" not in method)
    ):
        device = "cuda"
    workers = check_threads(threads)
    run = BatchRun(graph, rows, columns, bound, device, method, workers, options, predecessors)
    sink = _sink(run, out, reduce, memory, block, predecessors)
    began = time.perf_counter()
    result = run.into(sink)
    ended = time.perf_counter()
    before = run.predecessors(result) if predecessors else None
    if stats is not None:
        stats.update(run.stats, seconds=ended - began, reason=run.reason)
        if predecessors:
            stats["predecessor_seconds"] = time.perf_counter() - ended
    return (result, before) if predecessors else result


def all_pairs(graph: Any, **arguments: Any) -> Any:
    """Distances between all pairs: :func:`distances` with every vertex as a source.

    Parameters
    ----------
    graph : Graph, SciPy sparse matrix or NetworkX graph
    **arguments
        As for :func:`distances`, except ``sources`` and ``pairs``.

    Returns
    -------
    array, shape (n, n), or what ``out`` and ``reduce`` ask for

    Raises
    ------
    OptionError
        For ``sources`` or ``pairs``, and as :func:`distances`.
    """
    for name in ("sources", "pairs"):
        if name in arguments:
            raise OptionError(f"all_pairs has every vertex as a source: use distances for {name}")
    return distances(graph, None, **arguments)


def pair_distances(
    graph: Graph,
    pairs: Iterable[tuple[Any, Any]],
    limit: float | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    **arguments: Any,
) -> Any:
    """Distances of (source, target) pairs as a vector; one search a distinct source.

    Parameters
    ----------
    graph : Graph
    pairs : list of (source, target), or array of shape (k, 2)
    limit : number or None
        Inclusive.
    device : {"auto", "cpu", "cuda"}
    **arguments
        ``method``, ``threads``, ``stats`` and options of :func:`distances`.

    Returns
    -------
    array, shape (len(pairs),)
        For a graph made of device arrays a CuPy array whose entries never were on the host.
    """
    if not hasattr(pairs, "__iter__"):
        raise OptionError(f"pairs is {pairs!r}: give a list of (source, target)")
    if runtime.is_device_array(pairs):
        pairs = runtime.download(pairs)
    shape = getattr(pairs, "shape", (0, 2))
    if len(shape) != 2:
        raise OptionError(f"pairs has shape {shape}: give (source, target) a row")
    listed = list(pairs)
    if any(not hasattr(pair, "__len__") or len(pair) != 2 for pair in listed):
        raise OptionError("pairs holds something that is no (source, target) pair")
    starts = np.array([graph.index_of(s, "source") for s, _ in listed], dtype=np.int64)
    ends = np.array([graph.index_of(t, "target") for _, t in listed], dtype=np.int64)
    stay = graph.on_device and device != "cpu"
    here: Any = runtime.cupy() if stay else np
    found = here.full(len(listed), unreached_value(graph.weight_dtype), dtype=graph.weight_dtype)
    rows, row_of = np.unique(starts, return_inverse=True)
    order = np.argsort(row_of, kind="stable")
    # Few sources share a block, so that a block's columns are about the targets of its own rows.
    step = 256
    for first in range(0, len(rows), step):
        low, high = np.searchsorted(row_of[order], [first, first + step])
        mine = order[low:high]
        columns, column_of = np.unique(ends[mine], return_inverse=True)
        part = rows[first : first + step]
        matrix = distances(
            graph,
            graph.name_of(part),
            graph.name_of(columns),
            limit,
            device=device,
            **arguments,
        )
        matrix = runtime.upload(matrix) if stay else matrix
        if matrix.dtype != found.dtype:
            wide = np.promote_types(matrix.dtype, found.dtype)
            matrix, found = widened(matrix, wide), widened(found, wide)
        places = here.asarray(row_of[mine] - first), here.asarray(column_of)
        found[here.asarray(mine)] = matrix[places]
    return found


def _indices(graph: Graph, vertices: Iterable[Any] | None, what: str) -> NDArray[np.int64]:
    if vertices is None:
        return np.arange(graph.n_vertices, dtype=np.int64)
    return vertex_indices(graph, vertices, what)


def _sink(
    run: BatchRun, out: Any, reduce: Any, memory: int | None, block: int | None, predecessors: bool
) -> Sink:
    """The place the rows go to, after checking that everything fits into memory."""
    k, width = run.shape
    item = run.graph.weight_dtype.itemsize
    free = free_memory() if memory is None else int(memory)
    reduction = None if reduce is None else Reduction.parse(reduce)
    to_file = isinstance(out, (str, os.PathLike)) and out != "csr"
    if to_file and not os.path.basename(os.fspath(out)):
        raise OptionError(f"out is {os.fspath(out)!r}: give the name of a file")
    whole = out is None and reduction is None
    stay = run.on_device and (run.graph.on_device or runtime.is_device_array(out))
    if runtime.is_device_array(out) and not run.on_device:
        raise OptionError(
            f"out is on a device, but {run.variant.id} solves batches on the host: give a NumPy "
            "array, or device='cuda' with a method for batches"
        )
    if stay and whole:
        runtime.require_memory(
            k * width * (item + (run.graph.index_dtype.itemsize if predecessors else 0)),
            "use out='name.npy' (or .zarr, .parquet), reduce=..., or fewer sources or targets",
        )
    held = k * width * (item + (8 if predecessors else 0)) if whole and not stay else 0
    scratch = run.scratch_bytes()
    needed = held + scratch
    if needed > free:
        advice = [f"the matrix alone takes {k * width * item / 2**30:.2f} GiB: use"]
        if whole:
            advice.append("out='name.npy' (or .zarr, .parquet), reduce=..., limit= with out='csr',")
        advice.append("fewer sources or targets")
        raise OutOfMemoryError(needed, free, " ".join(advice))
    if block is not None and block < 1:
        raise OptionError(f"block is {block}: give at least 1 row")
    if whole or runtime.is_device_array(out):
        run.block = block or max(k, 1)
        return DeviceArraySink(out) if stay else ArraySink()
    room = max((free - scratch) // 4, 1)
    fitting = int(min(room, 2**30) // max(width * item, 1))
    if reduction is not None and run.on_device:
        # Rows of a block and what reducing them takes lie on the device together.
        fitting = int(runtime.memory()[0] // 8 // max(width * 8, 1))
    run.block = block or max(1, min(max(fitting, 1), max(k, 1)))
    if reduction is not None:
        if out is not None:
            raise OptionError("reduce returns its own arrays: leave out away")
        return reduction.sink(run.rows, run.columns, run.graph, stay)
    if isinstance(out, str) and out == "csr":
        return CsrSink(run.graph.n_vertices if run.columns is None else len(run.columns))
    if to_file:
        from nearfar.solve.files import FileSink

        return FileSink(os.fspath(out), run)
    return ArraySink(out)
