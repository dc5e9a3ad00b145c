"""Dijkstra on the CPU: every queue against a model, and difficult graphs against an oracle."""

from __future__ import annotations

import ctypes
import heapq
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar import Graph, _cpu

HEAPS = [
    "binary_heap",
    "dary_heap_2",
    "dary_heap_4",
    "dary_heap_8",
    "fibonacci_heap",
    "pairing_heap",
    "radix_heap",
    "relaxed_heap",
]
METHODS = [
    "dijkstra_array",
    "dijkstra_binary_heap",
    "dijkstra_dary_heap",
    "dijkstra_fibonacci_heap",
    "dijkstra_pairing_heap",
    "dijkstra_radix_heap",
    "dijkstra_relaxed_heap",
]


Trace = Callable[[str, int, np.ndarray], list[tuple[int, int]]]


@pytest.fixture(scope="module")
def heap_trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Return the pops of a heap, pairs of vertex and key, by ``heap_trace.cpp``."""
    here = Path(__file__).resolve()
    source = here.parents[2] / "src" / "nearfar"
    library = tmp_path_factory.mktemp("heaps") / "heap_trace.so"
    units = [here.with_name("heap_trace.cpp"), source / "cpu" / "memory" / "buffer.cpp"]
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{source}", "-o", library, *units]
    subprocess.run(command, check=True)
    play = ctypes.CDLL(str(library)).heap_trace
    play.restype = ctypes.c_int64
    array = np.ctypeslib.ndpointer(np.int64, flags="C")
    play.argtypes = [ctypes.c_char_p, ctypes.c_int32, array, ctypes.c_size_t, array]

    def trace(heap: str, n: int, operations: np.ndarray) -> list[tuple[int, int]]:
        popped = np.zeros((n, 2), dtype=np.int64)
        count = play(heap.encode(), n, operations, len(operations), popped)
        assert count >= 0
        return [(int(v), int(key)) for v, key in popped[:count]]

    return trace


def slow_distances(graph: Graph, source: int) -> np.ndarray:
    """Return distances by the textbook in pure Python; an overflowing sum counts as unreached."""
    dtype = graph.weight_dtype
    far = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    weights = graph.effective_weights
    found = [far] * graph.n_vertices
    found[source] = dtype.type(0) if dtype.kind == "f" else 0
    queue = [(found[source], source)]
    while queue:
        d, v = heapq.heappop(queue)
        if d > found[v]:
            continue
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            w = weights[e] if dtype.kind == "f" else int(weights[e])
            t = int(graph.indices[e])
            if d + w < found[t]:
                found[t] = d + w
                heapq.heappush(queue, (found[t], t))
    return np.array(found, dtype=dtype)


@st.composite
def heap_scripts(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[tuple[int, int]]]:
    """Draw operations as Dijkstra makes them (keys never below the last pop), and the pops."""
    n = draw(st.integers(1, 60))
    steps = draw(st.lists(st.tuples(st.integers(-n // 2, n - 1), st.integers(0, 50)), max_size=200))
    key: dict[int, int] = {}
    gone: set[int] = set()
    last = 0
    operations, due = [], []
    for v, more in steps:
        if v < 0:
            # A heap may pop any of several equal keys: the model pops only
            # when there is no choice; and never from an empty heap, as Dijkstra's method.
            at = [u for u in key if key[u] == min(key.values())]
            if len(at) == 1:
                last = key.pop(at[0])
                gone.add(at[0])
                due.append(last)
                operations.append((-1, 0))
        elif v not in gone and last + more < key.get(v, 10**9):
            key[v] = last + more
            operations.append((v, last + more))
    due.extend(sorted(key.values()))
    return n, operations, due


@given(script=heap_scripts())
def test_every_heap_behaves_like_the_model(heap_trace: Trace, script: tuple) -> None:
    n, operations, due = script
    rows = np.array(operations, dtype=np.int64).reshape(-1, 2)
    for heap in HEAPS:
        popped = heap_trace(heap, n, rows)
        assert [key for _, key in popped] == due, heap
        assert len({v for v, _ in popped}) == len(popped), heap


@pytest.mark.parametrize("heap", HEAPS)
def test_heap_under_long_random_use(heap_trace: Trace, heap: str) -> None:
    rng = np.random.default_rng(7)
    n = 3000
    key: dict[int, int] = {}
    fresh = list(rng.permutation(n))
    operations: list[tuple[int, int]] = []
    used: set[int] = set()
    last = 0
    due = []
    for step in range(20_000):
        what = rng.random()
        if what < 0.35 and fresh:
            v = int(fresh.pop())
            # Distinct keys, so that the model knows which vertex is popped.
            key[v] = last + int(rng.integers(1, 10_000)) * 40_000 + step
        elif what < 0.8 and key:
            v = int(list(key)[int(rng.integers(len(key)))])
            lower = last + (key[v] - last) // 2
            if lower <= last or lower in used or lower >= key[v]:
                continue
            key[v] = lower
        elif key:
            v = min(key, key=key.__getitem__)
            last = key.pop(v)
            due.append((v, last))
            operations.append((-1, 0))
            continue
        else:
            continue
        if key[v] in used:
            del key[v]
            continue
        used.add(key[v])
        operations.append((v, key[v]))
    due.extend(sorted(key.items(), key=lambda item: item[1]))
    assert heap_trace(heap, n, np.array(operations, dtype=np.int64)) == due


def hostile() -> dict[str, Graph]:
    rng = np.random.default_rng(3)
    n = 300
    s, t = rng.integers(0, n, 2400), rng.integers(0, n, 2400)
    top = np.iinfo(np.int32).max
    return {
        "one vertex": Graph.from_edges([], [], n_vertices=1),
        "no edges": Graph.from_edges([], [], np.zeros(0), n_vertices=5),
        "self-loops": Graph.from_edges([0, 0, 1, 1], [0, 1, 1, 2], [0, 3, 0, 4]),
        "parallel": Graph.from_edges([0, 0, 0, 1], [1, 1, 1, 2], [9, 2, 5, 1]),
        "zero cycle": Graph.from_edges([0, 1, 2, 3, 2], [1, 2, 3, 1, 4], [5, 0, 0, 0, 0]),
        "all zero": Graph.from_edges(s, t, np.zeros(2400, np.int32), n_vertices=n),
        "star": Graph.from_edges(np.zeros(n - 1, int), np.arange(1, n), np.arange(1, n)),
        "small weights": Graph.from_edges(s, t, rng.integers(0, 4, 2400), n_vertices=n),
        "wide weights": Graph.from_edges(
            s, t, rng.integers(0, 2**20, 2400).astype(np.int32), n_vertices=n
        ),
        "denormals": Graph.from_edges(s, t, rng.random(2400) * 1e-310, n_vertices=n),
        "float32": Graph.from_edges(s, t, rng.random(2400).astype(np.float32), n_vertices=n),
        "huge floats": Graph.from_edges(s, t, rng.random(2400) * 1e300, n_vertices=n),
        "near the top": Graph.from_edges(
            [0, 1, 0], [1, 2, 2], np.array([top - 2, 1, top - 1], np.int32)
        ),
        "wide int64": Graph.from_edges(
            [0, 1, 0], [1, 2, 2], np.array([2**53 + 1, 2, 2**54], np.int64)
        ),
        "unweighted": Graph.from_edges(s, t, n_vertices=n),
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", list(hostile()))
def test_hostile_graphs(method: str, name: str) -> None:
    graph = hostile()[name]
    paths = nearfar.sssp(graph, 0, method=method)
    assert np.array_equal(paths.distances, slow_distances(graph, 0))
    assert paths.distances.dtype == graph.weight_dtype


@pytest.mark.parametrize("method", METHODS)
def test_saturation_is_repeated_in_64_bits(method: str) -> None:
    top = np.iinfo(np.int32).max
    graph = Graph.from_edges([0, 1], [1, 2], np.array([top - 5, top - 5], np.int32))
    paths = nearfar.sssp(graph, 0, method=method)
    assert paths.distances.tolist() == [0, top - 5, 2 * (top - 5)]


@pytest.mark.parametrize("method", [m for m in METHODS if m != "dijkstra_array"])
def test_path_through_all_vertices(method: str) -> None:
    n = 100_000
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 2, np.int32))
    assert np.array_equal(nearfar.sssp(graph, 0, method=method).distances, 2 * np.arange(n))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [0, 1, 700, 2.5])
def test_limit_is_inclusive(method: str, limit: float) -> None:
    graph = hostile()["small weights"]
    whole = slow_distances(graph, 0)
    got = nearfar.sssp(graph, 0, method=method, limit=limit).distances
    assert np.array_equal(got, np.where(whole <= limit, whole, np.iinfo(got.dtype).max))


@pytest.mark.parametrize("method", METHODS)
def test_targets_end_the_run_early_and_rightly(method: str) -> None:
    n = 2000
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1))
    paths = nearfar.sssp(graph, 0, method=method, targets=[10, 7, 7])
    assert paths.distances[:11].tolist() == list(range(11))
    assert np.isinf(paths.distances[11:]).all()
    assert paths.stats["vertices_processed"] < 20


@pytest.mark.parametrize("method", METHODS)
def test_targets_keep_zero_weight_ties(method: str) -> None:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], [1, 0, 0, 1])
    paths = nearfar.sssp(graph, 0, method=method, targets=[1])
    assert paths.distances.tolist() == [0, 1, 1, 1, np.iinfo(paths.distances.dtype).max]


@pytest.mark.parametrize("arity", [2, 4, 8])
def test_arity(arity: int) -> None:
    graph = hostile()["wide weights"]
    paths = nearfar.sssp(graph, 0, method="dijkstra_dary_heap", arity=arity)
    assert np.array_equal(paths.distances, slow_distances(graph, 0))


def test_arity_that_does_not_exist() -> None:
    with pytest.raises(nearfar.NearfarError, match="arity is 3"):
        nearfar.sssp(hostile()["star"], 0, method="dijkstra_dary_heap", arity=3)


def test_wide_indices() -> None:
    graph = hostile()["wide weights"]
    indptr, indices = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    view = _cpu.GraphView(indptr, indices, graph.weights)
    expected = slow_distances(graph, 0)
    for heap in HEAPS:
        distances = np.empty(graph.n_vertices, np.int32)
        getattr(_cpu, f"dijkstra_{heap}")(view, 0, distances)
        assert np.array_equal(distances, expected), heap


def test_too_many_vertices_for_the_cpu_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    untouched = np.zeros(2**31 + 1, dtype=np.int64)  # takes no memory
    small = hostile()["star"].without_weights()
    with pytest.raises(ValueError, match="fewer than 2\\^31 vertices"):
        _cpu.GraphView(untouched, np.empty(0, np.int64), np.empty(0, np.int32))
    monkeypatch.setattr(type(small), "indptr", property(lambda self: untouched))
    monkeypatch.setattr(type(small), "indices", property(lambda self: np.empty(0, np.int64)))
    monkeypatch.setattr(
        type(small), "effective_weights", property(lambda self: np.empty(0, np.int32))
    )
    with pytest.raises(nearfar.GraphError, match="use a GPU"):
        _ = small.view


def test_bad_calls_are_refused_not_run() -> None:
    graph = hostile()["star"]
    good = np.empty(graph.n_vertices, graph.weight_dtype)
    with pytest.raises(IndexError, match="source"):
        _cpu.dijkstra_binary_heap(graph.view, graph.n_vertices, good)
    with pytest.raises(TypeError, match="distances"):
        _cpu.dijkstra_binary_heap(graph.view, 0, np.empty(3, graph.weight_dtype))
    with pytest.raises(IndexError, match="target"):
        _cpu.dijkstra_binary_heap(graph.view, 0, good, None, np.array([-1]))
