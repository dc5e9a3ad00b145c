"""Bounded searches: rows, sparse rows and reductions of dense searches, at the cost of a ball."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, _cpu, nearest
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.facts import within
from tests.zoo import DTYPES, ZOO, as_dtype

REDUCTIONS = [
    "count", "sum", "mean", "max", "summary", "harmonic", "nearest:3",
    ("histogram", (0.0, 1.0, 2.5, 7.0, 100.0)),
]  # fmt: skip


def limits(graph: Graph) -> list[float]:
    """Return limits that reach no, few and many vertices."""
    row = nearfar.distances(graph, [0], method="dijkstra")[0]
    some = np.sort(row[row != unreached_value(row.dtype)])
    return [0.0, float(some[len(some) // 4]), float(some[len(some) // 2])]


@pytest.mark.parametrize("dtype", DTYPES)
def test_answers_of_the_zoo(dtype: str) -> None:
    for name, build in ZOO.items():
        graph = as_dtype(build(), dtype)
        if graph.n_negative or not graph.n_vertices:
            continue
        sources = np.arange(0, graph.n_vertices, max(1, graph.n_vertices // 40))[::-1]
        for limit in limits(graph):
            call: dict[str, Any] = {"sources": sources, "limit": limit}
            dense = nearfar.distances(graph, method="worker_per_source", **call)
            found = nearfar.distances(graph, method="bounded", **call)
            np.testing.assert_array_equal(found, dense, err_msg=name)
            few = nearfar.distances(graph, method="bounded", targets=sources[:5], **call)
            np.testing.assert_array_equal(few, dense[:, sources[:5]], err_msg=name)
            sparse = nearfar.distances(graph, method="bounded", out="csr", **call)
            want = nearfar.distances(graph, method="worker_per_source", out="csr", **call)
            for part in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(sparse, part), getattr(want, part), name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduce", REDUCTIONS, ids=str)
def test_reductions_of_the_zoo_have_the_same_bits(reduce: Any, dtype: str) -> None:
    """Of every graph within every limit, which the reductions of a dtype take in turns."""
    for at, (name, build) in enumerate(ZOO.items(), start=REDUCTIONS.index(reduce)):
        graph = as_dtype(build(), dtype)
        some = limits(graph)
        limit = some[at % len(some)]
        call = {"limit": limit, "reduce": reduce, "sources": np.arange(graph.n_vertices)[:200]}
        found = nearfar.distances(graph, method="bounded", **call)
        want = nearfar.distances(graph, method="worker_per_source", **call)
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(want), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


def test_without_a_limit_rows_are_whole() -> None:
    graph = nearfar.generate("road_like", vertices=500, seed=3)
    found = nearfar.distances(graph, method="bounded")
    np.testing.assert_array_equal(found, nearfar.distances(graph, method="dijkstra"))


def test_sums_beyond_the_dtype_are_repeated_in_64_bits() -> None:
    most = 2**31 - 1
    graph = Graph.from_edges([0, 1], [1, 2], np.array([most - 1, most - 1], np.int32))
    found = nearfar.distances(graph, [0], method="bounded", limit=2.0**40)
    assert found.tolist() == [[0, most - 1, 2 * (most - 1)]]
    counts = nearfar.distances(graph, [0], method="bounded", limit=2.0**40, reduce="count")
    assert counts.tolist() == [2]
    sparse = nearfar.distances(graph, [0], method="bounded", limit=2.0**40, out="csr")
    assert sparse.data.tolist() == [0, most - 1, 2 * (most - 1)]


def test_rows_come_in_order_of_distance_then_vertex() -> None:
    graph = Graph.from_edges([3, 3, 3, 1, 0], [0, 1, 2, 4, 5], [2, 1, 1, 0, 0], n_vertices=6)
    _, vertices, distances, _ = _cpu.bounded_rows(graph.view, np.array([3]), 5.0, 1)
    assert vertices.tolist() == [3, 1, 2, 4, 0, 5]
    assert distances.tolist() == [0, 1, 1, 1, 2, 2]


@pytest.mark.parametrize("shape", ["star", "path", "hub_and_ring", "zero_cycle"])
def test_workers_do_not_disturb_each_other(shape: str) -> None:
    n = 400
    ring, hub = np.arange(n), np.zeros(n, int)
    edges = {
        "star": (hub, ring, np.ones(n)),
        "path": (ring[:-1], ring[1:], np.ones(n - 1)),
        "hub_and_ring": (
            np.r_[np.zeros(n, int), ring],
            np.r_[ring, (ring + 1) % n],
            np.ones(2 * n),
        ),
        "zero_cycle": (ring, (ring + 1) % n, np.r_[np.zeros(n - 5), np.ones(5)]),
    }[shape]
    graph = Graph.from_edges(*edges, n_vertices=n)
    want = nearfar.distances(graph, method="dijkstra", limit=3)
    for repeat in range(60):
        threads = 2 + repeat % 7
        found = nearfar.distances(graph, method="bounded", limit=3, threads=threads)
        np.testing.assert_array_equal(found, want)
        sparse = nearfar.distances(graph, method="bounded", limit=3, threads=threads, out="csr")
        np.testing.assert_array_equal(sparse.toarray(), np.where(want == np.inf, 0, want))
        counts = nearfar.distances(
            graph, method="bounded", limit=3, threads=threads, reduce="count"
        )
        np.testing.assert_array_equal(counts, np.isfinite(want).sum(axis=1) - 1)


def test_auto_looks_how_far_a_limit_leads() -> None:
    graph = nearfar.generate("road_like", vertices=20_000, seed=1)
    stats: dict[str, Any] = {}
    near = float(np.median(graph.weights)) * 4
    nearfar.distances(graph, limit=near, reduce="count", stats=stats)
    assert stats["engine"] == "bounded@cpu"
    nearfar.distances(graph, np.arange(64), limit=1e12, reduce="count", stats=stats)
    assert stats["engine"] != "bounded@cpu"
    assert within(graph, 1e12, (0, 1)) is None
    reach = within(graph, near, (0, 1, 2))
    assert reach is not None
    assert reach[0] < 200


LITTLE_MEMORY = """
import resource
import numpy as np
import nearfar
from nearfar import Graph, _cpu

n = 10_000_000
at = np.arange(n + 1, dtype=np.int32)
graph = Graph.from_csr(at, np.minimum(at[1:], n - 1), np.ones(n), copy=False)
sources = np.arange(0, n, 20_000)
_cpu.bounded_figures(graph.view, sources[:2], 3.0, 1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), resource.RLIM_INFINITY))
counts = _cpu.bounded_figures(graph.view, sources, 200.0, 1)[0]
assert (counts == np.minimum(200, n - 1 - sources)).all()
try:
    np.empty(n)
except MemoryError:
    print("a row does not fit")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_a_worker_takes_memory_for_what_it_reaches() -> None:
    """500 searches of 200 vertices among ten million run in memory too small for a row."""
    run = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "a row does not fit" in run.stdout


def test_memory_follows_what_is_reached() -> None:
    graph = nearfar.generate("road_like", vertices=200_000, seed=1)
    near = float(np.median(graph.weights)) * 3
    few = np.arange(64)
    found = nearfar.distances(graph, few, limit=near, reduce="count", memory=40_000_000)
    want = nearfar.distances(graph, few, limit=near, reduce="count", method="worker_per_source")
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nearest_within_a_limit_is_that_of_a_joined_search(dtype: str) -> None:
    """Distances, places and trees agree, also for ties between sources."""
    served = 0
    for name, build in ZOO.items():
        graph = as_dtype(build(), dtype)
        if graph.n_negative or graph.n_vertices < 2:
            continue
        for k, limit in itertools.product((1, 2, 5), limits(graph)):
            sources = np.unique(np.linspace(0, graph.n_vertices - 1, k).astype(int))[::-1]
            joined = nearest(
                graph, sources, limit=limit, method="delta_stepping", predecessors=True
            )
            dtypes = (graph.weight_dtype, np.int64, graph.vertex_dtype)
            found = [np.empty(graph.n_vertices, one) for one in dtypes]
            given = graph.view, sources.astype(np.int64), limit, 0
            if _cpu.bounded_nearest(*given, *found, threads=3) is None:
                assert graph.min_weight == 0 or dtype.startswith("float"), name
                continue
            served += 1
            np.testing.assert_array_equal(found[0], joined.distances, name)
            np.testing.assert_array_equal(graph.name_of(found[1]), joined.sources, name)
            np.testing.assert_array_equal(found[2], joined.predecessors, name)
    assert served > 20


def test_nearest_takes_a_bounded_search_where_the_limit_is_small() -> None:
    graph = nearfar.generate("road_like", vertices=20_000, seed=1)
    near = float(np.median(graph.weights)) * 4
    places, stats = np.arange(0, 19_000, 997), {}
    found = nearest(graph, places, limit=near, predecessors=True, stats=stats)
    want = nearest(graph, places, limit=near, predecessors=True, method="delta_stepping")
    assert stats["engine"] == "bounded@cpu"
    for one, other in zip(found, want, strict=True):
        np.testing.assert_array_equal(one, other)
    nearest(graph, places, limit=1e12, stats=stats)
    assert stats["engine"] != "bounded@cpu"


def test_sparse_rows_of_all_sources_make_no_dense_ones() -> None:
    """Regression: rows of n entries cost 8 ms per source even if a limit reached nothing."""
    graph = nearfar.generate("road_like", vertices=20_000, seed=1)
    stats: dict[str, Any] = {}
    found = nearfar.distances(graph, limit=1e-6, out="csr", stats=stats)
    assert stats["engine"] == "bounded@cpu"
    assert found.nnz == graph.n_vertices


@pytest.mark.parametrize("size", [3, 200, 5000, 20_000])
def test_tables_and_buckets_grow_with_the_search(size: int) -> None:
    """Tables grow from a few slots over hashing to a slot per vertex, and shrink again."""
    n = 20_000
    rng = np.random.default_rng(size)
    tails = rng.integers(0, n, 3 * n)
    graph = Graph.from_edges(tails, rng.integers(0, n, 3 * n), rng.random(3 * n), n_vertices=n)
    row = np.sort(nearfar.distances(graph, [7], method="dijkstra")[0])
    limit = float(row[min(size, np.isfinite(row).sum() - 1)])
    sources = np.array([7, 3, 7, 4, 9])
    for bound in (limit, limit / 100, limit):
        found = nearfar.distances(graph, sources, method="bounded", limit=bound, threads=1)
        want = nearfar.distances(graph, sources, method="dijkstra", limit=bound)
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *(("road_like", dtype) for dtype in DTYPES),
        *(("kronecker", dtype) for dtype in ("int32", "float64")),
        *(("grid", dtype) for dtype in ("int64", "unweighted")),
    ],
)
def test_counts_of_neighbouring_sources_are_those_of_single_searches(name: str, dtype: str) -> None:
    """Balls of a few vertices, up to more than the surroundings of sixteen sources."""
    how: dict[str, Any] = {
        "road_like": {"vertices": 12_000, "seed": 2},
        "kronecker": {"scale": 12},
        "grid": {"rows": 90, "columns": 100},
    }[name]
    graph = as_dtype(nearfar.generate(name, **how), dtype)
    row = np.sort(nearfar.distances(graph, [graph.widest_vertex], method="dijkstra")[0])
    row = row[row != unreached_value(row.dtype)]
    rng = np.random.default_rng(1)
    for reached in (1, 20, 100, 700, 3000):
        limit = float(row[min(reached, len(row) - 1)])
        if reached > 500:
            sources = rng.integers(0, graph.n_vertices, 200)
        else:
            sources = rng.permutation(graph.n_vertices)[:2500]
        found = _cpu.bounded_figures(graph.view, sources, limit, 2)
        alone = _cpu.bounded_figures(graph.view, sources, limit, 2, "", graph.n_vertices + 1)
        for one, other in zip(found[:2], alone[:2], strict=True):
            np.testing.assert_array_equal(one, other)


def test_counts_near_the_end_of_the_dtype() -> None:
    """Sums that do not fit lanes are left to single searches."""
    n, most = 300, 2**31 - 1
    for step, limit in ((most // 3, most - 1), (most // 40, most // 5), (most // 400, most // 8)):
        ring = np.arange(n)
        weights = np.full(n, step, np.int32)
        graph = Graph.from_edges(ring, (ring + 1) % n, weights, directed=False)
        counts = _cpu.bounded_figures(graph.view, ring, float(limit), 1)[0]
        assert (counts == min(2 * (limit // step), n - 1)).all()
