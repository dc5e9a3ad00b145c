"""Distances of a batch of small graphs in one tensor: ``python benchmarks/encodings.py``.

256 molecule-like graphs of 10 to 50 vertices (chains with branches and rings). Compared on the same
device: the usual batched Floyd-Warshall of whole-array operations (one minimum per vertex over all
matrices), and on the CPU SciPy graph by graph. Rounds are interleaved; every answer is compared.
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

GRAPHS, LEAST, MOST, ROUNDS = 256, 10, 50, 9


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
    made = xp.full((GRAPHS, width, width), 1 << 20, dtype=np.int32)
    made[batch[ends[0]], place[ends[0]], place[ends[1]]] = 1
    made[batch, place, place] = 0
    for via in range(width):
        made = xp.minimum(made, made[:, :, via, None] + made[:, None, via, :])
    return made


def per_graph(ends: np.ndarray, batch: np.ndarray, place: np.ndarray, width: int) -> np.ndarray:
    """SciPy, one graph after the other."""
    made = np.full((GRAPHS, width, width), 1 << 20, dtype=np.int32)
    sizes = np.bincount(batch)
    first = np.cumsum(sizes) - sizes
    of = np.argsort(batch[ends[0]], kind="stable")
    cuts = np.searchsorted(batch[ends[0]][of], np.arange(GRAPHS + 1))
    for at in range(GRAPHS):
        mine = ends[:, of[cuts[at] : cuts[at + 1]]] - first[at]
        size = sizes[at]
        matrix = csr_array((np.ones(mine.shape[1]), (mine[0], mine[1])), shape=(size, size))
        found = shortest_path(matrix, unweighted=True)
        made[at, :size, :size] = np.where(np.isinf(found), 1 << 20, found)
    return made


def main() -> int:
    """Measure on the CPU, and on a GPU if there is one; prints JSON."""
    rng = np.random.default_rng(19)
    sizes = rng.integers(LEAST, MOST + 1, GRAPHS)
    first = np.cumsum(sizes) - sizes
    ends = np.concatenate(
        [molecule(int(size), rng) + at for size, at in zip(sizes, first, strict=True)], axis=1
    )
    batch = np.repeat(np.arange(GRAPHS), sizes)
    place, width = np.arange(len(batch)) - first[batch], int(sizes.max())
    results: dict[str, Any] = {}
    for device in ("cpu", "cuda"):
        if device == "cuda" and runtime.available() is not True:
            continue
        xp: Any = np if device == "cpu" else runtime.cupy()
        given = [xp.asarray(array) for array in (ends, batch, place)]
        ways: dict[str, Callable[[], Any]] = {
            "nearfar": lambda given=given: shortest_path_distances(*given[:2], unreached=1 << 20),
            "whole-array Floyd-Warshall": lambda xp=xp, given=given: floyd_warshall(
                xp, *given, width
            ),
        }
        if device == "cpu":
            ways["SciPy graph by graph"] = lambda: per_graph(ends, batch, place, width)
        times: dict[str, list[float]] = {name: [] for name in ways}
        want = None
        for turn in range(ROUNDS + 2):
            for name, way in ways.items():
                if device == "cuda":
                    runtime.synchronize()
                began = time.perf_counter()
                found = way()
                if device == "cuda":
                    runtime.synchronize()
                times[name].append((time.perf_counter() - began) * 1e3)
                if turn == 0:
                    here = found if device == "cpu" else runtime.download(found)
                    want = here if want is None else want
                    unreached = here >= 1 << 20
                    if not np.array_equal(np.where(unreached, -1, here), np.where(
                        want >= 1 << 20, -1, want)):  # fmt: skip
                        raise SystemExit(f"{name} on {device}: another answer")
        results[device] = {
            name: {"median_ms": statistics.median(found[2:]), "samples_ms": found[2:]}
            for name, found in times.items()
        }
        for name, found in results[device].items():
            print(f"{device} {name}: {found['median_ms']:.2f} ms", file=sys.stderr, flush=True)
    facts = {"graphs": GRAPHS, "vertices": len(batch), "edges": int(ends.shape[1])}
    print(json.dumps({"environment": environment(), **facts, "devices": results}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
