"""Breadth-first search on CPU cores: both directions, shared levels, edges read."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.generators import generate
from tests import oracle

TOP = np.iinfo(np.int32).max


def test_both_directions_agree() -> None:
    rng = np.random.default_rng(5)
    n, m = 5000, 60_000
    s, t = rng.integers(0, n, m), rng.integers(0, n, m)
    for directed in (True, False):
        graph = Graph.from_edges(s, t, n_vertices=n, directed=directed)
        expected = oracle.dijkstra(graph, 3)
        first = nearfar.sssp(graph, 3, method="breadth_first")
        assert np.array_equal(first.distances, expected)
        graph.transpose()  # allows pulling
        again = nearfar.sssp(graph, 3, method="breadth_first")
        assert np.array_equal(again.distances, expected)
        assert again.stats["edges_relaxed"] < graph.n_edges
        near = nearfar.sssp(graph, 3, method="breadth_first", limit=2).distances
        assert np.array_equal(near, np.where(expected <= 2, expected, TOP))


def test_the_last_levels_of_a_road_are_pushed() -> None:
    """A pull scans all vertices: 14 pulls would cost more than the whole search."""
    grid = generate("grid", rows=120, columns=120).without_weights()
    paths = nearfar.sssp(grid, 0, method="breadth_first")
    assert paths.stats["vertices_processed"] == np.count_nonzero(paths.reachable)
    assert paths.stats["edges_relaxed"] == grid.degrees[paths.reachable].sum()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("directed", [True, False])
def test_workers_share_levels(directed: bool, threads: int) -> None:
    """Hubs and levels of every size, in both directions, repeated for different schedules."""
    made = generate("kronecker", scale=16)
    graph = Graph.from_csr(made.indptr, made.indices, directed=directed)
    source = int(np.argmax(graph.degrees))
    alone = nearfar.sssp(graph, source, method="breadth_first")
    nearfar.verify(graph, alone)
    for _ in range(15):
        paths = nearfar.sssp(graph, source, method="breadth_first_parallel", threads=threads)
        assert np.array_equal(paths.distances, alone.distances)
        assert paths.stats["iterations"] == alone.stats["iterations"]
        assert 1 <= paths.stats["workers"] <= threads
    deep = int(alone.distances[alone.reachable].max())
    near = nearfar.sssp(
        graph, source, method="breadth_first_parallel", threads=threads, limit=deep - 1
    )
    assert np.array_equal(near.distances, np.where(alone.distances < deep, alone.distances, TOP))


def test_thin_levels_stay_with_one_worker() -> None:
    grid = generate("grid", rows=120, columns=120).without_weights()
    paths = nearfar.sssp(grid, 0, method="breadth_first_parallel", threads=2)
    assert paths.stats["workers"] == 1
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(grid, 0))
