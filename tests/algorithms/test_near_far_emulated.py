"""Logic of the one-launch engine on the emulated device: steps, overflow, watchdog, early stops."""

from __future__ import annotations

import functools
import itertools
import threading
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
from nearfar.system.devices import compiler, runtime
from tests import oracle
from tests.covering import pairwise
from tests.zoo import DTYPES, ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture(autouse=True)
def _ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide small graphs into ranges, as others are."""
    monkeypatch.setattr(one_launch_forms, "_AT_ONCE", one_launch_forms._USUAL)


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


SOLVED = {"device_seconds": 1.0, "splits": 1, "last_threshold": 1.0, "edges_relaxed": 1000}
SOLVED |= {"delta": 1.0, "last_delta": 1.0}
SOLVED["block_rounds"] = 0


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


def undirected(n: int, k: int, *, hub: int = 0) -> Graph:
    """Return a random undirected graph whose vertex 0 has `hub` additional edges."""
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


def forms_of(graph: Graph, solves: int, **options: object) -> list[str]:
    """Return the form of each solve, after checking the answer and waiting for the compiler."""
    want = oracle.dijkstra(graph, 0)
    forms = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_launch, "meanwhile", lambda *_: None)
        for _ in range(solves):
            paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options)
            np.testing.assert_array_equal(paths.distances, want)
            forms.append(paths.stats["form"])
    return forms


def test_solves_go_on_while_the_next_form_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = undirected(100, 2000)
    monkeypatch.setattr(one_launch_forms, "_SKEWED", 1.0)
    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1e-12)
    monkeypatch.setattr(one_launch_forms, "_HOPELESS", 1e9)  # the emulator's times vary
    compile_kernel, may_go_on = compiler.compile_kernel, threading.Event()

    def slow(name: str, *given: Any) -> bytes:
        if threading.current_thread() is not threading.main_thread():
            may_go_on.wait(60)
        return compile_kernel(name, *given)

    monkeypatch.setattr(compiler, "compile_kernel", slow)
    monkeypatch.setattr(compiler, "_in_background", {})
    solve = functools.partial(nearfar.sssp, graph, 0, method="near_far@cuda")
    assert [solve().stats["form"] for _ in range(4)] == ["sifted"] * 4
    # a requested form waits for its compilation
    assert solve(sort_rows=True).stats["form"] == "sorted"
    may_go_on.set()
    compiler.finish_background()
    assert forms_of(graph, 2) == ["sorted", "sorted"]


@pytest.mark.parametrize(("local", "form"), [(0, "sifted"), (1 << 20, "plain")])
def test_skewed_graphs_are_sifted_unless_they_are_small(
    local: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean degree of 12 is too low for graphs that are solved in one range."""
    monkeypatch.setattr(one_launch_forms, "_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(one_launch_forms, "local_entries", lambda _: local)
    graph = undirected(700, 2800, hub=1500)
    assert 7 < graph.mean_degree < 16
    assert forms_of(graph, 1) == [form]


def test_rows_are_sorted_once_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = undirected(100, 2000)
    monkeypatch.setattr(one_launch_forms, "_SKEWED", 1.0)
    monkeypatch.setattr(one_launch_forms, "_HOPELESS", 1e9)  # the emulator's times vary
    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1e9)
    assert forms_of(graph, 2) == ["sifted", "sifted"]
    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1e-12)
    assert forms_of(graph, 2) == ["sorted", "sorted"]
    assert forms_of(graph, 1, sort_rows=False) == ["plain"]
    assert forms_of(graph, 1, delta=5) == ["plain"]
    assert forms_of(undirected(100, 2000), 2) == ["sifted", "sorted"]
    sparse = undirected(100, 150)
    assert forms_of(sparse, 2) == ["plain", "plain"]


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_delta_grows_on_a_mesh_whose_near_set_is_thin(dtype: str) -> None:
    """The mean degree, six, does not matter: fewer steps, and the same distances."""
    mesh = nearfar.generate("delaunay", vertices=4000, weight_dtype=dtype)
    want = oracle.dijkstra(mesh, 0)
    found = {}
    for growth in (1.0, None):
        options = {"delta_growth": growth, "local_limit": 0, "target_near": 200}
        paths = nearfar.sssp(mesh, 0, method="near_far@cuda", **options)
        np.testing.assert_array_equal(paths.distances, want)
        found[growth] = paths.stats
    assert found[1.0]["last_delta"] == found[1.0]["delta"]
    assert found[None]["last_delta"] > 2 * found[None]["delta"]
    assert found[None]["iterations"] < 0.7 * found[1.0]["iterations"]


@pytest.mark.parametrize("growth", [4, None])
def test_delta_grows_as_long_as_ranges_take_no_longer(growth: float | None) -> None:
    """Every range of a star takes one step, however wide it is."""
    leaves = np.arange(1, 20_001)
    graph = Graph.from_edges(np.zeros(20_000, int), leaves, leaves.astype(np.int32))
    options = {"delta": 1, "delta_growth": growth, "target_near": 1 << 20}
    paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options)
    np.testing.assert_array_equal(paths.distances, np.arange(20_001))
    assert paths.stats["last_delta"] == 4 if growth else paths.stats["last_delta"] > 50


def test_later_solves_begin_with_the_growth_of_the_first() -> None:
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [3, 4, 9])
    stats = nearfar.sssp(graph, 0, method="near_far@cuda", delta=100).stats
    assert stats["last_delta"] == stats["delta"] == 100
    form = one_launch_forms.Form("plain")
    assert one_launch_forms.may_grow(graph, form) == one_launch_forms.GROWTHS
    one_launch_forms.learn(graph, form, {**SOLVED, "last_delta": 96.0}, width=True)
    assert one_launch_forms.may_grow(graph, form) == 96.0
    assert one_launch_forms.width_of(graph, form) == one_launch_forms.Width(1.0, 96.0)


AT_ONCE = one_launch_forms._AT_ONCE


def test_small_graphs_are_solved_in_one_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_launch_forms, "_AT_ONCE", AT_ONCE)
    few, many = undirected(150, 600), undirected(300, 1200)  # two multiprocessors
    stats = [nearfar.sssp(graph, 0, method="near_far@cuda").stats for graph in (few, many)]
    assert stats[0]["splits"] == 0 < stats[1]["splits"]
    at_once, usual = one_launch_forms.Width(256, 12), one_launch_forms.Width(1, 12)
    form = one_launch_forms.Form("plain")
    assert one_launch_forms.width_of(few, form) == at_once
    found = [at_once]
    while usual not in found and len(found) < 20:
        seconds = 1.0 + len(found) / 10
        stats = {**SOLVED, "splits": 0, "device_seconds": seconds}
        one_launch_forms.learn(few, form, stats, width=True)
        found.append(one_launch_forms.width_of(few, form))
    assert found[-1] == usual


@pytest.mark.parametrize("directed", [False, True])
def test_forests_are_solved_in_one_range(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_launch_forms, "_AT_ONCE", AT_ONCE)
    below, tree = np.arange(1, 2000), {}
    above, weights = (below - 1) // 3, np.random.default_rng(2).integers(1, 999, len(below))
    for ring in ([], [0]):
        ends = np.r_[above, ring].astype(int), np.r_[below, [1999] * len(ring)].astype(int)
        graph = Graph.from_edges(*ends, np.r_[weights, ring].astype(np.int32), directed=directed)
        paths = nearfar.sssp(graph, 0, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        tree[not ring] = paths.stats["splits"]
    assert tree[True] == 0 < tree[False]
    for end in ({"targets": [1]}, {"limit": float(paths.distances[1])}):
        stats = nearfar.sssp(graph, 0, method="near_far@cuda", **end).stats
        assert stats["edges_relaxed"] < paths.stats["edges_relaxed"]


@pytest.mark.parametrize(("degree", "grows"), [(4, False), (1, True)])
def test_delta_does_not_grow_before_a_set_that_grows_by_itself(degree: int, grows: bool) -> None:
    """A tree has 4, 16, 64... vertices, the target 100; a chain stays thin."""
    layers = [degree**layer for layer in range(6 if degree > 1 else 300)]
    starts = np.concatenate([[0], np.cumsum(layers)])
    tails = [np.repeat(np.arange(starts[i], starts[i + 1]), degree) for i in range(len(layers) - 1)]
    heads = np.arange(1, starts[-1])
    graph = Graph.from_edges(np.concatenate(tails), heads, np.full(len(heads), 10, np.int32))
    options = {"delta": 10, "delta_growth": 64, "target_near": 100, "local_limit": 0}
    stats = nearfar.sssp(graph, 0, method="near_far@cuda", **options).stats
    assert (stats["last_delta"] > 8 * stats["delta"]) == grows


@pytest.mark.parametrize(
    ("first", "growth"),
    [(1, 12), (1, 1), (1, 3), (1, 48), (4, 12), (2, 1), (1 / 4, 3), (1 / 16, 1)],
)
@pytest.mark.parametrize("rounds", one_launch_forms.ROUNDS)
def test_the_width_that_was_fastest_stays(first: float, growth: float, rounds: int) -> None:
    fastest = one_launch_forms.Width(first, growth, rounds)
    found = widths(lambda width: steps_between(width, fastest), 9, work=9 if first < 1 else 1)
    usual = one_launch_forms.Width(1, 12)
    assert found[:2] == [usual, usual]  # the first solve is not counted
    assert found[-10:] == [fastest] * 10
    assert len(set(found)) <= 28


@pytest.mark.parametrize(("first", "growth"), [(8, 12), (16, 12), (1 / 8, 256), (1 / 64, 256)])
def test_a_faster_width_behind_slower_ones_is_found(first: float, growth: float) -> None:
    fastest = one_launch_forms.Width(first, growth)

    def loss(width: one_launch_forms.Width) -> float:
        near = 1 / 4 <= width.first <= 4
        away = abs(np.log2(width.first / first))
        return 0.5 if width == one_launch_forms.Width(1, 12) else 1.0 if near else 0.1 * away

    assert abs(np.log2(widths(loss, 9, work=1)[-1].first / fastest.first)) <= 1


@pytest.mark.parametrize(("block_rounds", "tried"), [(10, {1000, 8, 2, 0}), (10**6, {1000, 8})])
def test_rounds_are_compared_where_more_barriers_cost_little(
    block_rounds: int, tried: set[int]
) -> None:
    """A million rounds with a barrier for each would take four seconds, those of 8 half of one."""
    found = widths(lambda width: 0.0, 9, work=1, block_rounds=block_rounds)
    assert {width.rounds for width in found} == tried
    first = {width.rounds for width in found[2:5]}  # after the usual width
    assert first == (tried - {1000} if block_rounds == 10 else {1000})


def test_a_usual_width_that_was_unlucky_is_measured_again() -> None:
    usual, seen = one_launch_forms.Width(1, 12), []

    def loss(width: one_launch_forms.Width) -> float:
        seen.append(width)
        return 0.3 if width != usual else 0.35 if seen.count(usual) == 2 else 0.0

    assert widths(loss, 9, work=1)[-1] == usual


@pytest.mark.parametrize("shortcuts", [False, True])
def test_rows_that_lead_past_vertices_are_compared_with_rows_that_do_not(shortcuts: bool) -> None:
    found = widths(lambda width: float(width.past), 9, work=1, shortcuts=shortcuts)
    assert found[-1].past is not shortcuts
    assert {width.past for width in found} == ({True, False} if shortcuts else {True})


def test_solves_without_local_steps_find_rows_by_their_offsets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(one_launch, "meanwhile", lambda *_: None)  # waits for kernels
    graph, taken = nearfar.generate("road_like", vertices=400), []
    for _ in range(60):
        width = one_launch_forms.width_of(graph, one_launch_forms.Form("plain"))
        paths = nearfar.sssp(graph, 0, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        assert ("pack_seconds" in paths.stats) == (width.rounds > 0)
        assert paths.stats.get("shortcuts", False) <= width.past
        taken.append(width)
    assert 0 in {width.rounds for width in taken}
    assert {width.past for width in taken} == {True, False}


def test_another_form_does_not_count_for_a_width() -> None:
    graph, form = undirected(100, 150), one_launch_forms.Form("plain", past=False)
    history = one_launch_forms._history(graph)
    for _ in range(3):
        one_launch_forms.learn(graph, form, {**SOLVED, "device_seconds": 0.1}, width=True)
    assert not history.widths
    one_launch_forms.learn(graph, one_launch_forms.Form("plain"), SOLVED, width=True)
    assert history.mean("plain") == 1.0


def test_rounds_do_not_matter_without_local_steps() -> None:
    found = widths(lambda width: 0.0, 9, work=1, block_rounds=0)
    assert {width.rounds for width in found} == {one_launch_forms.ROUNDS[0]}


@pytest.mark.parametrize("first", [1, 4, 1 / 4, 1 / 64])
def test_one_bucket_depends_on_the_first_delta_alone(first: float) -> None:
    found = widths(lambda width: abs(np.log2(width.first / first)), 2, work=1)
    assert {width.growth for width in found} == {12}
    assert found[-1].first == first
    assert len(set(found)) <= 18


def test_a_width_that_was_fast_once_by_chance_is_left() -> None:
    lucky, seen = one_launch_forms.Width(2, 12), []

    def loss(width: one_launch_forms.Width) -> float:
        seen.append(width)
        return 0.0 if width != lucky else -0.5 if seen.count(lucky) == 1 else 0.5

    assert lucky in widths(loss, 9, work=1)
    assert seen[-1] != lucky


def steps_between(width: one_launch_forms.Width, other: one_launch_forms.Width) -> float:
    """Return the doublings, and changes of rounds, from one width to another."""
    rounds = [one_launch_forms.ROUNDS.index(one.rounds) for one in (width, other)]
    doublings = np.abs(np.log2(np.array(width[:2]) / np.array(other[:2]))).sum()
    return float(doublings + abs(rounds[0] - rounds[1]))


def widths(
    loss: Callable[[one_launch_forms.Width], float],
    splits: int,
    work: float,
    block_rounds: int = 3,
    *,
    shortcuts: bool = False,
) -> list[one_launch_forms.Width]:
    """Return the widths of 60 solves that lose the given seconds."""
    graph, form = undirected(100, 150), one_launch_forms.Form("plain")
    found = []
    for _ in range(60):
        found.append(width := one_launch_forms.width_of(graph, form))
        form = one_launch_forms.Form("plain", alone=width.rounds > 0, past=width.past)
        stats = {**SOLVED, "splits": splits, "edges_relaxed": work * graph.n_edges}
        stats |= {"device_seconds": 1.0 + loss(width), "block_rounds": block_rounds}
        stats["shortcuts"] = shortcuts and width.past
        one_launch_forms.learn(graph, form, stats, width=True)
    return found


def test_a_form_that_lost_is_not_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_launch_forms, "_SKEWED", 1.0)
    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1e-12)
    graph = undirected(100, 2000)
    assert forms_of(graph, 2) == ["sifted", "sorted"]
    stats = {**SOLVED, "device_seconds": 1e9}
    one_launch_forms.learn(graph, one_launch_forms.Form("sorted"), stats, width=True)
    assert forms_of(graph, 2) == ["sifted", "sifted"]
    stats["device_seconds"] = 1e-9
    one_launch_forms.learn(graph, one_launch_forms.Form("plain"), stats, width=True)
    assert forms_of(graph, 1) == ["plain"]


def test_rows_of_directed_graphs_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1e-12)
    both = undirected(100, 2000)
    graph = Graph(both.indptr, both.indices, both.weights)
    assert forms_of(graph, 3) == ["plain"] * 3
    assert forms_of(both, 2)[1] == "sorted"


def test_a_form_may_lose_a_little_for_three_solves() -> None:
    graph = undirected(100, 2000)
    history = one_launch_forms._history(graph)
    for kind, seconds in (("plain", 1.0), *[("sorted", 1.5)] * 2):
        stats = {**SOLVED, "device_seconds": seconds}
        one_launch_forms.learn(graph, one_launch_forms.Form(kind), stats, width=True)
        assert not history.lost("sorted")
    one_launch_forms.learn(graph, one_launch_forms.Form("sorted"), stats, width=True)
    assert history.lost("sorted")


def test_few_heavy_edges_do_not_widen_delta() -> None:
    rng = np.random.default_rng(1)
    ends, even = rng.integers(0, 100, (2, 300)), rng.random(300)
    heavy = even.copy()
    heavy[::10] = 1e6
    deltas = []
    for weights in (even, heavy):
        graph = Graph.from_edges(*ends, weights, n_vertices=100)
        paths = nearfar.sssp(graph, 0, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        deltas.append(paths.stats["delta"])
    assert 1.5 < deltas[1] / deltas[0] < 3


def test_a_form_without_room_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from nearfar.errors import OutOfMemoryError

    engine = one_launch._engine

    def refuse(graph: Graph, options: object, form: one_launch_forms.Form) -> object:
        if form.bits:
            raise OutOfMemoryError(2, 1, "none")
        return engine(graph, options, form)

    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1.0)
    monkeypatch.setattr(one_launch_forms, "_LARGE", 1)
    monkeypatch.setattr(one_launch, "_engine", refuse)
    graph = undirected(600, 2400)
    assert forms_of(graph, 3) == ["plain", "plain", "plain"]
    with pytest.raises(OutOfMemoryError):
        nearfar.sssp(graph, 0, method="near_far@cuda", distance_bits=8)


def test_distances_are_packed_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1.0)
    monkeypatch.setattr(one_launch_forms, "_LARGE", 1)
    graph = undirected(600, 2400)
    assert forms_of(graph, 3) == ["packed", "packed", "packed"]
    assert forms_of(graph, 1, distance_bits=0) == ["plain"]
    assert forms_of(as_dtype(graph, "float32"), 2) == ["plain", "plain"]


def test_distances_that_fit_less_than_was_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of tripled edges has the degrees of a random graph but is far deeper."""
    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1.0)
    monkeypatch.setattr(one_launch_forms, "_LARGE", 1)
    heads = np.repeat(np.arange(599), 3)
    sources, targets = np.append(heads, heads + 1), np.append(heads + 1, heads)
    graph = Graph.from_edges(sources, targets, np.ones(len(sources), np.int32), n_vertices=600)
    assert graph.mean_degree > one_launch_forms.ROAD_LIKE
    assert forms_of(graph, 2) == ["plain", "packed"]  # 8 bits fail, then 16 are used
    assert forms_of(graph, 1, distance_bits=8) == ["plain"]
    assert forms_of(graph, 1, distance_bits=16) == ["packed"]


def test_a_farther_source_is_solved_again_with_whole_distances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first source reaches a small part; distances from the second one do not fit."""
    monkeypatch.setattr(one_launch_forms, "_SORT_SECONDS", 1.0)
    monkeypatch.setattr(one_launch_forms, "_LARGE", 1)
    near = undirected(200, 800)
    arrays = [
        near.tails(np.int64),
        near.indices,
        near.weights // 100,
    ]
    sources, targets = np.append(arrays[0], 200), np.append(arrays[1], 0)
    weights = np.append(arrays[2], 10**6).astype(np.int32)
    graph = Graph.from_edges(sources, targets, weights, n_vertices=201)
    for source, form in ((0, "packed"), (0, "packed"), (200, "plain"), (0, "plain")):
        paths = nearfar.sssp(graph, source, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, source))
        assert paths.stats["form"] == form


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
