"""Distances of a batch of small graphs in one tensor: ``python benchmarks/small_graphs.py``.

256 molecule-like graphs (chains with branches and rings) of 10 to 50 and of 100 to 200 vertices.
Compared on the same device: the usual batched Floyd-Warshall of whole-array operations (one minimum
per vertex over all matrices; on a CPU for the small graphs alone), and on the CPU SciPy graph by
graph. Rounds are interleaved; every answer is compared.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from nearfar.lab.bench.environment import environment
from nearfar.system.devices import runtime
from nearfar.torch import shortest_path_distances

if TYPE_CHECKING:
    from collections.abc import Callable

GRAPHS, ROUNDS, FAR = 256, 5, 1 << 20
SIZES = ((10, 50), (100, 200))


def molecule(size: int, rng: np.random.Generator) -> np.ndarray:
    """A tree of short branches with a few rings, both directions of every edge."""
    later = np.arange(1, size)
    earlier = np.array([rng.integers(max(0, at - 3), at) for at in later])
    ring = rng.integers(0, size, size // 6)
    across = np.minimum(ring + rng.integers(2, 6, len(ring)), size - 1)
    tails, heads = np.r_[later, ring], np.r_[earlier, across]
    return np.stack((np.r_[tails, heads], np.r_[heads, tails]))


def floyd_warshall(xp: Any, ends: Any, batch: Any, place: Any, width: int) -> Any:
    """All matrices at once, one whole-array minimum per vertex."""
    made = xp.full((GRAPHS, width, width), FAR, dtype=np.int32)
    made[batch[ends[0]], place[ends[0]], place[ends[1]]] = 1
    made[batch, place, place] = 0
    for via in range(width):
        made = xp.minimum(made, made[:, :, via, None] + made[:, None, via, :])
    return made


def per_graph(ends: np.ndarray, batch: np.ndarray, place: np.ndarray, width: int) -> np.ndarray:
    """SciPy, one graph after the other."""
    made = np.full((GRAPHS, width, width), FAR, dtype=np.int32)
    sizes = np.bincount(batch)
    first = np.cumsum(sizes) - sizes
    of = np.argsort(batch[ends[0]], kind="stable")
    cuts = np.searchsorted(batch[ends[0]][of], np.arange(GRAPHS + 1))
    for at in range(GRAPHS):
        mine = ends[:, of[cuts[at] : cuts[at + 1]]] - first[at]
        size = sizes[at]
        matrix = csr_array((np.ones(mine.shape[1]), (mine[0], mine[1])), shape=(size, size))
        found = shortest_path(matrix, unweighted=True)
        made[at, :size, :size] = np.where(np.isinf(found), FAR, found)
    return made


def measured(device: str, least: int, most: int) -> dict[str, Any]:
    """Every way on one device, for graphs of some sizes, in turns."""
    rng = np.random.default_rng(19)
    sizes = rng.integers(least, most + 1, GRAPHS)
    first = np.cumsum(sizes) - sizes
    ends = np.concatenate(
        [molecule(int(size), rng) + at for size, at in zip(sizes, first, strict=True)], axis=1
    )
    batch = np.repeat(np.arange(GRAPHS), sizes)
    place, width = np.arange(len(batch)) - first[batch], int(sizes.max())
    xp: Any = np if device == "cpu" else runtime.cupy()
    given = [xp.asarray(array) for array in (ends, batch, place)]
    ways: dict[str, Callable[[], Any]] = {
        "nearfar": lambda: shortest_path_distances(*given[:2], unreached=FAR),
    }
    if device == "cuda" or width <= 100:
        ways["whole-array Floyd-Warshall"] = lambda: floyd_warshall(xp, *given, width)
    if device == "cpu":
        ways["SciPy graph by graph"] = lambda: per_graph(ends, batch, place, width)
    times: dict[str, list[float]] = {name: [] for name in ways}
    want = None
    for turn in range(ROUNDS + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            found = way()
            if device == "cuda":
                runtime.synchronize()
            times[name].append((time.perf_counter() - began) * 1e3)
            if turn == 0:  # warms up
                here = found if device == "cpu" else runtime.download(found)
                here = np.minimum(here, FAR)
                want = here if want is None else want
                if not np.array_equal(here, want):
                    raise SystemExit(f"{name} on {device}: another answer")
    found = {
        name: {"median_ms": statistics.median(samples[1:]), "samples_ms": samples[1:]}
        for name, samples in times.items()
    }
    for name, one in found.items():
        where = f"{device}, {least} to {most} vertices"
        print(f"{where}, {name}: {one['median_ms']:.2f} ms", file=sys.stderr, flush=True)
    facts = {"device": device, "least": least, "most": most, "vertices": len(batch)}
    return {**facts, "edges": int(ends.shape[1]), "ways": found}


def main() -> int:
    """Measure on the CPU, and on a GPU if there is one; prints JSON."""
    devices = ["cpu", *["cuda"] * (runtime.available() is True)]
    rows = [measured(device, *sizes) for device in devices for sizes in SIZES]
    print(json.dumps({"environment": environment(), "graphs": GRAPHS, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
