"""Many sources, all pairs and negative weights on a GPU: large sizes, repeated runs."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.errors import NegativeCycleError
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs, distances
from nearfar.system.devices import landing, runtime
from tests.algorithms.test_exact_cycles import level_graph
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph, rows_of, zeros_and_parallels
from tests.zoo import as_dtype

BATCH = ["block_per_source", "block_per_source_global", "lanes"]


@pytest.mark.parametrize("method", BATCH)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_kronecker_and_grid_rows(method, dtype):
    rng = np.random.default_rng(4)
    for graph in (generate("kronecker", scale=13), generate("grid", rows=90, columns=110)):
        graph = as_dtype(graph, dtype)
        sources = rng.integers(0, graph.n_vertices, 300)
        truth = distances(graph, sources, method="worker_per_source", device="cpu")
        for _ in range(3):
            found = distances(graph, sources, method=f"{method}@cuda")
            np.testing.assert_array_equal(found, truth)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", BATCH)
def test_random_batches_are_independent(method, dtype):
    """With three methods and four dtypes, 1,200 batches of different widths and orders."""
    rng = np.random.default_rng(8)
    graph = random_graph(rng, 150, 600, dtype)
    truth = rows_of(graph)
    for trial in range(100):
        sources = rng.integers(0, 150, int(rng.integers(1, 100)))
        columns = rng.integers(0, 150, 7) if trial % 3 == 0 else None
        limit = int(rng.integers(1, 150)) if trial % 4 == 0 else None
        found = distances(graph, sources, targets=columns, limit=limit, method=f"{method}@cuda")
        wanted = truth[sources]
        if limit is not None:
            wanted = np.where(wanted > limit, unreached_value(wanted.dtype), wanted)
        np.testing.assert_array_equal(found, wanted if columns is None else wanted[:, columns])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("degree", [4, 24, 60])
def test_all_warps_share_the_rows_of_hubs(dtype, degree):
    """Ten rows of 9,000 edges, for numbers of sources that fill the lanes of a warp or not."""
    rng = np.random.default_rng(degree)
    n, m = 10_000, 10_000 * degree
    ends = rng.integers(0, n, (2, m))
    sources = np.r_[ends[0], np.repeat(np.arange(10), 9000)]
    targets = np.r_[ends[1], rng.integers(0, n, 90_000)]
    weights = rng.integers(0, 60, len(sources)).astype(dtype)
    graph = Graph.from_edges(sources, targets, weights, n_vertices=n)
    for count in (1, 2, 5, 8, 16, 20, 32, 40):
        chosen = rng.integers(0, n, count)
        truth = distances(graph, chosen, method="worker_per_source", device="cpu")
        for _ in range(5):
            found = distances(graph, chosen, method="lanes@cuda")
            np.testing.assert_array_equal(found, truth)


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("threads", [128, 256, 512, 1024])
@pytest.mark.parametrize("lists", [False, True])
def test_every_shape_of_block(bits, threads, lists):
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 900, 5000, np.int32)
    shape = {"slot_bits": bits, "block_threads": threads, "lists": lists}
    found = all_pairs(graph, method="block_per_source@cuda", **shape)
    np.testing.assert_array_equal(found, all_pairs(graph, method="lanes@cpu"))
    graph = generate("kronecker", scale=12)
    sources = rng.integers(0, graph.n_vertices, 60)
    truth = distances(graph, sources, method="worker_per_source", device="cpu")
    found = distances(graph, sources, method="block_per_source@cuda", **shape)
    np.testing.assert_array_equal(found, truth)


def test_sixteen_bits_that_do_not_fit_are_repeated():
    n = 3000
    path = Graph.from_edges(range(n - 1), range(1, n), np.full(n - 1, 100, dtype=np.int32))
    stats = {}
    found = all_pairs(path, method="block_per_source@cuda", slot_bits=16, stats=stats)
    assert stats["repeated_rows"] > 0
    np.testing.assert_array_equal(found[0], 100 * np.arange(n))


@pytest.mark.parametrize("form", ["persistent", "queue", "edge_classes", "warps", "child_launches"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bellman_ford_forms(form, dtype):
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 3000, 20000, dtype, negative=True)
    truth = nearfar.sssp(graph, 0, method="goldberg_radzik@cpu").distances
    for _ in range(20):
        found = nearfar.sssp(graph, 0, method=f"bellman_ford_{form}@cuda").distances
        np.testing.assert_array_equal(found, truth)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_around_cycles_of_weight_zero_changes_no_bit(dtype):
    rng = np.random.default_rng(7)
    answered = 0
    for _ in range(60):
        graph = level_graph(rng, dtype)
        if nearfar.find_negative_cycle(graph) is not None:
            continue
        answered += 1
        truth = nearfar.sssp(graph, 0, method="tarjan_subtree@cpu").distances
        for method in ("bellman_ford_persistent", "bellman_ford_queue", "johnson"):
            for _ in range(3):
                found = nearfar.distances(graph, [0], method=method, device="cuda")[0]
                np.testing.assert_array_equal(found, truth, method)
    assert answered > 5


@pytest.mark.parametrize("form", ["persistent", "queue", "edge_classes", "warps", "child_launches"])
def test_negative_cycles_are_found(form):
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 500, 2500, np.int32)
    weights = graph.weights.copy()
    weights[:40] = -200
    bad = Graph.from_csr(graph.indptr, graph.indices, weights)
    with pytest.raises(NegativeCycleError) as caught:
        nearfar.sssp(bad, int(np.argmax(graph.degrees)), method=f"bellman_ford_{form}@cuda")
    assert caught.value.total < 0


@pytest.mark.parametrize(
    "method", ["johnson", "johnson_flag", "johnson_queue", "johnson_prefix", "floyd_warshall"]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_pairs_with_negative_weights(method, dtype):
    rng = np.random.default_rng(6)
    n = 60 if method.startswith("johnson_") else 300  # these launch kernels per source and round
    graph = random_graph(rng, n, 6 * n, dtype, negative=True)
    truth = rows_of(graph)
    np.testing.assert_array_equal(all_pairs(graph, method=f"{method}@cuda"), truth)


@pytest.mark.parametrize("n", [127, 128, 129, 1000])
def test_floyd_warshall_sizes(n):
    rng = np.random.default_rng(n)
    graph = random_graph(rng, n, 20 * n, np.int32)
    found = all_pairs(graph, method="floyd_warshall@cuda")
    np.testing.assert_array_equal(found, all_pairs(graph, method="lanes@cpu"))


@pytest.mark.parametrize("child_edges", [1, 9])
def test_child_launches_in_rounds_wider_than_the_device_runtime_holds(child_edges):
    """10,000 active vertices in one round, but at most 2,048 pending launches."""
    n = 10_000
    heads = np.arange(1, n)
    weights = np.random.default_rng(3).integers(-5, 90, (8, n - 1)).astype(np.int32)
    tails = np.concatenate([np.zeros(n - 1, int), np.repeat(heads, 7)])
    nexts = np.concatenate([heads, np.repeat(heads, 7) + n])
    graph = Graph.from_edges(tails, nexts, weights.reshape(-1), n_vertices=2 * n)
    found = nearfar.sssp(
        graph, 0, method="bellman_ford_child_launches@cuda", child_edges=child_edges
    )
    truth = nearfar.sssp(graph, 0, method="bellman_ford_queue@cpu").distances
    np.testing.assert_array_equal(found.distances, truth)
    assert found.stats["child_launches"] == (n if child_edges == 1 else 1)


@pytest.mark.parametrize("method", BATCH)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_reductions_stay_on_the_device(method, dtype, monkeypatch):
    """Device arrays as input and output; reductions with the bits of the host."""
    from nearfar.system.devices import runtime

    rng = np.random.default_rng(6)
    graph = random_graph(rng, 700, 3000, dtype)
    truth = rows_of(graph)
    kinds = ["count", "sum", "mean", "max", "summary", "harmonic", "nearest:5"]
    kinds.append(("histogram", [0, 9.5, 40]))
    for reduce in kinds:
        found = all_pairs(graph, reduce=reduce, method=f"{method}@cuda", block=300)
        np.testing.assert_array_equal(found, all_pairs(graph, reduce=reduce, device="cpu"))
    cp = runtime.cupy()
    there = Graph.from_csr(
        cp.asarray(graph.indptr), cp.asarray(graph.indices), cp.asarray(graph.weights)
    )
    download = runtime.download
    monkeypatch.setattr(runtime, "download", lambda _: pytest.fail("copied to the host"))
    found = all_pairs(there, method=f"{method}@cuda")
    out = cp.empty((700, 700), dtype=dtype)
    assert all_pairs(graph, out=out, method=f"{method}@cuda") is out
    fetched = []
    monkeypatch.setattr(runtime, "download", lambda a: fetched.append(a.nbytes) or download(a))
    counts = all_pairs(there, reduce="count", method=f"{method}@cuda")
    assert max(fetched, default=0) <= 700 * 32, "a few numbers per row"
    assert isinstance(found, cp.ndarray)
    assert isinstance(counts, cp.ndarray)
    np.testing.assert_array_equal(download(found), truth)
    np.testing.assert_array_equal(download(out), truth)


@pytest.mark.parametrize("method", BATCH[:2])
def test_rows_follow_to_the_host(method):
    """Rows are copied while others are solved, also after repeats in more bits."""
    plain = generate("kronecker", scale=13)
    for heavier in (1, 300):
        graph = Graph(plain.indptr, plain.indices, plain.weights * heavier, directed=False)
        n = graph.n_vertices
        out = np.empty((n, n), dtype=np.int32)
        assert out.nbytes >= landing.LARGE
        there = runtime.cupy().empty((n, n), dtype=np.int32)
        all_pairs(graph, method=f"{method}@cuda", out=there)
        truth = runtime.download(there)
        np.testing.assert_array_equal(truth[:4], distances(graph, range(4), device="cpu"))
        for turn in range(6):
            fresh = Graph(graph.indptr, graph.indices, graph.weights, directed=False)
            out.fill(-1)
            all_pairs(fresh if turn % 2 else graph, method=f"{method}@cuda", out=out, threads=4)
            np.testing.assert_array_equal(out, truth)


@pytest.mark.parametrize("n", [127, 129, 700])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("negative", [False, True])
def test_predecessors_of_floyd_warshall(n, dtype, negative):
    """Product, levels of edges that add nothing, breadth-first trees: the host's, in each run."""
    rng = np.random.default_rng(n)
    graphs = [random_graph(rng, n, 9 * n, dtype, negative=negative)]
    if not negative:
        graphs.append(zeros_and_parallels(rng, n, 4 * n, dtype))
    for graph in graphs:
        truth, trees = all_pairs(
            graph, predecessors=True, method="floyd_warshall", device="cpu", threads=8
        )
        for _ in range(3):
            found, before = all_pairs(graph, predecessors=True, method="floyd_warshall@cuda")
            np.testing.assert_array_equal(found, truth)
            np.testing.assert_array_equal(before, trees)


@pytest.mark.parametrize("method", BATCH)
@pytest.mark.parametrize("dtype", DTYPES)
def test_predecessors_of_many_rows(method, dtype, monkeypatch):
    """From a graph on the host, and from one on the device without a copy to the host."""
    from nearfar.system.devices import runtime

    rng = np.random.default_rng(12)
    graph = zeros_and_parallels(rng, 3000, 9000, dtype)
    sources = rng.integers(0, 3000, 200)
    truth, trees = distances(graph, sources, predecessors=True, method="worker_per_source@cpu")
    call = {"predecessors": True, "method": f"{method}@cuda"}
    for _ in range(3):
        found, before = distances(graph, sources, **call)
        np.testing.assert_array_equal(found, truth)
        np.testing.assert_array_equal(before, trees)
    cp = runtime.cupy()
    there = Graph.from_csr(
        cp.asarray(graph.indptr), cp.asarray(graph.indices), cp.asarray(graph.weights)
    )
    download = runtime.download
    monkeypatch.setattr(runtime, "download", lambda _: pytest.fail("copied to the host"))
    found, before = distances(there, sources, **call)
    assert isinstance(before, cp.ndarray)
    np.testing.assert_array_equal(download(found), truth)
    np.testing.assert_array_equal(download(before), trees)


@pytest.mark.parametrize("method", BATCH)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_devices_give_the_same_rows(method, dtype):
    """On one device or all: into host memory, into device memory, and reduced."""
    from nearfar.system.devices import runtime

    rng = np.random.default_rng(8)
    graph = random_graph(rng, 2500, 20_000, dtype)
    truth = all_pairs(graph, device="cpu")
    call = {"method": f"{method}@cuda", "devices": "all"}
    out = runtime.cupy().empty(truth.shape, dtype)
    wanted = all_pairs(graph, reduce="summary", device="cpu")
    for block in (None, 100, None):
        np.testing.assert_array_equal(all_pairs(graph, block=block, **call), truth)
        out.fill(0)
        all_pairs(graph, block=block, out=out, **call)
        np.testing.assert_array_equal(out.get(), truth)
        for part, right in zip(
            all_pairs(graph, reduce="summary", block=block, **call), wanted, strict=True
        ):
            np.testing.assert_array_equal(part, right)
    cp = runtime.cupy()
    arrays = (graph.indptr, graph.indices, graph.weights)
    there = Graph.from_csr(*(cp.asarray(array) for array in arrays))
    np.testing.assert_array_equal(all_pairs(there, **call).get(), truth)
