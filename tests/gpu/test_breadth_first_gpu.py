"""Breadth-first search on a GPU: hubs, stars, paths, isolated vertices; memory; Ctrl-C."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import nearfar
from nearfar import Graph, OutOfMemoryError
from nearfar.algorithms.breadth_first import balls, cuda, reverse
from nearfar.cuda.device_graph import device_graph
from nearfar.generators import generate
from nearfar.system.devices import runtime

METHOD = "breadth_first@cuda"
FORMS = {
    "default": {},
    "thin": {"thin_limit": 20_000, "balls": True},
    "push": {"thin_limit": 0, "alpha": 0},
    "pull": {"thin_limit": 0, "alpha": 1e9, "beta": 1e9},
    "switch": {"thin_limit": 0},
}


def hubs() -> Graph:
    """Return rows of a million edges, empty rows, and a tail of short ones."""
    rng = np.random.default_rng(2)
    n = 300_000
    sources = np.concatenate([np.full(500_000, 17), rng.integers(0, n // 2, 400_000), [0]])
    targets = np.concatenate([rng.integers(0, n // 2, 900_000), [17]])
    return Graph.from_edges(sources, targets, n_vertices=n, directed=False)


def items() -> Graph:
    """Return people and items of which a few have most edges: rows that are pulled in vain."""
    rng = np.random.default_rng(5)
    popular = np.minimum(rng.zipf(1.3, 400_000) - 1, 4_999)
    return Graph.from_edges(
        rng.integers(0, 45_000, 400_000), 45_000 + popular, n_vertices=50_000, directed=False
    )


GRAPHS = {
    "items": items,
    "star": lambda: Graph.from_edges(np.zeros(200_000, int), np.arange(1, 200_001), directed=False),
    "path": lambda: Graph.from_edges(np.arange(5000), np.arange(1, 5001), directed=False),
    "hubs": hubs,
    "kronecker": lambda: generate("kronecker", scale=14).without_weights(),
    "grid": lambda: generate("grid", rows=300, columns=300).without_weights(),
    "directed": lambda: generate("uniform_random", vertices=30_000, degree=8).without_weights(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", GRAPHS)
def test_200_times(name: str, form: str) -> None:
    graph = GRAPHS[name]()
    source = 3 if name == "star" else int(np.argmax(graph.degrees))
    want = nearfar.sssp(graph, source, method="breadth_first@cpu")
    nearfar.verify(graph, want)
    options = {**FORMS[form]}
    if form == "pull":
        options["transpose"] = True
    wrong = 0
    for _ in range(200 if name != "path" else 20):
        found = nearfar.sssp(graph, source, method=METHOD, **options)
        wrong += not np.array_equal(found.distances, want.distances)
    assert wrong == 0


@pytest.mark.parametrize("width", [32, 64, 128])
def test_running_ahead_by_balls_of_any_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid, roads with shortcuts, and a tangle of short and long rows, 100 times each."""
    monkeypatch.setattr(cuda, "BALL_WIDTH", width)
    monkeypatch.setattr(balls, "BALL_WIDTH", width)
    monkeypatch.setattr(balls, "_FEWEST_HOPS", 1)
    rng = np.random.default_rng(5)
    n = 50_000
    near = rng.integers(0, n - 40, 3 * n // 2)
    tangle = Graph.from_edges(
        np.concatenate([np.arange(n - 1), near, np.full(1000, n // 2)]),
        np.concatenate(
            [np.arange(1, n), near + rng.integers(2, 40, near.size), n + np.arange(1000)]
        ),
        directed=False,
    )
    roads = generate("road_like", vertices=50_000).without_weights()
    for graph in (GRAPHS["grid"](), roads, tangle):
        want = nearfar.sssp(graph, 11, method="breadth_first@cpu").distances
        for _ in range(100):
            found = nearfar.sssp(graph, 11, method=METHOD, balls=True)
            np.testing.assert_array_equal(found.distances, want)
            assert found.stats["ahead_steps"] > 0


@pytest.mark.parametrize("wide", [False, True])
def test_edges_by_target_20_times(wide: bool) -> None:
    graph = Graph.from_csr(hubs().indptr, hubs().indices)
    pairs = np.sort(graph.indices.astype(np.int64) * graph.n_vertices + graph.tails(np.int64))
    for _ in range(20):
        made = reverse.reverse_of(graph, device_graph(graph, wide=wide), make=True)
        assert made is not None
        offsets = made.device.offsets.get()
        rows = made.device.edges.get().view(made.device.vertex_dtype)
        targets = np.repeat(np.arange(graph.n_vertices), np.diff(offsets))
        np.testing.assert_array_equal(np.sort(targets * graph.n_vertices + rows), pairs)
        reverse._REVERSE.drop(graph)


@pytest.mark.parametrize("form", FORMS)
def test_64_bit_kernels(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "device_graph", lambda graph: device_graph(graph, wide=True))
    for name in ("kronecker", "grid"):
        graph = GRAPHS[name]()
        want = nearfar.sssp(graph, 5, method="breadth_first@cpu").distances
        found = nearfar.sssp(graph, 5, method=METHOD, **FORMS[form]).distances
        np.testing.assert_array_equal(found, want)


def test_a_device_that_is_full_is_refused_and_usable_afterwards() -> None:
    cp = runtime.cupy()
    graph = generate("kronecker", scale=16)
    # A limit of this process's pool only, since tests running at the same time need the rest.
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes() + (1 << 20))
    try:
        for method, solved in (("near_far@cuda", graph), (METHOD, graph.without_weights())):
            with pytest.raises(OutOfMemoryError, match="needed"):
                nearfar.sssp(solved, 1, method=method)
    finally:
        pool.set_limit(size=0)
    for method, solved in (("near_far@cuda", graph), (METHOD, graph.without_weights())):
        found = nearfar.sssp(solved, 1, method=method).distances
        np.testing.assert_array_equal(found, nearfar.sssp(solved, 1, device="cpu").distances)


@pytest.mark.parametrize("method", ["near_far@cuda", METHOD])
def test_device_arrays_in_and_out(method: str) -> None:
    cp = runtime.cupy()
    graph = GRAPHS["kronecker"]()
    on_device = Graph.from_csr(cp.asarray(graph.indptr), cp.asarray(graph.indices))
    paths = nearfar.sssp(on_device, 1, method=method)
    assert isinstance(paths.distances, cp.ndarray)
    want = nearfar.sssp(graph, 1, device="cpu").distances
    np.testing.assert_array_equal(cp.asnumpy(paths.distances), want)


INTERRUPTED = """
import os, signal, threading
import numpy as np
import nearfar
from nearfar.generators import generate

graph = generate("grid", rows=1000, columns=1000).without_weights()
want = nearfar.sssp(graph, 7, method="breadth_first@cpu").distances
nearfar.sssp(graph, 7, method="breadth_first@cuda")
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    for _ in range(100_000):
        nearfar.sssp(graph, 7, method="breadth_first@cuda")
except KeyboardInterrupt:
    for _ in range(3):
        found = nearfar.sssp(graph, 7, method="breadth_first@cuda").distances
        np.testing.assert_array_equal(found, want)
    print("interrupted and usable")
"""


def test_interrupt_leaves_the_device_usable() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.strip() == "interrupted and usable", done.stderr[-1500:]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", ["hubs", "grid", "directed"])
def test_equal_weights(name: str, dtype: str) -> None:
    made = GRAPHS[name]()
    weights = np.full(made.n_edges, 7 if "int" in dtype else 0.1, dtype)
    graph = Graph(made.indptr, made.indices, weights, directed=made.directed)
    source = int(np.argmax(graph.degrees))
    want = nearfar.sssp(graph, source, device="cpu", method="delta_stepping")
    nearfar.verify(graph, want)
    for _ in range(12):
        found = nearfar.sssp(graph, source, method=METHOD)
        assert np.array_equal(found.distances, want.distances)
    some = want.distances[want.reachable]
    limit = float(np.sort(some)[len(some) // 2])
    near = nearfar.sssp(graph, source, method=METHOD, limit=limit)
    assert near.n_reached == np.count_nonzero(some <= limit)
