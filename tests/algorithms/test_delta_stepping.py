"""Delta-stepping on the CPU: any delta gives the same answer, and delta adapts."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar import Graph, _cpu
from nearfar.algorithms.delta_stepping.cpu import _WIDTHS
from nearfar.algorithms.delta_stepping.widths import ADAPTED, Way, Widths

METHODS = ["delta_stepping", "delta_stepping_parallel"]


def grid(side: int, seed: int = 0, top: int = 1000) -> Graph:
    rng = np.random.default_rng(seed)
    at = np.arange(side * side).reshape(side, side)
    s = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    t = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    return Graph.from_edges(
        s,
        t,
        rng.integers(1, top + 1, len(s)).astype(np.int32),
        n_vertices=side * side,
        directed=False,
    )


def oracle(graph: Graph, source: int = 0) -> np.ndarray:
    return nearfar.sssp(graph, source, method="dijkstra_binary_heap").distances


@st.composite
def weighted_graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(1, 40))
    m = draw(st.integers(0, 160))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = np.dtype(draw(st.sampled_from(["int32", "int64", "float32", "float64"])))
    top = draw(st.sampled_from([1, 3, 1000, 10**6]))
    weights = rng.integers(0, top + 1, m) if dtype.kind == "i" else rng.random(m) * top
    return Graph.from_edges(
        rng.integers(0, n, m), rng.integers(0, n, m), weights.astype(dtype), n_vertices=n
    )


@pytest.mark.parametrize("method", METHODS)
@given(graph=weighted_graphs(), delta=st.sampled_from([None, 1e-6, 0.3, 2.0, 500.0, 1e12]))
def test_any_delta_gives_the_same_distances(method: str, graph: Graph, delta: float | None) -> None:
    options = {} if delta is None else {"delta": delta}
    got = nearfar.sssp(graph, 0, method=method, threads=3, **options)
    assert np.array_equal(got.distances, oracle(graph))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delta", [1e-300, 5e-324, 1e300])
def test_absurd_delta(method: str, delta: float) -> None:
    graph = grid(30)
    assert np.array_equal(
        nearfar.sssp(graph, 0, method=method, threads=2, delta=delta).distances, oracle(graph)
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_tiny_delta_is_widened_instead_of_walking_empty_buckets(method: str) -> None:
    graph = grid(120)
    paths = nearfar.sssp(graph, 0, method=method, threads=2, delta=1e-9)
    assert np.array_equal(paths.distances, oracle(graph))
    assert paths.stats["delta"] > 1e-9
    assert paths.stats["iterations"] < 20 * graph.n_vertices


@pytest.mark.parametrize("method", METHODS)
def test_automatic_delta_survives_a_few_huge_weights(method: str) -> None:
    graph = grid(200)
    weights = graph.weights.copy()
    weights[::997] = 10**6
    heavy = Graph.from_csr(graph.indptr, graph.indices, weights)
    paths = nearfar.sssp(heavy, 0, method=method, threads=2)
    assert np.array_equal(paths.distances, oracle(heavy))
    assert paths.stats["vertices_processed"] < 3 * heavy.n_vertices


def test_automatic_delta_narrows_when_the_first_guess_is_far_too_wide() -> None:
    graph = grid(250, top=3)
    weights = graph.weights.copy()
    # weights that the sample reads
    weights[: len(weights) // 256 * 256 : len(weights) // 256] = 10**6
    fooled = Graph.from_csr(graph.indptr, graph.indices, weights)
    paths = nearfar.sssp(fooled, 0, method="delta_stepping")
    assert np.array_equal(paths.distances, oracle(fooled))
    assert paths.stats["delta_changes"] > 0
    assert paths.stats["vertices_processed"] < 6 * graph.n_vertices


@pytest.mark.parametrize("method", METHODS)
def test_work_stays_near_the_least(method: str) -> None:
    graph = grid(300)
    # A descheduled worker keeps its vertices, while the other one runs ahead.
    work = [
        nearfar.sssp(graph, 0, method=method, threads=2).stats["vertices_processed"]
        for _ in range(20)
    ]
    assert min(work) < 1.3 * graph.n_vertices


def test_delta_narrows_where_a_few_long_rows_are_repeated() -> None:
    rng = np.random.default_rng(1)
    hubs, leaves = 1000, 200_000
    s = np.repeat(np.arange(hubs, hubs + leaves), 4)
    weights = np.ceil(rng.exponential(1000, len(s))).astype(np.int32)
    graph = Graph.from_edges(s, rng.integers(0, hubs, len(s)), weights, directed=False)
    paths = nearfar.sssp(graph, 0, method="delta_stepping")
    nearfar.verify(graph, paths)
    # Few vertices; 1.26 times the edges were relaxed when only vertices were counted.
    assert paths.stats["vertices_processed"] < 1.05 * graph.n_vertices
    assert paths.stats["delta_changes"] > 0
    assert paths.stats["edges_relaxed"] < 1.24 * graph.n_edges


def test_searches_of_most_of_a_graph_compare_widths() -> None:
    graph = grid(150)
    expected = oracle(graph)

    def search(**options: float) -> float:
        paths = nearfar.sssp(graph, 0, method="delta_stepping_parallel", threads=2, **options)
        assert options or np.array_equal(paths.distances, expected)
        return float(paths.stats["delta"])

    search(limit=50)  # reaches only part of the graph
    widths = _WIDTHS.get(graph, 2)
    assert widths is not None
    assert widths.adapted is None
    first = search()
    assert widths.adapted == first
    assert not widths.compared.times
    search()
    assert Way() in widths.compared.times
    search()
    assert Way(halved=1) in widths.compared.times
    for _ in range(8):
        search()
    assert {way.power for way in widths.compared.times} >= {ADAPTED, -2}
    known = dict(widths.compared.times)
    search(delta=7)
    assert widths.compared.times == known
    assert _WIDTHS.get(graph, 3) is None


@pytest.mark.parametrize("fastest", [ADAPTED, -3, -1, 1, 4, 5])
@pytest.mark.parametrize("halved", [0, 1, 3])
@pytest.mark.parametrize("claim", [False, True])
def test_widths_end_at_the_fastest(fastest: int | None, halved: int, claim: bool) -> None:
    widths = Widths(threads=16)

    def seconds(way: Way) -> float:
        at = way.power or 0  # an adapted width is as fast as its mean
        least = 0.1 if way.power is fastest is ADAPTED else 1.0 + abs(at - (fastest or 0)) / 2
        return least * (1 + abs(way.halved - halved)) * (1 + (way.claim is not claim))

    for _ in range(80):
        way = widths.next_way()
        widths.learn(way, seconds(way), 8.0)
    assert widths.next_way() == (fastest, halved, claim)
    assert widths.workers(widths.next_way()) == 16 >> halved
    assert len(widths.compared.times) <= 22
    others = (n for way, (n, _) in widths.compared.times.items() if way != widths.next_way())
    assert max(others) <= 2


@pytest.mark.parametrize(("threads", "half", "tried"), [(16, 1.15, 1), (16, 1.3, 8), (4, 1.3, 1)])
def test_one_worker_is_tried_where_half_of_them_suggest_that_it_is_close(
    threads: int, half: float, tried: int
) -> None:
    widths = Widths(threads)
    for _ in range(60):
        way = widths.next_way()
        workers = widths.workers(way)
        widths.learn(way, {threads: 1.0, 1: 0.8}.get(workers, half), 8.0)
    assert min(map(widths.workers, widths.compared.times)) == tried
    assert widths.workers(widths.next_way()) == (1 if tried == 1 else threads)


def test_what_was_clearly_slower_is_not_tried_with_every_width() -> None:
    widths = Widths(threads=16)
    for _ in range(60):
        way = widths.next_way()
        widths.learn(way, 2.0 + abs((way.power or 0) - 5) + way.halved + 9 * way.claim, 8.0)
    assert widths.next_way() == (5, 0, False)
    assert sum(way.claim for way in widths.compared.times) == 1


def test_one_worker_claims_nothing() -> None:
    widths = Widths(threads=1)
    for _ in range(20):
        widths.learn(widths.next_way(), 1.0, 8.0)
    assert not any(way.claim for way in widths.compared.times)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_claimed_distances_are_the_same(dtype: type, threads: int) -> None:
    rng = np.random.default_rng(threads)
    n = 4000
    to = np.arange(1, n)
    tails = {
        "path": to - 1,
        "star": np.zeros(n - 1, np.int64),
        "tree": (to - 1) // 2,  # half of the vertices are dead ends
        "random": rng.integers(0, n, n - 1),
    }
    for name, tail in tails.items():
        weights = rng.integers(0, 50, n - 1).astype(dtype)
        graph = Graph.from_edges(tail, to, weights, n_vertices=n, directed=False)
        expected = oracle(graph)
        for _ in range(20):
            found = np.empty(n, dtype)
            _cpu.delta_stepping_parallel(graph.view, 0, found, threads, claim=True)
            np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 7, 16])
def test_half_as_many_workers_are_tried_down_to_one(threads: int) -> None:
    widths = Widths(threads)
    tried = set()
    for _ in range(60):
        way = widths.next_way()
        tried.add(widths.workers(way))
        widths.learn(way, 1.0 + widths.workers(way), 8.0)
    assert min(tried) == 1


def test_a_width_that_was_unlucky_is_tried_again() -> None:
    widths = Widths(threads=1)
    times = iter([9.0, 1.0, 1.04, 1.3, 1.3, 1.3, 1.0, 1.3])
    powers = []
    for taken in times:
        way = widths.next_way()
        powers.append(way.power)
        widths.learn(way, taken, 8.0)
    assert powers[:6] == [ADAPTED, ADAPTED, -2, 2, -1, 1]
    assert powers[6:] == [ADAPTED, -2]


@pytest.mark.parametrize("start", [1e-300, 0.5, 1e300])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_first_width_gives_the_same_answer(start: float, threads: int) -> None:
    graph = grid(60)
    expected = oracle(graph)
    found = np.empty(graph.n_vertices, np.int32)
    for _ in range(20):
        _cpu.delta_stepping_parallel(graph.view, 0, found, threads, start=start)
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_limit_and_targets(method: str) -> None:
    graph = grid(60)
    whole = oracle(graph)
    far = np.iinfo(np.int32).max
    near = nearfar.sssp(graph, 0, method=method, threads=2, limit=5000)
    assert np.array_equal(near.distances, np.where(whole <= 5000, whole, far))
    target = int(np.argsort(whole)[50])
    some = nearfar.sssp(graph, 0, method=method, threads=2, targets=[target])
    assert np.array_equal(some.distances, np.where(whole <= whole[target], whole, far))
    assert some.stats["vertices_processed"] < graph.n_vertices / 2


@pytest.mark.parametrize("threads", [2, 5])
def test_the_same_run_200_times(threads: int) -> None:
    graph = grid(40, top=20)
    expected = oracle(graph)
    for _ in range(200):
        got = nearfar.sssp(graph, 0, method="delta_stepping_parallel", threads=threads)
        assert np.array_equal(got.distances, expected)


def test_skewed_graph_with_many_workers() -> None:
    rng = np.random.default_rng(1)
    n, m = 4000, 60_000
    s = (n * rng.random(m) ** 4).astype(np.int64)
    t = rng.permutation(n)[(n * rng.random(m) ** 3).astype(np.int64)]
    for weights in (rng.integers(0, 256, m).astype(np.int32), rng.random(m)):
        graph = Graph.from_edges(s, t, weights, n_vertices=n, directed=False)
        expected = oracle(graph)
        for threads in (2, 4, 8):
            got = nearfar.sssp(graph, 0, method="delta_stepping_parallel", threads=threads)
            assert np.array_equal(got.distances, expected)


def test_calls_from_several_python_threads_share_the_pool() -> None:
    graph = grid(60)
    expected = oracle(graph)

    def solve(_: int) -> bool:
        got = nearfar.sssp(graph, 0, method="delta_stepping_parallel", threads=2)
        return bool(np.array_equal(got.distances, expected))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(solve, range(40)))


def test_a_forked_child_makes_its_own_workers() -> None:
    code = (
        "import os, sys, nearfar, numpy as np\n"
        "g = nearfar.Graph.from_edges(np.arange(999), np.arange(1, 1000), np.ones(999, np.int32))\n"
        "run = lambda: nearfar.sssp(g, 0, method='delta_stepping_parallel', threads=2).distances\n"
        "run()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if run()[-1] == 999 else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_option_errors() -> None:
    graph = grid(3)
    with pytest.raises(nearfar.NearfarError, match="greater than 0"):
        nearfar.sssp(graph, 0, method="delta_stepping", delta=0)
    with pytest.raises(ValueError, match="threads"):
        _cpu.delta_stepping_parallel(graph.view, 0, np.empty(9, np.int32), 0)


@pytest.mark.parametrize("method", ["delta_stepping@cpu", "worker_per_source@cpu"])
def test_denormal_weights_come_to_an_end(method: str) -> None:
    """Regression: buckets were halved until the inverse of their width overflowed.

    Then no entry had a bucket, and the search did not terminate.
    """
    rng = np.random.default_rng(1)
    n, m = 4000, 40_000
    weights = rng.integers(0, 9, m) * np.finfo(np.float64).smallest_subnormal
    graph = Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), weights, n_vertices=n)
    sources = [0, 1, 2, 3] * 12
    options = {"queue": "buckets"} if method.startswith("worker") else {}
    found = nearfar.distances(graph, sources, method=method, threads=1, **options)
    want = nearfar.distances(graph, sources, method="dijkstra_binary_heap@cpu")
    np.testing.assert_array_equal(found, want)


def chains(shape: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the edges of long thin graphs."""
    v = np.arange(1, n)
    before = {
        "path": v - 1,
        "cycle": v - 1,
        "caterpillar": np.where(v < n // 2, v - 1, v - n // 2),
        "four arms": np.maximum(v - 4, 0),
        "hub at the end": np.where(v < n // 2, v - 1, n // 2 - 1),
    }[shape]
    return (np.append(before, n - 1), np.append(v, 0)) if shape == "cycle" else (before, v)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", ["path", "cycle", "caterpillar", "four arms", "hub at the end"])
def test_chains_are_followed_to_their_ends(shape: str, dtype: str, method: str) -> None:
    """Chains longer than one call follows; from an end and the middle, with limits and targets."""
    n = 5000
    s, t = chains(shape, n)
    weights = np.random.default_rng(1).integers(0, 50, len(s)).astype(dtype)
    graph = Graph.from_edges(s, t, weights, n_vertices=n, directed=False)
    for source in (0, n // 3):
        want = oracle(graph, source)
        for delta in (None, 1.0, 1e9):
            options = {} if delta is None else {"delta": delta}
            got = nearfar.sssp(graph, source, method=method, threads=2, **options)
            assert np.array_equal(got.distances, want)
            nearfar.verify(graph, got)
        limit = float(np.median(want))
        near = nearfar.sssp(graph, source, method=method, threads=2, limit=limit).distances
        assert np.array_equal(near[want <= limit], want[want <= limit])
        assert (near[want > limit] > limit).all()
        target = int(np.argsort(want)[n // 4])
        some = nearfar.sssp(graph, source, method=method, threads=2, targets=[target])
        assert some.distances[target] == want[target]


def test_a_chain_relaxes_every_vertex_once() -> None:
    path = nearfar.generate("path", vertices=20_000, directed=False)
    paths = nearfar.sssp(path, 0, method="delta_stepping")
    assert paths.stats["vertices_processed"] == 20_000
    assert paths.stats["stale"] == 0


@pytest.mark.parametrize("decades", [6, 8, 20])
def test_weights_over_many_decades_repeat_little(decades: int) -> None:
    """The first width leaves one lighter edge per vertex; others cost 3 to 17 times the work."""
    rng = np.random.default_rng(0)
    n, m = 20_000, 160_000
    weights = 10 ** (decades * rng.random(m))
    graph = Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), weights, n_vertices=n)
    paths = nearfar.sssp(graph, 0, method="delta_stepping")
    assert np.array_equal(paths.distances, oracle(graph))
    assert paths.stats["vertices_processed"] < 1.2 * n


@pytest.mark.parametrize("method", METHODS)
@given(graph=weighted_graphs(), delta=st.sampled_from([None, 0.3, 500.0, 1e12]))
def test_distances_end_where_the_last_bucket_does(
    method: str, graph: Graph, delta: float | None
) -> None:
    """At most an edge farther, and a rounding; what follows trusts eight edges."""
    options = {} if delta is None else {"delta": delta}
    got = nearfar.sssp(graph, 0, method=method, threads=2, **options)
    farthest = float(got.distances[got.reachable].max())
    assert farthest <= got.stats["last_threshold"] + 2 * float(graph.max_weight)
