"""Measure distances of a batch of small graphs in one tensor: ``small_graphs.py -o FILE``.

256 molecule-like graphs (chains with branches and rings) of 10 to 50 and of 100 to 200 vertices.
Compared on the same device with the usual batched Floyd-Warshall of whole-array operations (one
minimum per vertex over all matrices; on a CPU only for the smaller graphs), and on the CPU with
SciPy graph by graph. Rounds are interleaved; every answer is compared.
"""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from nearfar.lab.bench.environment import environment
from nearfar.system.devices import runtime
from nearfar.torch import shortest_path_distances
from result_file import add_output, write_result
from turns import take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

GRAPHS, ROUNDS, FAR = 256, 5, 1 << 20
SIZES = ((10, 50), (100, 200))


def molecule(size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a tree of short branches with a few rings, both directions of every edge."""
    later = np.arange(1, size)
    earlier = np.array([rng.integers(max(0, at - 3), at) for at in later])
    ring = rng.integers(0, size, size // 6)
    across = np.minimum(ring + rng.integers(2, 6, len(ring)), size - 1)
    tails, heads = np.r_[later, ring], np.r_[earlier, across]
    return np.stack((np.r_[tails, heads], np.r_[heads, tails]))


def floyd_warshall(xp: Any, ends: Any, batch: Any, place: Any, width: int) -> Any:
    """Solve all matrices together, with one whole-array minimum per vertex."""
    made = xp.full((GRAPHS, width, width), FAR, dtype=np.int32)
    made[batch[ends[0]], place[ends[0]], place[ends[1]]] = 1
    made[batch, place, place] = 0
    for via in range(width):
        made = xp.minimum(made, made[:, :, via, None] + made[:, None, via, :])
    return made


def per_graph(ends: np.ndarray, batch: np.ndarray, place: np.ndarray, width: int) -> np.ndarray:
    """Solve one graph after the other with SciPy."""
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
    """Measure every method on one device, for graphs of some sizes, in alternation."""
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

    def ended(way: Callable[[], Any]) -> Any:
        found = way()
        if device == "cuda":
            runtime.synchronize()
        return found

    def same(one: Any, other: Any) -> bool:
        return bool((xp.minimum(one, FAR) == xp.minimum(other, FAR)).all())

    turns = take_turns({k: lambda way=way: ended(way) for k, way in ways.items()}, ROUNDS, same)
    samples = {name: [1e3 * took for took in times] for name, times in turns.items()}
    found = {k: {"median_ms": statistics.median(x), "samples_ms": x} for k, x in samples.items()}
    for name, one in found.items():
        print(
            f"{device}, {least} to {most} vertices, {name}: {one['median_ms']:.2f} ms", flush=True
        )
    facts = {"device": device, "least": least, "most": most, "vertices": len(batch)}
    return {**facts, "edges": int(ends.shape[1]), "ways": found}


def main() -> int:
    """Measure on the CPU, and on a GPU if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_output(parser)
    given = parser.parse_args()
    devices = ["cpu", *["cuda"] * (runtime.available() is True)]
    rows = [measured(device, *sizes) for device in devices for sizes in SIZES]
    document = {"environment": environment(), "graphs": GRAPHS, "rows": rows}
    write_result(given.output, document)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
