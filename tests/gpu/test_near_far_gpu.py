"""Near-far family on a GPU: traversals, difficult graphs, memory, Ctrl-C, device arrays."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, OutOfMemoryError
from nearfar.cuda.device_graph import device_graph
from nearfar.generators import generate
from nearfar.papers.davidson_2014.near_far import driver
from nearfar.papers.davidson_2014.near_far.options import DUPLICATES, TRAVERSALS
from nearfar.system.devices import runtime
from tests import oracle
from tests.algorithms.test_near_far import CUDA, skewed
from tests.zoo import DTYPES, as_dtype

_large: dict[str, tuple[Graph, np.ndarray]] = {}


def large(dtype: str) -> tuple[Graph, np.ndarray]:
    """Return a Kronecker graph that fills the GPU, and its distances by a CPU method."""
    if dtype not in _large:
        graph = as_dtype(generate("kronecker", scale=14), dtype)
        source = int(np.argmax(graph.degrees))
        graph.attributes["source"] = source
        _large[dtype] = graph, nearfar.sssp(graph, source, device="cpu").distances
    return _large[dtype]


@pytest.mark.parametrize("traversal", TRAVERSALS)
@pytest.mark.parametrize("method", CUDA)
def test_every_traversal_and_dtype(method: str, traversal: str) -> None:
    for dtype in DTYPES:
        graph, want = large(dtype)
        for duplicates in DUPLICATES:
            paths = nearfar.sssp(
                graph,
                graph.attributes["source"],
                method=f"{method}@cuda",
                traversal=traversal,
                duplicates=duplicates,
            )
            np.testing.assert_array_equal(paths.distances, want)


@pytest.mark.parametrize("traversal", TRAVERSALS)
@pytest.mark.parametrize("method", CUDA)
def test_64_bit_kernels(method: str, traversal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "device_graph", lambda graph: device_graph(graph, wide=True))
    for dtype in ("int32", "float64"):
        graph, want = large(dtype)
        source = graph.attributes["source"]
        paths = nearfar.sssp(graph, source, method=f"{method}@cuda", traversal=traversal)
        np.testing.assert_array_equal(paths.distances, want)


@pytest.mark.parametrize("traversal", TRAVERSALS)
@pytest.mark.parametrize("method", CUDA)
def test_many_splits(method: str, traversal: str) -> None:
    """A small delta: dozens of splits, stale entries in the far pile, the hybrid's switches."""
    graph = skewed(200_000)
    want = nearfar.sssp(graph, 0, device="cpu").distances
    options = {} if method == "workfront_sweep" else {"delta": 3}
    for _ in range(5):
        paths = nearfar.sssp(graph, 0, method=f"{method}@cuda", traversal=traversal, **options)
        np.testing.assert_array_equal(paths.distances, want)
        if options and method != "hybrid_sweep":
            assert paths.stats["splits"] > 3


@pytest.mark.parametrize("method", [*CUDA, "bellman_ford"])
def test_vertex_with_a_million_edges(method: str) -> None:
    rng = np.random.default_rng(2)
    n = 50_000
    hub = np.full(1_000_000, 17)
    sources = np.concatenate([hub, rng.integers(0, n, 200_000), [0]])
    targets = np.concatenate([rng.integers(0, n, 1_200_000), [17]])
    weights = rng.integers(0, 1000, len(sources)).astype(np.int32)
    graph = Graph.from_edges(sources, targets, weights, n_vertices=n)
    want = nearfar.sssp(graph, 0, device="cpu").distances
    paths = nearfar.sssp(graph, 0, method=f"{method}@cuda")
    np.testing.assert_array_equal(paths.distances, want)


@pytest.mark.parametrize("method", [*CUDA, "bellman_ford"])
def test_long_path(method: str) -> None:
    n = 100_000 if method not in ("bucketing", "bellman_ford") else 5_000
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1, np.int32))
    paths = nearfar.sssp(graph, 0, method=f"{method}@cuda")
    np.testing.assert_array_equal(paths.distances, np.arange(n))


@pytest.mark.parametrize("method", CUDA)
def test_zero_weight_cycles_everywhere(method: str) -> None:
    graph, _ = large("int32")
    zero = Graph.from_csr(graph.indptr, graph.indices, np.zeros(graph.n_edges, np.float32))
    source = graph.attributes["source"]
    paths = nearfar.sssp(zero, source, method=f"{method}@cuda", predecessors=True)
    nearfar.verify(zero, paths)


@pytest.mark.parametrize("method", CUDA)
def test_records(method: str) -> None:
    graph, want = large("int32")
    paths = nearfar.sssp(graph, graph.attributes["source"], method=f"{method}@cuda", trace=True)
    stats = paths.stats
    np.testing.assert_array_equal(paths.distances, want)
    assert len(stats["frontier"]) == stats["iterations"]
    assert stats["edges"].sum() == stats["edges_relaxed"] >= graph.n_edges // 2
    assert stats["frontier"].sum() == stats["vertices_processed"]
    assert stats["labelled"].sum() == paths.n_reached - 1
    assert stats["final"].sum() == paths.n_reached
    assert (stats["seconds"] >= 0).all()


@pytest.mark.parametrize("method", [*CUDA, "bellman_ford"])
def test_out_of_memory_before_the_allocation(
    method: str, pool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = skewed(3000)
    device_graph(graph)
    used = pool.used_bytes()
    monkeypatch.setattr(runtime, "memory", lambda: (1000, 10**9))
    with pytest.raises(OutOfMemoryError, match="needed") as caught:
        nearfar.sssp(graph, 0, method=f"{method}@cuda")
    assert caught.value.needed > 1000
    assert pool.used_bytes() <= used  # less if Python collected memory of earlier tests


INTERRUPTED = """
import os, signal, threading
import numpy as np
import nearfar
from tests import oracle
from tests.algorithms.test_near_far import skewed

n = 400_000
graph = nearfar.Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1, np.int32))
method = "near_far_host_loop@cuda"
nearfar.sssp(graph, n - 10, method=method)  # compiled and uploaded
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    for _ in range(50):
        nearfar.sssp(graph, 0, method=method)
except KeyboardInterrupt:
    small = skewed(1000)
    distances = nearfar.sssp(small, 0, method=method).distances
    np.testing.assert_array_equal(distances, oracle.dijkstra(small, 0))
    print("interrupted and usable")
"""


def test_interrupt_leaves_the_device_usable() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.strip() == "interrupted and usable", done.stderr[-1500:]


def test_uploaded_once() -> None:
    graph = skewed(1000)
    assert device_graph(graph) is device_graph(graph)


def test_device_arrays_in_and_out() -> None:
    cp = runtime.cupy()
    graph = skewed(1000)
    arrays = [cp.asarray(a) for a in (graph.indptr, graph.indices, graph.weights)]
    on_device = Graph.from_csr(*arrays)
    paths = nearfar.sssp(on_device, 0, method="near_far_host_loop@cuda")
    assert isinstance(paths.distances, cp.ndarray)
    np.testing.assert_array_equal(cp.asnumpy(paths.distances), oracle.dijkstra(graph, 0))


def test_dlpack_tensors_in() -> None:
    torch = pytest.importorskip("torch")
    graph = skewed(1000)
    arrays = [torch.asarray(a.copy()).cuda() for a in (graph.indptr, graph.indices, graph.weights)]
    paths = nearfar.sssp(Graph.from_csr(*arrays), 0, method="near_far_host_loop@cuda")
    assert isinstance(paths.distances, runtime.cupy().ndarray)
    host = runtime.download(paths.distances)
    np.testing.assert_array_equal(host, oracle.dijkstra(graph, 0))
