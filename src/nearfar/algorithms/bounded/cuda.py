"""Bounded searches on CUDA, one block per source in shared memory; see bounded.cuh.

Sources that reach more vertices than a block's table holds are searched on the CPU.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.algorithms.bounded.cpu import reduced_in_parts
from nearfar.cuda.device_graph import device_graph
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.registry import (
    Answer,
    Estimate,
    Partial,
    Request,
    RowReduction,
    SparseRows,
    Workspace,
    variant,
)
from nearfar.system.devices import runtime

_KERNELS = "algorithms/bounded/bounded.cuh"
_SLOTS = 2048  # slots of the largest table per block: 48 KiB hold it even with 8-byte distances
_FEWEST_SLOTS = 256
_HELD = _SLOTS // 4 * 3
_THREADS = 64
_PER_MULTIPROCESSOR = 32  # blocks launched; those that cannot be resident wait
_SAMPLED = 256  # sources that determine the size of the table
_LONG_ROWS = 16  # mean degree from which a warp shares a row
_FIGURES, _ROWS, _DENSE, _VALUES = range(4)
_DECAYS = {"flat": 0, "linear": 1, "exponential": 2, "table": 3}


def _limit(limit: Any, dtype: np.dtype[Any]) -> Any:
    """Return the greatest distance within the limit, in the dtype of the weights."""
    if dtype.kind == "i":
        return dtype.type(math.floor(limit))
    near = dtype.type(limit)
    return near if float(near) <= float(limit) else np.nextafter(near, dtype.type(-np.inf))


class _Launched:
    """Results of some sources: counts (-1 if the table was too small), maxima and counters."""

    def __init__(
        self, graph: Graph, sources: NDArray[np.int64], limit: Any, mode: int, **arrays: Any
    ) -> None:
        cp, dtype, k = runtime.cupy(), graph.weight_dtype, len(sources)
        slots = _slots(graph, sources, limit)
        self._counts, self._greatest = cp.empty(max(k, 1), np.int64), cp.empty(max(k, 1), dtype)
        self._stats = cp.zeros(3, np.uint64)
        given = {
            "sources": cp.asarray(sources), "limit": _limit(limit, dtype),
            "counts": self._counts, "greatest": self._greatest, "stats": self._stats,
            "starts": None, "vertices": None, "distances": None, "n": np.int64(graph.n_vertices),
            "place": None, "values": None, "width": np.int64(0),
            "sums": None, "shares": None, "least": None, "most": None,
            "kind": np.int64(0), "scale": np.float64(1), "at": None, "factors": None,
            "points": np.int64(0), **arrays,
        }  # fmt: skip
        timer = runtime.Timer().start()
        if k:
            _launch(graph, slots, mode, None, k, given)
            if slots < _SLOTS:
                beyond = np.flatnonzero(runtime.download(self._counts)[:k] < 0)
                if len(beyond):
                    _launch(graph, _SLOTS, mode, cp.asarray(beyond), len(beyond), given)
        timer.stop()
        self.counts = runtime.download(self._counts)[:k]
        self.greatest = runtime.download(self._greatest)[:k]
        edges, rounds, vertices = (int(x) for x in runtime.download(self._stats))
        self.given_up = np.flatnonzero(self.counts < 0)
        self.stats = {
            "edges_relaxed": edges,
            "iterations": rounds,
            "vertices_processed": vertices,
            "device_seconds": timer.seconds,
            "sources_on_the_cpu": len(self.given_up),
        }


def _launch(
    graph: Graph, slots: int, mode: int, which: Any, count: int, given: dict[str, Any]
) -> None:
    """Search from the sources at the positions ``which``; None means the first ``count``."""
    device = device_graph(graph)
    macros: dict[str, str | int] = dict(device.macros)
    macros |= {"SLOTS": slots, "LOG_SLOTS": slots.bit_length() - 1, "MODE": mode}
    macros |= {"THREADS": _THREADS, "LANES_EACH": 32 if graph.mean_degree >= _LONG_ROWS else 4}
    runtime.program(_KERNELS, macros).kernel("bounded_search")(
        min(count, runtime.device().multiprocessors * _PER_MULTIPROCESSOR),
        _THREADS,
        {
            "offsets": device.offsets,
            "edges": device.edges,
            "which": which,
            "count": np.int64(count),
            **given,
        },
    )


def _slots(graph: Graph, sources: NDArray[np.int64], limit: Any) -> int:
    """Choose the smallest table with room to spare for every source of a sample."""
    if len(sources) < 32 * _SAMPLED:
        return _SLOTS
    some = np.ascontiguousarray(sources[:: len(sources) // _SAMPLED])
    counts = _Launched(graph, some, limit, _FIGURES).counts
    if (counts < 0).any():
        return _SLOTS
    return min(_SLOTS, max(_FEWEST_SLOTS, 1 << (2 * int(counts.max())).bit_length()))


def _can_run(graph: Graph, request: Request) -> Literal[True] | str:
    if request.limit is None or not request.limit < unreached_value(graph.weight_dtype):
        return "needs a limit below the greatest distance of the dtype"
    if request.targets is not None:
        return "searches within a limit have no targets"
    if graph.n_vertices > 2**31 - 2**16:
        return "needs 32-bit vertices"
    return True


def _cost(facts: Facts, request: Request) -> Estimate | None:
    """Estimate by a fit to counts within five minutes of each vertex of New York on an H200."""
    if request.predecessors or _can_run(facts.graph, request) is not True:
        return None
    reach = facts.within(request.limit, request.sources, request.n_sources)  # type: ignore[arg-type]
    if reach is None or reach[0] > _HELD / 4:
        return None
    one = 1e-8 + 1.6e-10 * reach[0]
    if request.comes_back and not request.sparse:
        one += facts.n * 5e-12 * facts.dtype.itemsize
    return Estimate(
        1e-4 + request.n_sources * one, f"about {reach[0]:,.0f} vertices within the limit"
    )


def _rows(
    graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
) -> SparseRows:
    """Return sparse rows in order of distance: counted by a first launch, written by a second."""
    cp = runtime.cupy()
    counted = _Launched(graph, sources, workspace.limit, _FIGURES)
    beyond = counted.given_up
    more = None
    if len(beyond):
        more = _cpu.bounded_rows(graph.view, sources[beyond], workspace.limit, workspace.threads)
        counted.counts[beyond] = np.diff(more[0])
    indptr = np.zeros(len(sources) + 1, np.int64)
    np.cumsum(counted.counts, out=indptr[1:])
    size = max(int(indptr[-1]), 1)
    runtime.require_memory(size * (4 + graph.weight_dtype.itemsize), "ask for fewer sources")
    vertices, distances = cp.empty(size, np.int32), cp.empty(size, graph.weight_dtype)
    _Launched(
        graph, sources, workspace.limit, _ROWS,
        starts=cp.asarray(indptr), vertices=vertices, distances=distances,
    )  # fmt: skip
    near, far = runtime.download(vertices), runtime.download(distances)
    near, far = near[: indptr[-1]], far[: indptr[-1]]
    if more is not None:
        for at, k in enumerate(beyond.tolist()):
            part = slice(more[0][at], more[0][at + 1])
            mine = slice(indptr[k], indptr[k + 1])
            near[mine], far[mine] = more[1][part], more[2][part]
    return indptr, near.astype(graph.vertex_dtype, copy=False), far, counted.stats


def _reduced(
    graph: Graph, sources: NDArray[np.int64], workspace: Workspace, reduction: RowReduction
) -> Answer:
    """Reduce without rows if the order of sums does not matter."""
    if reduction.kind in ("nearest", "histogram"):
        rows = partial(_rows, graph, options=NoOptions(), workspace=workspace)
        return reduced_in_parts(rows, sources, reduction)
    if reduction.kind not in ("count", "max"):
        return Answer(None)
    found = _Launched(graph, sources, workspace.limit, _FIGURES)
    counts, most = found.counts - 1, found.greatest
    if len(found.given_up):
        more = _cpu.bounded_figures(
            graph.view, sources[found.given_up], workspace.limit, workspace.threads
        )
        counts[found.given_up], most[found.given_up] = more[0], more[1]
    return Answer(None, found.stats, partials=[Partial(counts, np.zeros(len(sources)), most)])


@variant(
    "bounded",
    device="cuda",
    problems={"batch", "all_pairs"},
    requires=_can_run,
    summary="a thread block per source within the limit, distances in a shared-memory hash table",
    paper="dijkstra-1959",
    complexity="O(k r m') for r vertices within the limit and m' of their edges",
    cost=_cost,
    reduces=True,
    sparse=_rows,
)
def bounded_cuda(
    graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
) -> Answer:
    """Search within the limit from each source: dense rows on the device, or a reduction."""
    if workspace.reduction is not None:
        return _reduced(graph, sources, workspace, workspace.reduction)
    cp, n, dtype = runtime.cupy(), graph.n_vertices, graph.weight_dtype
    runtime.require_memory(len(sources) * n * dtype.itemsize, "ask for fewer rows or a reduction")
    rows = cp.empty((len(sources), n), dtype)
    found = _Launched(graph, sources, workspace.limit, _DENSE, distances=rows)
    for first in range(0, len(found.given_up), 256):
        beyond = found.given_up[first : first + 256]
        part = np.empty((len(beyond), n), dtype)
        _cpu.bounded_fill(
            graph.view, sources[beyond], part, None, workspace.limit, workspace.threads
        )
        for row, k in zip(part, beyond.tolist(), strict=True):
            rows[k] = cp.asarray(row)
    return Answer(rows, found.stats)


def device_aggregates(
    graph: Graph,
    sources: NDArray[np.int64],
    limit: float,
    threads: int,
    place: NDArray[np.int64],
    values: NDArray[np.float64],
    decay: tuple[str, float, Any, Any],
    found: NDArray[np.float64],
) -> int:
    """Aggregate the values within a limit of each source, on the device."""
    cp, (kind, scale, at, factors) = runtime.cupy(), decay
    tables = [cp.empty(found[0].shape, np.float64) for _ in found]
    names = ("sums", "shares", "least", "most")
    points = {} if at is None else {
        "at": cp.asarray(np.asarray(at)), "factors": cp.asarray(np.asarray(factors)),
        "points": np.int64(len(at)),
    }  # fmt: skip
    run = _Launched(
        graph, sources, limit, _VALUES, place=cp.asarray(place), values=cp.asarray(values),
        width=np.int64(values.shape[1]), kind=np.int64(_DECAYS[kind]), scale=np.float64(scale),
        **dict(zip(names, tables, strict=True)), **points,
    )  # fmt: skip
    for mine, table in zip(found, tables, strict=True):
        mine[:] = runtime.download(table)
    edges = int(run.stats["edges_relaxed"])
    if len(run.given_up):
        part = np.empty((4, len(run.given_up), values.shape[1]))
        edges += _cpu.bounded_aggregate(
            graph.view, sources[run.given_up], limit, threads, place, values, False, *decay, *part
        )
        found[:, run.given_up] = part
    return edges
