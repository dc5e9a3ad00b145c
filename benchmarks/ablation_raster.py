"""Measure the effect of each trick of the raster engines: with all tricks, and without one each.

    python benchmarks/ablation_raster.py -o benchmarks/results/ablation_raster.json [--parts cuda]

The procedure is that of ablation.py: for each trick a copy of the package without it runs in a
separate process, the processes alternate, and all answers must have the same bits. A ratio is the
time of a search without the trick over the time with all tricks. ``cpu``: RASTER_TRICKS, which need
builds, by the least processor time of one thread. ``cuda``: RASTER_CUDA_TRICKS, which need no
build, by the least time of the search without transfers. The row "nothing" is a second process with
the same code and shows the noise. The rasters are those of raster.py.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import raster as made
from ablation import WITH_ALL, built, processes, summary, take_turns
from ablation_tricks import RASTER_CUDA_TRICKS, RASTER_TRICKS, Trick, copy_sources, take_out
from in_parts import Rows, answer
from nearfar import _cpu
from nearfar.system.devices import runtime

ROUNDS = 3

# Program of the separate processes: reads one request per line, writes one answer per line.
SERVER = r"""
import hashlib, json, sys, time
where = sys.argv[1]
# An editable installation would import the package from elsewhere.
sys.meta_path[:] = [one for one in sys.meta_path if "Redirecting" not in type(one).__name__]
sys.path.insert(0, where)
import numpy as np
import nearfar
from nearfar.raster import Raster, cost_distance
if not nearfar.__file__.startswith(where):
    raise SystemExit(f"expected nearfar from {where}, got {nearfar.__file__}")

def load(file, source, options, device):
    global raster, start
    cost = np.load(file)
    if device == "cuda":
        import cupy
        cost = cupy.asarray(cost)
    raster, start = Raster(cost, **options), source
    cost_distance(raster, start, device=device, threads=1)
    return raster.n_vertices

def query(device):
    began, used = time.perf_counter(), time.process_time()
    surface = cost_distance(raster, start, device=device, threads=1)
    processor = 1e3 * (time.process_time() - used)
    wall = 1e3 * (time.perf_counter() - began)
    if device == "cuda":
        wall = 1e3 * surface.stats["device_seconds"]
    digest = hashlib.sha256(np.ascontiguousarray(np.asarray(surface))).hexdigest()
    return {"wall": [wall], "processor": [processor], "digest": digest}

def drop():
    global raster
    raster = None
    if "cupy" in sys.modules:
        sys.modules["cupy"].get_default_memory_pool().free_all_blocks()

for line in sys.stdin:
    name, *given = json.loads(line)
    print(json.dumps(globals()[name](*given)), flush=True)
"""


def rasters(scale: str, device: str) -> Iterator[tuple[str, np.ndarray, tuple[int, ...], dict]]:
    """Yield name, costs, source and keywords of Raster."""
    tiny = scale == "tiny"
    many = device == "cuda" and not tiny
    shape = (192, 256) if tiny else (6_000, 9_000) if many else (1_000, 1_200)
    for kind in ("smooth", "random", "obstacles", "serpentine"):
        here = (2_048, 2_048) if kind == "serpentine" and many else shape
        cost = made.KINDS[kind](*here)
        yield kind, cost, made.start(kind, cost), {}
    n = 24 if tiny else 256 if many else 96
    voxels = np.random.default_rng(4).integers(1, 256, (n, n, n)).astype(np.float32)
    yield "voxels", voxels, (0, 0, 0), {"step": "enter", "lengths": False}


@contextmanager
def copies(tricks: tuple[Trick, ...]) -> Iterator[dict[str, Path]]:
    """Copy the package without each trick; none of them changes compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        trees = {}
        for trick in (Trick(WITH_ALL, ""), *tricks):
            tree = Path(folder) / trick.folder
            copy_sources(tree)
            take_out(trick, tree)
            shutil.copy(str(_cpu.__file__), tree / "src" / "nearfar")
            trees[trick.name] = tree / "src"
        yield trees


def measured(
    trees: dict[str, Path], tricks: list[Trick], device: str, clock: str, scale: str
) -> Rows:
    """Measure every raster without each trick."""
    with (
        tempfile.TemporaryDirectory() as folder,
        processes(trees, tricks, None, SERVER) as started,
    ):
        for name, cost, source, options in rasters(scale, device):
            file = Path(folder) / "cost.npy"
            np.save(file, cost)
            for one in started.values():
                one.call("load", str(file), source, options, device)
            found = summary(take_turns(started, ROUNDS, ("query", device), None), clock)
            for one in started.values():
                one.call("drop")
            ratios = ", ".join(f"{who} {one['ratio']:.2f}" for who, one in found.items())
            print(f"{device}, {name}: {ratios}", flush=True)
            yield {"raster": name, "cells": cost.size, "device": device, "tricks": found}


def cuda(scale: str) -> Rows:
    """Measure the tricks of the GPU engine."""
    here = runtime.available()
    if here is not True:
        print(here)
        return
    with copies(RASTER_CUDA_TRICKS) as trees:
        yield from measured(trees, list(RASTER_CUDA_TRICKS), "cuda", "wall", scale)


def cpu(scale: str) -> Rows:
    """Measure the tricks of the CPU engine, on one core."""
    with tempfile.TemporaryDirectory() as folder:
        tricks, trees = built(Path(folder), RASTER_TRICKS)
        yield from measured(trees, list(tricks), "cpu", "processor", scale)


if __name__ == "__main__":
    answer(__doc__ or "", {"cuda": cuda, "cpu": cpu}, lambda part, row: None)
