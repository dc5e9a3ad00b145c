"""Measure cost surfaces over rasters and voxels, compared with other packages.

    python benchmarks/raster.py -o benchmarks/results/raster.json [--parts volumes] [--large]

The packages are scikit-image, dijkstra3d and xarray-spatial. Contenders alternate in one process;
every surface is proven outside the timed part, and peers' numbers are compared.

- ``surfaces``: 8 neighbours, float32, mean cost times length, from the middle (a maze: from a
  corner), also compared with nearfar's search on the explicit graph.
- ``volumes``: 26 neighbours, integer costs in float32, cost of the entered voxel.
- ``forms``: other neighbourhoods, dtypes and slopes on one raster.
- ``links``: back-links, allocation and proof.
- ``paths``: one path, search included, compared with scikit-image's; one thread.
- ``cuda``: the same surfaces on a GPU: the search without transfers, from and to CuPy arrays, and
  from and to NumPy arrays.
- ``parts``: in device memory for a half, a quarter and an eighth of the raster.
- ``memory``: the costs, and the increase of a process's peak resident memory by a call; in ``cuda``
  all arrays of the search on the device.

``--large`` uses 216 million pixels and 512^3 voxels without the peers, which would take minutes,
and needs 16 cores; ``--scale tiny`` tests the script.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

import nearfar
from in_parts import Rows, answer
from nearfar.raster import Raster, cost_distance, hiking, landscape, least_cost_paths
from nearfar.system.devices import runtime
from turns import line, take_turns

ROUNDS = 5
PATIENCE = 3.0
LARGE = "--large" in sys.argv


def threads() -> list[int]:
    """Return one, two, four, ... up to the number of processors."""
    cores = len(os.sched_getaffinity(0))
    return [k for k in (1, 2, 4, 8, 16, 32) if k <= cores]


def smooth(rows: int, columns: int) -> np.ndarray:
    """Return costs from 1 to 21 that vary over 64 cells."""
    rng = np.random.default_rng(3)
    coarse = rng.random((rows // 64 + 2, columns // 64 + 2), dtype=np.float32)
    y, x = np.arange(rows, dtype=np.float32) / 64, np.arange(columns, dtype=np.float32) / 64
    i, j = y.astype(int), x.astype(int)
    down, right = (y - i)[:, None], (x - j)[None]
    corner = lambda a, b: coarse[i + a][:, j + b]  # noqa: E731
    above = corner(0, 0) * (1 - right) + corner(0, 1) * right
    below = corner(1, 0) * (1 - right) + corner(1, 1) * right
    return (1 + 20 * (above * (1 - down) + below * down) ** 2).astype(np.float32)


def random(rows: int, columns: int) -> np.ndarray:
    """Return costs from 0.05 to 1.05, independent per cell."""
    return np.random.default_rng(1).random((rows, columns), dtype=np.float32) + np.float32(0.05)


def obstacles(rows: int, columns: int) -> np.ndarray:
    """Return cost 1 with 35 % barriers, open around the middle."""
    rng = np.random.default_rng(2)
    cost = np.where(rng.random((rows, columns)) < 0.35, np.inf, 1).astype(np.float32)
    cost[rows // 2 - 3 : rows // 2 + 3, columns // 2 - 3 : columns // 2 + 3] = 1
    return cost


def serpentine(rows: int, columns: int) -> np.ndarray:
    """Return one corridor, a cell wide, that winds through all rows."""
    cost = np.full((rows, columns), np.inf, dtype=np.float32)
    cost[::2] = 1
    cost[1::4, -1] = 1
    cost[3::4, 0] = 1
    return cost


def comb(rows: int, columns: int) -> np.ndarray:
    """Return a maze of short corridors with turns every few cells."""
    rng = np.random.default_rng(5)
    cost = np.full((rows, columns), np.inf, dtype=np.float32)
    cost[::2, ::2] = 1
    cost[0] = 1
    up = rng.random((rows // 2, columns // 2)) < 0.5  # a tree: each cell opens to an earlier one
    up[:, 0] = True
    ys, xs = np.nonzero(up)
    cost[2 * ys + 1, 2 * xs] = 1
    ys, xs = np.nonzero(~up)
    keep = (xs > 0) & (2 * ys + 2 < rows)
    cost[2 * ys[keep] + 2, 2 * xs[keep] - 1] = 1
    return cost


KINDS: dict[str, Callable[[int, int], np.ndarray]] = {
    "smooth": smooth,
    "random": random,
    "obstacles": obstacles,
    "serpentine": serpentine,
    "maze": comb,
}


MAZES = ("serpentine", "maze")


def start(kind: str, cost: np.ndarray) -> tuple[int, ...]:
    """Return a corner of a maze, or the middle of other rasters."""
    return (0, 0) if kind in MAZES else tuple(n // 2 for n in cost.shape)


def size(scale: str) -> tuple[int, int]:
    """Return the number of rows and columns."""
    return (192, 256) if scale == "tiny" else (12_000, 18_000) if LARGE else (1_000, 1_200)


def about(raster: Raster, surface: Any) -> dict[str, Any]:
    """Return size and counters of a run."""
    kept = ("tiles", "tile_visits", "sweeps", "heap_pops", "phases")
    return {
        "cells": raster.n_vertices,
        "reached": int(surface.reachable.sum()),
        "counters": {name: surface.stats[name] for name in kept if name in surface.stats},
    }


def near(a: Any, b: Any) -> bool:
    """Return whether two surfaces agree to single precision."""
    a, b = (np.asarray(one, dtype=np.float64) for one in (a, b))
    a, b = (np.where(np.isnan(one), np.inf, one) for one in (a, b))
    both = np.isfinite(a)
    return bool((both == np.isfinite(b)).all() and np.allclose(a[both], b[both], rtol=1e-4))


def ours(raster: Raster, source: tuple[int, ...]) -> dict[str, Callable[[], Any]]:
    """Return nearfar's engine, by number of threads."""
    return {
        f"nearfar, threads: {k}": lambda k=k: cost_distance(raster, source, threads=k).distances
        for k in threads()
    }


def surfaces(scale: str) -> Rows:
    """Measure every kind of surface in two dimensions."""
    for kind, make in KINDS.items():
        cost = make(*size(scale))
        source = start(kind, cost)
        raster = Raster(cost)
        contenders = ours(raster, source)
        if not LARGE:
            contenders |= peers_of_surfaces(cost, source)
        samples = take_turns(contenders, ROUNDS, near, PATIENCE)
        surface = cost_distance(raster, source)
        surface.verify()
        yield line(kind, "nearfar, threads: 1", samples, **about(raster, surface))


def peers_of_surfaces(cost: np.ndarray, source: tuple[int, ...]) -> dict[str, Callable[[], Any]]:
    """Return calls of scikit-image, xarray-spatial, and nearfar's search on the explicit graph."""
    from nearfar.graph.graph import Graph

    found: dict[str, Callable[[], Any]] = {}
    try:
        from skimage.graph import MCP_Geometric

        found["scikit-image"] = lambda: MCP_Geometric(cost).find_costs([source])[0]
    except ImportError:
        print("scikit-image is not installed: left out")
    try:
        import xarray
        from xrspatial.cost_distance import cost_distance as theirs

        marks = np.zeros(cost.shape)
        marks[source] = 1
        dims = {"dims": ("y", "x"), "coords": {n: np.arange(float(k)) for n, k in
                zip("yx", cost.shape, strict=True)}}  # fmt: skip
        raster = xarray.DataArray(marks, **dims)
        friction = xarray.DataArray(np.where(np.isfinite(cost), cost, np.nan), **dims)
        found["xarray-spatial"] = lambda: theirs(raster, friction).values
    except ImportError:
        print("xarray-spatial is not installed: left out")
    index = np.arange(cost.size).reshape(cost.shape)
    ends, weights = [], []
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        by = index[: cost.shape[0] - dy, max(0, -dx) : cost.shape[1] - max(0, dx)].reshape(-1)
        to = by + dy * cost.shape[1] + dx
        flat = cost.reshape(-1)
        w = np.float32(0.5 * np.hypot(dy, dx)) * (flat[by] + flat[to])
        fits = np.isfinite(w)
        ends.append((by[fits], to[fits]))
        weights.append(w[fits])
    u, v = (np.concatenate(part) for part in zip(*ends, strict=True))
    graph = Graph.from_edges(u, v, np.concatenate(weights), n_vertices=cost.size, directed=False)
    at = int(index[source])
    for k in threads()[:: max(1, len(threads()) - 1)]:
        found[f"explicit graph, threads: {k}"] = lambda k=k: nearfar.sssp(
            graph, at, threads=k, device="cpu"
        ).distances.reshape(cost.shape)
    return found


def volumes(scale: str) -> Rows:
    """Measure three dimensions with 26 neighbours."""
    n = 24 if scale == "tiny" else 512 if LARGE else 128
    cost = np.random.default_rng(4).integers(1, 256, (n, n, n)).astype(np.float32)
    blobs = np.repeat(np.repeat(np.repeat(cost[::8, ::8, ::8], 8, 0), 8, 1), 8, 2)
    for kind, values in (("random voxels", cost), ("blocks of 8^3", blobs[:n, :n, :n].copy())):
        raster = Raster(values, step="enter", lengths=False)
        contenders = ours(raster, (0, 0, 0))
        if not LARGE:
            contenders |= peers_of_volumes(values)
        samples = take_turns(contenders, ROUNDS, near, PATIENCE)
        surface = cost_distance(raster, (0, 0, 0))
        surface.verify()
        yield line(kind, "nearfar, threads: 1", samples, **about(raster, surface))


def peers_of_volumes(cost: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return the call of dijkstra3d, from the first voxel."""
    try:
        import dijkstra3d
    except ImportError:
        print("dijkstra3d is not installed: left out")
        return {}
    data = np.asfortranarray(cost)
    return {"dijkstra3d": lambda: dijkstra3d.distance_field(data, (0, 0, 0))}


def memory(scale: str) -> Rows:
    """Measure resident memory at the peak of a call, each in a separate process."""
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"  # freed arrays are returned at once
    side = 100 if scale == "tiny" else 1_500
    shapes = {"random": (side, side), "voxels": (max(side // 12, 16),) * 3}
    for kind, shape in shapes.items():
        found = {}
        for name in contenders_of(kind, tuple(20 for _ in shape)):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found[name] = pool.submit(bytes_at_peak, kind, shape, name).result()
        cells = math.prod(shape)
        per_cell = {name: round(size / cells, 2) for name, size in found.items()}
        print(f"{kind}: {per_cell} bytes per cell", flush=True)
        yield {"what": kind, "cells": cells, "bytes_per_cell": per_cell}


def contenders_of(kind: str, shape: tuple[int, ...]) -> dict[str, Callable[[], Any]]:
    """Return nearfar on one core, and the peers."""
    if kind == "voxels":
        cost = np.random.default_rng(4).integers(1, 256, shape).astype(np.float32)
        raster, source = Raster(cost, step="enter", lengths=False), (0, 0, 0)
        peers = peers_of_volumes(cost)
    else:
        cost = KINDS[kind](*shape)
        raster, source = Raster(cost), start(kind, cost)
        peers = peers_of_surfaces(cost, source)
    mine = {"nearfar": lambda: cost_distance(raster, source, threads=1).distances}
    return {**mine, **{name: run for name, run in peers.items() if "threads: 2" not in name}}


def bytes_at_peak(kind: str, shape: tuple[int, ...], name: str) -> int:
    """Return the bytes of the costs, and the increase of peak resident memory by one call."""
    contenders_of(kind, tuple(20 for _ in shape))[name]()  # imports and compiles everything first
    run = contenders_of(kind, shape)[name]
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak
    before = _status("VmRSS")
    answer = run()
    assert answer is not None
    return _status("VmHWM") - before + 4 * math.prod(shape)


def _status(field: str) -> int:
    """Return a size of this process, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def forms(scale: str) -> Rows:
    """Measure neighbourhoods, dtypes and slopes on random costs."""
    cost = random(*size(scale))
    heights = landscape(*size(scale), seed=1)
    rasters = {
        "8 neighbours, float32": Raster(cost),
        "4 neighbours, float32": Raster(cost, connectivity=4),
        "16 neighbours, float32": Raster(cost, connectivity=16),
        "8 neighbours, float64": Raster(cost.astype(np.float64)),
        "8 neighbours, int32": Raster((cost * 1000).astype(np.int32), step="enter", lengths=False),
        "hiking, float32": Raster(None, elevation=heights, cell_size=30, slope=hiking()),
    }
    source = start("random", cost)
    for name, raster in rasters.items():
        samples = take_turns(ours(raster, source), 3, near, PATIENCE)
        surface = cost_distance(raster, source)
        surface.verify()
        yield line(name, "nearfar, threads: 1", samples, **about(raster, surface))


def links(scale: str) -> Rows:
    """Measure back-links, allocation and proof after a search."""
    cost = smooth(*size(scale))
    raster = Raster(cost)
    rng = np.random.default_rng(6)
    sources = np.stack([rng.integers(0, n, 100) for n in cost.shape], axis=1)
    surface = cost_distance(raster, sources, threads=1)

    def made(name: str) -> Any:
        surface.__dict__.pop("links", None)
        surface.__dict__.pop("allocation", None)
        return surface.verify() if name == "verify" else getattr(surface, name)

    surface.threads = 1
    contenders = {name: lambda name=name: made(name) for name in ("links", "allocation", "verify")}
    samples = take_turns(contenders, 3, lambda a, b: True, PATIENCE)
    yield line("100 sources, smooth, one thread", "links", samples, cells=raster.n_vertices,
               bytes_per_cell=9)  # fmt: skip


def paths(scale: str) -> Rows:
    """Measure one path, with its search, to a cell a tenth or all of the way across the raster."""
    from skimage.graph import route_through_array

    rng = np.random.default_rng(8)
    for side in (20,) if scale == "tiny" else (20, 300, 1000):
        cells = rng.random((side, side))
        costs = {"random": 1 + cells, "a fifth 1, the rest 0": (cells < 0.2).astype(float)}
        for kind, cost in costs.items():
            for what, last in (("a tenth", side // 10), ("all", side - 1)):
                run: dict[str, Callable[[], Any]] = {
                    "nearfar": lambda cost=cost, last=last: (
                        least_cost_paths(cost, [((0, 0), (last, last))], threads=1)[0][0].cost
                    ),
                    "scikit-image": lambda cost=cost, last=last: route_through_array(
                        cost, (0, 0), (last, last)
                    )[1],
                }
                samples = take_turns(run, 10 * ROUNDS, lambda a, b: abs(a - b) < 1e-9, PATIENCE)
                name = f"{kind}, {what} of the way"
                yield line(name, "nearfar", samples, cells=f"{side} x {side}")


def cuda(scale: str) -> Rows:
    """Measure the surfaces and a volume on a GPU; proven, with the bits of the CPU."""
    here = runtime.available()
    if here is not True:
        print(here)
        return
    import cupy

    for what, raster, source in device_cases(scale):
        on_device = Raster(cupy.asarray(raster.cost), step=raster.step, lengths=raster.lengths)
        found: dict[str, Any] = {}
        search: list[float] = []

        def run(
            name: str, raster: Raster, device: str, source: Any = source,
            found: dict[str, Any] = found, search: list[float] = search,
        ) -> Any:  # fmt: skip
            found[name] = cost_distance(raster, source, device=device)
            if name == "on the device":
                search.append(found[name].stats["device_seconds"])
            return found[name].distances

        def same(a: Any, b: Any) -> bool:
            return np.array_equal(cupy.asnumpy(a), cupy.asnumpy(b))

        contenders = {
            "cpu, all threads": partial(run, "cpu", raster, "cpu"),
            "cuda, arrays on the device": partial(run, "on the device", on_device, "cuda"),
            "cuda, arrays on the host": partial(run, "on the host", raster, "cuda"),
        }
        samples = take_turns(contenders, ROUNDS, same, PATIENCE)
        samples["cuda"] = search[1:] or search
        surface = found["on the device"]
        yield line(what, "cuda", samples, device=runtime.device().name, **about(raster, surface),
                   bytes_per_cell={"cuda": surface.stats["device_bytes"] / raster.n_vertices,
                                   "cpu, all threads": 2 * raster.dtype.itemsize})  # fmt: skip


def parts(scale: str) -> Rows:
    """Measure rasters on the host that are solved on a GPU by parts."""
    here = runtime.available()
    if here is not True:
        print(here)
        return
    for kind in ("smooth", "random", "maze"):
        cost = KINDS[kind](*((6_000, 9_000) if LARGE else size(scale)))
        raster, source = Raster(cost), start(kind, cost)
        whole = 2 * cost.nbytes
        found: dict[str, Any] = {}

        def run(
            name: str, raster: Raster = raster, source: Any = source, found: dict = found,
            **options: Any,
        ) -> Any:  # fmt: skip
            found[name] = cost_distance(raster, source, **options)
            return found[name].distances

        contenders = {"cpu, all threads": partial(run, "cpu"),
                      "cuda": partial(run, "whole", device="cuda")}  # fmt: skip
        for share, words in ((2, "a half"), (4, "a quarter"), (8, "an eighth")):
            name = f"cuda, {words} of the memory"
            contenders[name] = partial(run, name, device="cuda", memory=whole // share)
        samples = take_turns(contenders, 3, np.array_equal, PATIENCE)
        counters = {
            name: {of: surface.stats[of] for of in ("parts", "part_visits")}
            for name, surface in found.items()
            if "of the memory" in name
        }
        yield line(kind, "cuda", samples, device=runtime.device().name, cells=raster.n_vertices,
                   counters=counters)  # fmt: skip


def device_cases(scale: str) -> Iterator[tuple[str, Raster, tuple[int, ...]]]:
    """Yield name, raster and source of the rasters solved on a GPU."""
    for kind, make in KINDS.items():
        rows, columns = size(scale)
        sides = [8192] if kind == "obstacles" else [2048, 8192] if kind in MAZES else [rows]
        for side in sorted({min(rows, side) for side in sides}):
            shape = (rows, columns) if side == rows else (side, side)
            cost = make(*shape)
            yield f"{kind}, {shape[0]} x {shape[1]}", Raster(cost), start(kind, cost)
    n = 24 if scale == "tiny" else 512 if LARGE else 128
    voxels = np.random.default_rng(4).integers(1, 256, (n, n, n)).astype(np.float32)
    yield f"random voxels, {n}^3", Raster(voxels, step="enter", lengths=False), (0, 0, 0)


if __name__ == "__main__":
    if LARGE:
        sys.argv.remove("--large")
    answer(
        __doc__ or "",
        {
            "surfaces": surfaces,
            "volumes": volumes,
            "memory": memory,
            "forms": forms,
            "links": links,
            "paths": paths,
            "cuda": cuda,
            "parts": parts,
        },
        lambda part, row: None,
    )
