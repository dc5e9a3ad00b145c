"""Blocked Floyd-Warshall on CUDA: tiles in shared memory and registers, fused add-min for int32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.floyd_warshall.cpu import (
    FloydWarshallOptions,
    filled,
    fits_matrix,
    in_range,
    keeps_predecessors,
    matrix_bytes,
    needs_64_bits,
    rows_left,
)
from nearfar.cpu.distances.float_rows import exact_rows, rows_in_32_bits
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.cpu.potentials import potentials
from nearfar.cuda.device_graph import C_NAMES, far_value
from nearfar.errors import keyword
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.registry import Answer, Estimate, Request, Workspace, variant
from nearfar.system.devices import runtime

_KERNELS = "algorithms/floyd_warshall/tiles.cuh"
_PAD, _TILE = 128, 64


def _macros(dtype: np.dtype[Any]) -> dict[str, str | int]:
    dpx = dtype == np.int32 and runtime.device().compute_capability >= (9, 0)
    return {"VALUE_T": C_NAMES[dtype.name], "USE_DPX": int(dpx)}


def _program(dtype: np.dtype[Any]) -> runtime.Program:
    return runtime.program(_KERNELS, _macros(dtype))


def _squares(side: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the grid of the products over the whole matrix."""
    square = side // (64 if dtype.itemsize == 8 else 128)
    return square, square


def solve_matrix(matrix: Any) -> None:
    """Close a padded matrix in place, with 7 launches per 128 stops."""
    side = len(matrix)
    dtype = np.dtype(matrix.dtype)
    program = _program(dtype)
    shared = 2 * _TILE * _TILE * dtype.itemsize
    kernel = program.kernel("update_strips")
    none, whole = np.int64(0), {"matrix": matrix, "side": np.int64(side)}
    close = runtime.Launch(program.kernel("close_diagonal"), 1, 1024, {**whole, "step": none})
    given = {**whole, "strip": none, "step": none}
    strips = runtime.Launch(kernel, (side // _TILE, 2), 256, given, shared)
    kernel = program.kernel("update_rest")
    rest = runtime.Launch(kernel, _squares(side, dtype), 256, {**whole, "pass": none})

    def through(step: int, *order: int) -> None:
        close.set(step=np.int64(step))
        close()
        strips.set(step=np.int64(step))
        for strip in order:
            strips.set(strip=np.int64(strip))
            strips()

    for number in range(side // _PAD):
        first, second = 2 * number, 2 * number + 1
        # Both tiles of stops are combined before the rest of the matrix uses them.
        through(first, first, second)
        through(second, second, first)
        rest.set(**{"pass": np.int64(number)})
        rest()


def tight_stops(closed: Any, direct: Any, before: Any) -> None:
    """Find the smallest strictly nearer predecessor of each entry in one launch."""
    dtype = np.dtype(closed.dtype)
    side, n = len(closed), len(before)
    macros = {**_macros(dtype), "ID_T": C_NAMES[np.dtype(before.dtype).name]}
    kernel = runtime.program("algorithms/floyd_warshall/tight.cuh", macros).kernel("tight_stops")
    arguments = {"closed": closed, "direct": direct, "side": np.int64(side), "n": np.int64(n)}
    arguments |= {"far": far_value(dtype), "before": before}
    kernel(_squares(side, dtype), 256, arguments)


def add_min_ceiling(dtype: np.dtype[Any], turns: int = 20_000) -> float:
    """Measure the device's peak rate of fused add-min operations per second."""
    cp = runtime.cupy()
    kernel = _program(dtype).kernel("add_min_ceiling")
    blocks = runtime.device().multiprocessors * 8
    out = cp.zeros(blocks, dtype=dtype)
    best = 0.0
    for _ in range(4):
        timer = runtime.Timer().start()
        kernel(blocks, 256, {"out": out, "turns": np.int32(turns), "weight": dtype.type(3)})
        timer.stop()
        best = max(best, blocks * 256 * 16 * turns / timer.seconds)
    return best


def _cost(facts: Facts, request: Request) -> Estimate | None:
    if facts.dtype.kind != "i" or facts.n > 100_000:
        return None
    side = -(-facts.n // _PAD) * _PAD
    return Estimate(4e-5 + side**3 * 2e-13 + side / _TILE * 3e-5, filled(facts))


@variant(
    "floyd_warshall",
    device="cuda",
    problems={"all_pairs"},
    weights="any",
    options=FloydWarshallOptions,
    predecessors=True,
    requires=fits_matrix,
    paper="floyd-1962",
    section="blocked after Venkataraman et al. 2003",
    summary="blocked matrix form in tiles, with the fused add-min instruction for int32",
    complexity="O(n^3)",
    cost=_cost,
    scratch=matrix_bytes,
)
def floyd_warshall(
    graph: Graph, sources: NDArray[np.int64], options: FloydWarshallOptions, workspace: Workspace
) -> Answer:
    """Solve all pairs of a dense or small graph on the GPU.

    Predecessors take a second product over the matrix and a copy of the edge matrix; they are
    computed and stored on the device.
    """
    cp = runtime.cupy()
    solved = in_range(graph)
    if solved is not graph:
        work = replace(workspace, columns=None, out=None)
        answer = floyd_warshall(solved, sources, options, work)
        doubles = runtime.download(answer.distances)
        rows, lost = rows_in_32_bits(graph, sources, doubles, workspace.threads)
        picked = rows if workspace.columns is None else rows[:, workspace.columns]
        return Answer(np.ascontiguousarray(picked), {**answer.stats, "saturated": lost})
    n, dtype = graph.n_vertices, graph.weight_dtype
    h = potentials(graph)
    if n == 0:
        return Answer(np.empty((0, 0), dtype), {"iterations": 0})
    wide = needs_64_bits(graph)
    inner = np.dtype(np.int64) if wide else dtype
    side = -(-n // _PAD) * _PAD
    trees = keeps_predecessors(graph, options, workspace, overflow=False)
    ids = n * n * graph.index_dtype.itemsize
    runtime.require_memory(
        (side * side * inner.itemsize + n * n) * (2 if trees else 1)
        + n * n * dtype.itemsize
        + 16 * graph.n_edges
        + (ids if trees else 0),
        f"use {keyword('device', 'cpu')}, or a batch method with {keyword('out', 'name.npy')}",
    )
    every_source = len(sources) == n and bool((sources == np.arange(n)).all())
    timer = runtime.Timer().start()
    matrix = _edge_matrix(graph, side, inner)
    direct = matrix.copy() if trees else None
    solve_matrix(matrix)
    out, overflow = _as_distances(matrix[:n, :n], dtype)
    timer.stop()
    stats: dict[str, Any] = {
        "iterations": side // _TILE,
        "edges_relaxed": n * n * n,
        "saturated": overflow,
        "device_seconds": timer.seconds,
    }
    if dtype.kind == "f" and options.exact:
        rows = runtime.download(out)
        every = np.arange(n, dtype=np.int64)
        shift = h if graph.n_negative else None
        stats["repeated_rows"] = exact_rows(graph, every, rows, shift, workspace.threads)
        out = rows
        if trees:
            matrix[:n, :n] = runtime.upload(rows)
    before = None
    if trees and not overflow:
        timer.start()
        before = _predecessors(graph, matrix, direct, out)
        stats["predecessor_device_seconds"] = timer.stop().seconds
        if not every_source:
            before = before[cp.asarray(sources)]
    if not every_source:
        out = out[sources] if isinstance(out, np.ndarray) else out[cp.asarray(sources)]
    if workspace.columns is not None:
        some = workspace.columns
        out = out[:, some] if isinstance(out, np.ndarray) else out[:, cp.asarray(some)]
    return Answer(out, stats, before)


def _edge_matrix(graph: Graph, side: int, dtype: np.dtype[Any]) -> Any:
    """Return the edges as a padded matrix on the device, as :func:`solve_matrix` takes it."""
    cp = runtime.cupy()
    matrix = cp.empty((side, side), dtype=dtype)
    blocks = runtime.device().multiprocessors * 8
    clear = _program(dtype).kernel("clear_matrix")
    clear(blocks, 256, {"matrix": matrix, "side": np.int64(side), "far": far_value(dtype)})
    # Sorted on the host once: of parallel edges the lightest is kept, and loops are dropped.
    tails = graph.tails(np.int64)
    heads, weights = graph.indices.astype(np.int64), graph.effective_weights.astype(dtype)
    order = np.lexsort((weights, heads, tails))
    tails, heads, weights = tails[order], heads[order], weights[order]
    keep = tails != heads
    keep[1:] &= (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1])
    place = cp.asarray(tails[keep] * side + heads[keep])
    matrix.reshape(-1)[place] = cp.asarray(weights[keep])
    return matrix


def _as_distances(found: Any, dtype: np.dtype[Any]) -> tuple[Any, bool]:
    """Return the closed matrix in the dtype of the answer, and whether an entry does not fit."""
    cp = runtime.cupy()
    if dtype.kind == "f":
        return cp.ascontiguousarray(found), False
    inner = np.dtype(found.dtype)
    reached = found < far_value(inner) // 2
    top = int(unreached_value(dtype))
    overflow = False
    if inner != dtype:
        overflow = bool((reached & ((found >= top) | (found < -top - 1))).any())
    return cp.where(reached, found, inner.type(top)).astype(dtype), overflow


def _predecessors(graph: Graph, closed: Any, direct: Any, rows: Any) -> Any:
    """Compute predecessors of all rows on the device: the product, then edges of weight 0."""
    cp = runtime.cupy()
    n = graph.n_vertices
    direct.reshape(-1)[:: len(direct) + 1] = far_value(np.dtype(direct.dtype))
    before = cp.full((n, n), -1, dtype=graph.index_dtype)
    tight_stops(closed, direct, before)
    uploaded = runtime.upload(rows)
    for i in cp.flatnonzero(rows_left(before, uploaded)).get().tolist():
        before[i] = tight_predecessors(graph, i, uploaded[i])
    return before
