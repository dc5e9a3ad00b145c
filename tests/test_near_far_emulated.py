"""The one-launch engine's logic on the emulated device: steps, overflow, watchdog, early stops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.near_far import one_launch, one_launch_ranges
from nearfar.cuda import runtime
from nearfar.cuda.sorted_rows import SEGMENT, sorted_rows
from nearfar.errors import SolverError

from . import oracle
from .zoo import DTYPES, ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("local_limit", [0, None], ids=["grid", "local"])
def test_zoo(dtype: str, local_limit: int | None) -> None:
    for name in ("zero_cycle", "grid", "skewed", "complete", "wide_weights", "disconnected"):
        graph = as_dtype(ZOO[name](), dtype)
        paths = nearfar.sssp(
            graph, 0, method="near_far@cuda", predecessors=True, local_limit=local_limit
        )
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        nearfar.verify(graph, paths)


def test_queues_that_overflow_are_found_again() -> None:
    graph = ZOO["complete"]()
    paths = nearfar.sssp(graph, 0, method="near_far@cuda", queue_factor=1.0, delta=1e9)
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pull_share", [0, 2, 1000])
def test_sorted_rows(dtype: str, pull_share: int) -> None:
    for name in ("zero_cycle", "grid", "skewed", "complete", "wide_weights", "disconnected"):
        graph = as_dtype(ZOO[name](), dtype)
        for delta in (None, 1e9):
            paths = nearfar.sssp(
                graph,
                0,
                method="near_far@cuda",
                sort_rows=True,
                pull_share=pull_share,
                delta=delta,
            )
            np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


def undirected(n: int, k: int, *, hub: int = 0) -> Graph:
    """Random undirected graph whose vertex 0 has `hub` edges more."""
    rng = np.random.default_rng(5)
    sources = np.concatenate([rng.integers(0, n, k), np.zeros(hub, int)])
    targets = rng.integers(0, n, k + hub)
    weights = rng.integers(0, 1000, k + hub).astype(np.int32)
    return Graph.from_edges(sources, targets, weights, n_vertices=n, directed=False)


def test_open_vertices_pull_over_rows_of_every_length() -> None:
    graph = undirected(600, 3000, hub=3 * SEGMENT)
    for source in (0, 5):
        want = oracle.dijkstra(graph, source)
        for growth in (1.0, 1e6):
            options = {"pull_share": 2, "eager_growth": growth, "delta": 20}
            paths = nearfar.sssp(graph, source, method="near_far@cuda", sort_rows=True, **options)
            np.testing.assert_array_equal(paths.distances, want)
            assert paths.stats["pulls"] == 1


def test_a_vertex_that_pulls_a_long_row() -> None:
    """The hub hangs on heavy edges alone, so it is open when the pull begins."""
    graph = undirected(600, 3000)
    rng = np.random.default_rng(6)
    source = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    arrays = [
        np.concatenate([source, np.full(100, 600)]),
        np.concatenate([graph.indices, rng.integers(0, 600, 100)]),
        np.concatenate([graph.weights, rng.integers(5000, 9000, 100).astype(np.int32)]),
    ]
    graph = Graph.from_edges(*arrays, n_vertices=601, directed=False)
    paths = nearfar.sssp(graph, 0, method="near_far@cuda", sort_rows=True, pull_share=2, delta=100)
    assert paths.stats["pulls"] == 1
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


def test_sorted_rows_that_overflow_are_found_again() -> None:
    graph = ZOO["complete"]()
    paths = nearfar.sssp(
        graph, 0, method="near_far@cuda", queue_factor=1.0, delta=1e9, sort_rows=True
    )
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_sorted_in_place(dtype: str) -> None:
    graph = as_dtype(undirected(200, 2000, hub=2 * SEGMENT + 7), dtype)
    if not graph.is_weighted:
        return
    rows = sorted_rows(graph)
    device, bounds = rows.device, graph.indptr
    records = runtime.download(device.edges).reshape(-1, device.record)
    half = device.record // 2
    targets = records[:, : device.vertex_dtype.itemsize].copy().view(device.vertex_dtype)[:, 0]
    weights = records[:, half : half + device.weight_dtype.itemsize].copy()
    weights = weights.view(device.weight_dtype)[:, 0]
    for begin, end in itertools.pairwise(bounds):
        for first in range(begin, end, SEGMENT):
            piece = slice(first, min(first + SEGMENT, end))
            assert (np.diff(weights[piece]) >= 0).all()
            order = np.lexsort((targets[piece], weights[piece]))
            given = np.lexsort((graph.indices[piece], graph.weights[piece]))
            np.testing.assert_array_equal(targets[piece][order], graph.indices[piece][given])
            np.testing.assert_array_equal(weights[piece][order], graph.weights[piece][given])
    assert rows.n_entered == len(np.unique(graph.indices))


@pytest.mark.parametrize("sort_rows", [False, True])
def test_watchdog_turns_a_stuck_solve_into_an_error(
    sort_rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = ZOO["grid"]()
    for module in (one_launch, one_launch_ranges):
        monkeypatch.setattr(module, "most_steps", lambda n: 2)
    with pytest.raises(SolverError, match="gave up"):
        nearfar.sssp(graph, 0, method="near_far@cuda", sort_rows=sort_rows, delta=1, local_limit=0)


@pytest.mark.parametrize("sort_rows", [False, True])
def test_targets_and_limit_stop_early(sort_rows: bool) -> None:
    graph = ZOO["grid"]()
    want = oracle.dijkstra(graph, 0)
    near = int(np.argsort(want)[5])
    options = {"method": "near_far@cuda", "sort_rows": sort_rows, "delta": 1, "local_limit": 0}
    full = nearfar.sssp(graph, 0, **options)
    paths = nearfar.sssp(graph, 0, targets=[near], **options)
    assert paths.distances[near] == want[near]
    assert paths.stats["iterations"] < full.stats["iterations"]
    limit = int(np.sort(want)[20])
    paths = nearfar.sssp(graph, 0, limit=limit, **options)
    np.testing.assert_array_equal(paths.distances[want <= limit], want[want <= limit])
    assert paths.stats["iterations"] < full.stats["iterations"]
