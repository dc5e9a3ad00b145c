"""Logic of the one-launch engine on the emulated device: steps, overflow, watchdog, early stops."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.near_far.one_launch import driver as one_launch
from nearfar.algorithms.near_far.one_launch import forms as one_launch_forms
from nearfar.algorithms.near_far.one_launch import host as one_launch_host
from nearfar.cuda import device_rows
from nearfar.cuda.graph.sorted_rows import SEGMENT, sorted_rows
from nearfar.errors import SolverError
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.system.devices import runtime
from tests import oracle
from tests.covering import pairwise
from tests.zoo import DTYPES, ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu", "several_ranges")


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


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_travel_with_their_vertices(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of any length: short ones in their records, longer ones, and ones in chunks."""
    monkeypatch.setattr(one_launch, "_MOST_DEGREE", 1e9)
    monkeypatch.setattr(one_launch, "_FEW_LONG", 1.0)
    options = (
        {"local_limit": 1 << 20, "delta": 1.0},
        {"local_limit": 1 << 20, "delta": 1e9, "local_rounds": 2},
        {"local_limit": 1 << 20, "local_leave": 1},
    )
    graphs = [as_dtype(make(), dtype) for make in ZOO.values()]
    for i, graph in enumerate(graph for graph in graphs if graph.n_edges):
        for each in (i + DTYPES.index(dtype), i + DTYPES.index(dtype) + 1):
            paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options[each % 3])
            np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
            assert paths.stats["pack_seconds"] >= 0


def test_long_lists_of_a_block_spill() -> None:
    """A block's list holds about a thousand entries; one round finds three thousand."""
    rng = np.random.default_rng(3)
    middle = np.arange(1, 201)
    leaves = np.arange(201, 4001)
    sources = np.concatenate([np.zeros(200, int), rng.choice(middle, 3800)])
    targets = np.concatenate([middle, leaves])
    weights = rng.integers(1, 9, len(sources)).astype(np.int32)
    graph = Graph.from_edges(sources, targets, weights, n_vertices=4001)
    for leave in (512, 4000):
        paths = nearfar.sssp(
            graph, 0, method="near_far@cuda", delta=1e6, local_limit=1 << 20, local_leave=leave
        )
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


@pytest.mark.parametrize(
    ("spokes", "leave", "alone"),
    [
        (3, 1024, True),
        (40, 1024, False),  # more rows than the warps of a block take in two passes
        (3, 8, False),  # a list that is too long
        (200, 1024, False),  # a row for the whole device
    ],
)
def test_a_crowded_block_hands_its_list_back(spokes: int, leave: int, alone: bool) -> None:
    """While the other blocks have nothing to do; they take the ends of the last edges.

    The spokes of a hub have four targets each, which begin chains.
    """
    middle = np.arange(2, spokes + 2)
    outer = np.arange(spokes + 2, 17 * spokes + 2)
    sources = np.concatenate([[0], np.ones(spokes, int), np.repeat(middle, 4), outer])
    targets = np.concatenate([[1], middle, outer[: 4 * spokes], outer + 4 * spokes])
    weights = np.ones(len(sources), np.int32)
    graph = Graph.from_edges(sources, targets, weights, n_vertices=21 * spokes + 2)
    paths = nearfar.sssp(
        graph, 0, method="near_far@cuda", delta=1e6, local_limit=1 << 20, local_leave=leave
    )
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
    assert (paths.stats["local_steps"] == 1) == alone


@pytest.mark.parametrize("heads", [False, True])
def test_far_entries_beside_a_long_row(heads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that meets a long row ends its step and keeps the far entries of the other rows."""
    monkeypatch.setattr(one_launch, "_MOST_DEGREE", 1e9 if heads else 0.0)
    monkeypatch.setattr(one_launch, "_FEW_LONG", 1.0)
    rng = np.random.default_rng(3)
    n, m = 2000, 4000
    ends = (n * rng.random((2, m)) ** 2).astype(np.int64)
    graph = Graph.from_edges(*ends, rng.integers(1, 1000, m), n_vertices=n, directed=False)
    hubs = np.argsort(graph.degrees)[-3:]
    graph = Graph.from_edges(
        np.concatenate([graph.tails(np.int64), np.repeat(hubs, 300)]),
        np.concatenate([graph.indices, rng.integers(0, n, 900)]),
        np.concatenate([graph.weights, rng.integers(1, 1000, 900)]),
        n_vertices=n,
    )
    for source in range(12):
        paths = nearfar.sssp(graph, source, method="near_far@cuda", delta=200)
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, source))


def test_without_room_for_heads_rows_are_found_by_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    from nearfar.errors import OutOfMemoryError

    def refuse(*_: object, depth: int) -> None:
        raise OutOfMemoryError(2, 1, "none")

    monkeypatch.setattr(one_launch, "row_heads", refuse)
    graph = ZOO["grid"]()
    paths = nearfar.sssp(graph, 0, method="near_far@cuda")
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
    assert paths.stats["local_steps"]
    assert "pack_seconds" not in paths.stats


def test_queues_that_overflow_are_found_again() -> None:
    graph = ZOO["complete"]()
    paths = nearfar.sssp(graph, 0, method="near_far@cuda", queue_factor=1.0, delta=1e9)
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


ROWS: dict[str, Callable[[], Graph]] = {
    name: ZOO[name]
    for name in ("zero_cycle", "grid", "skewed", "complete", "wide_weights", "disconnected")
}
ROWS["hub"] = lambda: undirected(700, 2800, hub=1500)
PULLS = pairwise(DTYPES, list(ROWS), list(itertools.product([0, 2, 1000], [None, 1e9])))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorted_rows(dtype: str) -> None:
    for _, name, (share, delta) in (row for row in PULLS if row[0] == dtype):
        graph = as_dtype(ROWS[name](), dtype)
        options = {"sort_rows": True, "pull_share": share, "delta": delta}
        paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options)
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sifted_rows(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sifted = one_launch_forms.Form("sifted")
    monkeypatch.setattr(one_launch, "form_of", lambda *_: sifted)
    for _, name, (share, delta) in (row for row in PULLS if row[0] == dtype):
        graph = as_dtype(ROWS[name](), dtype)
        options = {"pull_share": share, "delta": delta}
        paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options)
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        assert paths.stats["form"] == "sifted"
        assert "sort_seconds" not in paths.stats


def undirected(n: int, k: int, *, hub: int = 0, tail: int = 0) -> Graph:
    """Return a random undirected graph whose vertex 0 has `hub` additional edges.

    A path of `tail` further vertices begins at vertex n - 1.
    """
    rng = np.random.default_rng(5)
    path = np.arange(n - 1, n - 1 + tail)
    sources = np.concatenate([rng.integers(0, n, k), np.zeros(hub, int), path])
    targets = np.concatenate([rng.integers(0, n, k + hub), path + 1])
    weights = rng.integers(0, 1000, len(sources)).astype(np.int32)
    return Graph.from_edges(sources, targets, weights, n_vertices=n + tail, directed=False)


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
    """The hub has only heavy edges, so it is open when the pull starts."""
    graph = undirected(600, 3000)
    rng = np.random.default_rng(6)
    source = graph.tails(np.int64)
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
    monkeypatch.setattr(one_launch_host, "most_steps", lambda n: 2)
    with pytest.raises(SolverError, match="gave up"):
        nearfar.sssp(graph, 0, method="near_far@cuda", sort_rows=sort_rows, delta=1, local_limit=0)


@pytest.mark.parametrize("sort_rows", [False, True])
def test_targets_and_limit_stop_early(sort_rows: bool) -> None:
    graph = ZOO["grid"]()
    want = oracle.dijkstra(graph, 0)
    near = int(np.argsort(want)[5])
    options = {"method": "near_far@cuda", "sort_rows": sort_rows, "delta": 9, "local_limit": 0}
    full = nearfar.sssp(graph, 0, **options)
    paths = nearfar.sssp(graph, 0, targets=[near], **options)
    assert paths.distances[near] == want[near]
    assert paths.stats["iterations"] < full.stats["iterations"]
    limit = int(np.sort(want)[20])
    paths = nearfar.sssp(graph, 0, limit=limit, **options)
    np.testing.assert_array_equal(paths.distances[want <= limit], want[want <= limit])
    assert paths.stats["iterations"] < full.stats["iterations"]


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_packed_distances(bits: int, dtype: str) -> None:
    for name in ("zero_cycle", "grid", "skewed", "complete", "disconnected"):
        graph = as_dtype(ZOO[name](), dtype)
        want = oracle.dijkstra(graph, 0)
        for options in ({}, {"local_limit": 0}, {"delta": 1}, {"delta": 1e9, "queue_factor": 1}):
            options |= {"method": "near_far@cuda", "distance_bits": bits}
            paths = nearfar.sssp(graph, 0, **options)
            np.testing.assert_array_equal(paths.distances, want)
            nearfar.verify(graph, paths)


@pytest.mark.parametrize("bits", [8, 16])
def test_packed_distances_of_any_number_of_vertices(bits: int) -> None:
    """Vertices share words; the last word may have fewer of them."""
    rng = np.random.default_rng(bits)
    for n in range(1, 11):
        sources, targets = rng.integers(0, n, (2, 3 * n))
        weights = rng.integers(0, 9, 3 * n).astype(np.int32)
        graph = Graph.from_edges(sources, targets, weights, n_vertices=n)
        paths = nearfar.sssp(graph, n - 1, method="near_far@cuda", distance_bits=bits)
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, n - 1))


@pytest.mark.parametrize("bits", [0, 8, 16])
def test_packed_distances_of_vertices_that_rows_go_past(bits: int) -> None:
    """Shortcuts skip most vertices of a path, whose distances follow from the others."""
    weights = (np.arange(49) % 2).astype(np.int32)
    graph = Graph.from_edges(np.arange(49), np.arange(1, 50), weights, directed=False)
    for source in (0, 1, 25):
        options = {"distance_bits": bits, "shortcuts": True}
        paths = nearfar.sssp(graph, source, method="near_far@cuda", **options)
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, source))


@pytest.mark.parametrize("bits", [8, 16])
def test_packed_distances_by_every_threshold(bits: int) -> None:
    """Splits compare the distances of a word at once: each bound from 1 to 254, each distance."""
    far = 2**bits - 2
    step = max(far // 254, 1)
    path = np.arange(254)
    order = np.random.default_rng(bits).permutation(255)  # vertices that share a word
    weights = np.full(254, step, np.int32)
    graph = Graph.from_edges(order[path], order[path + 1], weights)
    options: dict[str, float] = {"delta": 1, "delta_growth": 1, "local_limit": 0}
    paths = nearfar.sssp(
        graph, int(order[0]), method="near_far@cuda", distance_bits=bits, **options
    )
    assert paths.distances[order].tolist() == [step * hops for hops in range(255)]
    assert paths.stats["splits"] >= 254


@pytest.mark.parametrize("length", [253, 254, 255, 256, 65534, 65535])
def test_distances_at_the_edge_of_their_bits(length: int) -> None:
    """One below all ones fits; from all ones on the solve is repeated with whole distances."""
    graph = Graph.from_edges([0, 1, 0], [1, 2, 3], np.array([3, length - 3, 1], np.int32))
    bits = 8 if length < 300 else 16
    paths = nearfar.sssp(graph, 0, method="near_far@cuda", distance_bits=bits)
    assert paths.distances.tolist() == [0, 3, length, 1]
    assert paths.stats["form"] == ("packed" if length < 2**bits - 1 else "plain")


def test_packed_distances_stop_early() -> None:
    graph = ZOO["grid"]()
    want = oracle.dijkstra(graph, 0)
    near = int(np.argsort(want)[5])
    options = {"method": "near_far@cuda", "distance_bits": 16, "delta": 1, "local_limit": 0}
    full = nearfar.sssp(graph, 0, **options)
    paths = nearfar.sssp(graph, 0, targets=[near], **options)
    assert paths.distances[near] == want[near]
    assert paths.stats["iterations"] < full.stats["iterations"]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_many_sources_one_after_another(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = generate("preferential_attachment", vertices=200, attach=3, seed=4)
    graph = Graph(made.indptr, made.indices, made.weights.astype(dtype), directed=True)
    sources, method = [7, 190, 7, 0], "near_far_per_source@cuda"
    wanted = nearfar.distances(graph, sources, method="dijkstra", device="cpu")
    stats: dict[str, Any] = {}
    rows = nearfar.distances(graph, sources, method=method, stats=stats)
    np.testing.assert_array_equal(rows, wanted)
    assert stats["engine"] == method
    assert stats["edges_relaxed"] > 0
    columns = [3, 150, 3]
    some = nearfar.distances(graph, sources, method=method, targets=columns)
    np.testing.assert_array_equal(some, wanted[:, columns])
    limit = float(np.median(wanted))
    near = nearfar.distances(graph, sources, method=method, limit=limit)
    np.testing.assert_array_equal(
        near, np.where(wanted <= limit, wanted, unreached_value(wanted.dtype))
    )
    out = runtime.cupy().empty(wanted.shape, wanted.dtype)
    assert nearfar.distances(graph, sources, method=method, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    for reduce in ("sum", "nearest:3"):
        found = nearfar.distances(graph, sources, method=method, reduce=reduce)
        expected = nearfar.distances(graph, sources, device="cpu", reduce=reduce)
        for left, right in zip(np.atleast_2d(found), np.atleast_2d(expected), strict=True):
            np.testing.assert_array_equal(left, right)
    monkeypatch.setattr(device_rows.Rows, "parts", lambda *_: [(0, 2), (2, 3)])
    np.testing.assert_array_equal(nearfar.distances(graph, sources, method=method), wanted)
