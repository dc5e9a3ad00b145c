"""Several workers on difficult shapes: every answer has the bits of one worker's."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph

METHOD = "delta_stepping_parallel"
THREADS = (1, 2, 3, 5, 8, 16)


def _star(rng: np.random.Generator) -> Graph:
    n = 3000
    leaves = np.arange(1, n)
    hub = np.zeros(n - 1, np.int64)
    return Graph.from_edges(hub, leaves, rng.integers(1, 99, n - 1), n_vertices=n, directed=False)


def _path(rng: np.random.Generator) -> Graph:
    n = 3000
    order = rng.permutation(n)
    return Graph.from_edges(
        order[:-1], order[1:], rng.integers(1, 99, n - 1), n_vertices=n, directed=False
    )


def _zero_cycles(rng: np.random.Generator) -> Graph:
    """Return rings of weight 0, joined by edges of random weight."""
    n, size = 3000, 30
    around = np.arange(n)
    ahead = around // size * size + (around + 1) % size
    s, t = rng.integers(0, n, n), rng.integers(0, n, n)
    weights = np.concatenate([np.zeros(n, np.int64), rng.integers(0, 50, n)])
    return Graph.from_edges(
        np.concatenate([around, s]), np.concatenate([ahead, t]), weights, n_vertices=n
    )


def _hubs(rng: np.random.Generator) -> Graph:
    n, m = 3000, 60_000
    s = (n * rng.random(m) ** 6).astype(np.int64)
    return Graph.from_edges(s, rng.integers(0, n, m), rng.random(m), n_vertices=n, directed=False)


def _shared_rows(rng: np.random.Generator) -> Graph:
    """Return five hubs whose rows are long enough to be shared, and a ring around their leaves."""
    n, hubs = 40_000, np.arange(5)
    leaves = np.arange(5, n)
    s = np.concatenate([leaves % 5, leaves, hubs])
    t = np.concatenate([leaves, np.roll(leaves, -1), np.roll(hubs, 1)])
    weights = rng.integers(0, 1000, len(s))
    return Graph.from_edges(s, t, weights, n_vertices=n, directed=False)


def _disconnected(rng: np.random.Generator) -> Graph:
    n, m = 4000, 9000
    part = rng.integers(0, 2, m) * (n // 2)
    s, t = part + rng.integers(0, n // 2, m), part + rng.integers(0, n // 2, m)
    return Graph.from_edges(s, t, rng.random(m).astype(np.float32), n_vertices=n)


SHAPES = {
    "star": _star,
    "path": _path,
    "zero-weight cycles": _zero_cycles,
    "hubs": _hubs,
    "shared rows": _shared_rows,
    "disconnected": _disconnected,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_200_runs_give_the_same_bits(shape: str) -> None:
    graph = SHAPES[shape](np.random.default_rng(1))
    alone = nearfar.sssp(graph, 3, method="dijkstra_binary_heap")
    nearfar.verify(graph, alone)
    for run in range(200):
        threads = THREADS[run % len(THREADS)]
        got = nearfar.sssp(graph, 3, method=METHOD, threads=threads)
        assert np.array_equal(got.distances, alone.distances), threads
        assert 1 <= got.stats["workers"] <= threads


@pytest.mark.parametrize("threads", [2, 4])
def test_a_search_ends_soon_after_its_targets(threads: int) -> None:
    """Entries that are kept to be checked again do not keep it from ending."""
    grid = nearfar.generate("grid", rows=300, columns=300)
    whole = nearfar.sssp(grid, 0, method="dijkstra_binary_heap").distances
    order, beyond = np.argsort(whole, kind="stable"), []
    for nearer in range(0, 10_000, 100):
        target = int(order[nearer + 10])
        some = nearfar.sssp(grid, 0, method=METHOD, threads=threads, targets=[target])
        assert some.distances[target] == whole[target]
        beyond.append(some.stats["vertices_processed"] - nearer)
    assert np.median(beyond) < 9_000  # a worker may lose its core for a while


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", THREADS)
def test_targets_limits_and_predecessors(shape: str, threads: int) -> None:
    graph = SHAPES[shape](np.random.default_rng(2))
    alone = nearfar.sssp(graph, 3, method="dijkstra_binary_heap")
    whole = alone.distances
    near = np.flatnonzero(alone.reachable)
    near = near[np.argsort(whole[near], kind="stable")]
    far = whole[near[len(near) // 2]]
    nowhere = whole[~alone.reachable].max(initial=0)
    got = nearfar.sssp(graph, 3, method=METHOD, threads=threads, limit=float(far))
    assert np.array_equal(got.reachable, alone.reachable & (whole <= far))
    assert np.array_equal(got.predecessors[whole <= far], alone.predecessors[whole <= far])
    for part in (4, 2, 1):
        target = int(near[len(near) // part - 1])
        some = nearfar.sssp(graph, 3, method=METHOD, threads=threads, targets=[target])
        known = whole <= whole[target]
        assert np.array_equal(some.distances[known], whole[known])
    if nowhere:
        lost = int(np.flatnonzero(~alone.reachable)[0])
        some = nearfar.sssp(graph, 3, method=METHOD, threads=threads, targets=[lost])
        assert not some.reachable[lost]
