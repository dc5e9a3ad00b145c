"""Hostile inputs: one named test each, through the public functions with the automatic choice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import nearfar
from nearfar import Graph, NegativeWeightError
from nearfar.errors import DistanceOverflowError, GraphError, OptionError, VertexError
from nearfar.system import memory
from nearfar.system.threads import check_threads, default_threads
from tests import oracle
from tests.zoo import ZOO

TOP32, TOP64 = np.iinfo(np.int32).max, np.iinfo(np.int64).max


def solve(graph: Graph, source: int = 0, **kw: object) -> nearfar.Paths:
    paths = nearfar.sssp(graph, source, predecessors=True, **kw)
    nearfar.verify(graph, paths)
    return paths


def test_empty_graph() -> None:
    g = Graph.from_edges([], [], [])
    assert (g.n_vertices, g.n_edges) == (0, 0)
    with pytest.raises(VertexError, match="it has no vertices"):
        nearfar.sssp(g, 0)
    for reduce in (None, "sum"):
        assert len(nearfar.distances(g, limit=1, reduce=reduce)) == 0


def test_one_vertex() -> None:
    assert solve(Graph.from_csr([0, 0], [])).distances.tolist() == [0]


def test_no_edges() -> None:
    p = solve(Graph.from_edges([], [], np.array([], dtype=np.float32), n_vertices=3), 1)
    assert p.distances.tolist() == [np.inf, 0, np.inf]
    assert p.reachable.tolist() == [False, True, False]
    assert (p.n_reached, p.farthest) == (1, 1)


def test_source_without_out_edges() -> None:
    p = solve(ZOO["source_without_out_edges"]())
    assert p.distances.tolist() == [0, TOP64, TOP64, TOP64]


def test_self_loops_of_weight_zero() -> None:
    assert solve(ZOO["self_loops"]()).distances.tolist() == [0, 2, 2, 3]


def test_parallel_edges_count_by_their_minimum() -> None:
    assert solve(ZOO["parallel_edges"]()).distances.tolist() == [0, 2, 5]


def test_unsorted_csr() -> None:
    g = Graph.from_csr([0, 3, 3, 3, 3], [3, 1, 2], [7, 1, 2])
    assert solve(g).distances.tolist() == [0, 1, 2, 7]


def test_zero_weight_cycles_give_a_tree() -> None:
    p = solve(ZOO["zero_cycle"]())
    assert p.distances.tolist() == [0, 4, 4, 4, 5, 5, TOP64]
    assert p.predecessors.tolist() == [-1, 0, 1, 2, 3, 4, -1]


def test_nan_and_infinity_are_refused_with_edge_and_count() -> None:
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(GraphError, match=r"weight of edge 1 is .* \(2 such edges\)"):
            Graph.from_edges([0, 0, 1], [1, 2, 2], [1.0, bad, bad])


def test_negative_zero() -> None:
    p = solve(Graph.from_edges([0, 1], [1, 2], np.array([-0.0, 1.0])))
    assert p.distances.tolist() == [0, 0, 1]
    assert not np.signbit(p.distances).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_denormals(dtype) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    g = Graph.from_edges([0, 1, 0], [1, 2, 2], np.array([tiny, tiny, 3 * tiny], dtype=dtype))
    assert solve(g).distances.tolist() == [0, tiny, 2 * tiny]


def test_weights_a_billionth_apart() -> None:
    g = Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], [1.0, 1.0 + 1e-9, 1.0 + 1e-9, 1.0])
    p = solve(g)
    assert p.distances[3] == 1.0 + (1.0 + 1e-9)
    np.testing.assert_array_equal(p.distances, oracle.dijkstra(g, 0))


def test_weight_that_a_float_sum_absorbs() -> None:
    g = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 2], [1e16, 0.25, 0.25, 0.25])
    p = solve(g)
    assert p.distances.tolist() == [0, 1e16, 1e16, 1e16]
    assert p.predecessors.tolist() == [-1, 0, 1, 2]


def test_int32_sums_beyond_the_maximum_come_back_in_64_bits() -> None:
    w = np.full(3, TOP32 - 1, dtype=np.int32)
    p = solve(Graph.from_edges([0, 1, 2], [1, 2, 3], w))
    assert p.distances.tolist() == [k * (TOP32 - 1) for k in range(4)]
    assert p.stats["repeated_in_64_bits"]


def test_int32_distance_equal_to_the_maximum_is_not_taken_for_unreached() -> None:
    p = solve(Graph.from_edges([0, 1], [1, 2], np.array([TOP32 - 1, 1], dtype=np.int32)))
    assert p.distances.tolist() == [0, TOP32 - 1, TOP32]
    assert p.distances.dtype == np.int64
    assert p.reachable.all()


def test_float32_sums_beyond_the_maximum_come_back_in_64_bits() -> None:
    big = np.finfo(np.float32).max
    p = solve(Graph.from_edges([0, 1], [1, 2], np.array([big, big], dtype=np.float32)))
    assert p.distances.dtype == np.float64
    assert p.distances[2] == 2 * float(big)


def test_int64_above_2_to_53_is_exact() -> None:
    base = 2**53
    p = solve(Graph.from_edges([0, 1, 0], [1, 2, 2], np.array([base, 1, base + 2])))
    assert p.distances.tolist() == [0, base, base + 1]
    limited = solve(Graph.from_edges([0, 1], [1, 2], np.array([base, 1])), limit=base)
    assert limited.distances.tolist() == [0, base, TOP64]


def test_int64_overflow_is_an_error() -> None:
    with pytest.raises(DistanceOverflowError, match="does not fit int64"):
        nearfar.sssp(Graph.from_edges([0, 1], [1, 2], np.array([TOP64 - 1, TOP64 - 1])), 0)


@pytest.mark.parametrize("named", [False, True])
def test_int64_overflow_of_a_column_is_an_error(named: bool) -> None:
    """Regression: it was returned as unreached, since other columns hide the path."""
    names = ["a", "b", "c", "d"] if named else None
    start, near, far, off = names or range(4)
    heavy = np.array([TOP64 - 1, TOP64 - 1])
    g = Graph.from_edges([0, 1], [1, 2], heavy, n_vertices=4, vertex_names=names, names=False)
    for method in ("auto", "dijkstra_binary_heap", "worker_per_source", "lanes"):
        for sources in ([start], [start, near]):
            with pytest.raises(DistanceOverflowError, match="does not fit int64"):
                nearfar.distances(g, sources, targets=[far], method=method)
        if method == "lanes":
            continue  # it refuses every sum that leaves the range, even of unrequested columns
        found = nearfar.distances(g, [start], targets=[near, off], method=method)
        assert found.tolist() == [[TOP64 - 1, TOP64]]
        limited = nearfar.distances(g, [start], targets=[far], limit=TOP64 - 2, method=method)
        assert limited.tolist() == [[TOP64]]
    with pytest.raises(DistanceOverflowError):
        nearfar.distances(g, pairs=[(start, far)])


@pytest.mark.parametrize("method", ["dijkstra_binary_heap", "delta_stepping", "bellman_ford"])
def test_a_saturated_sum_gives_no_predecessor(method: str) -> None:
    """A saturated sum looks like the distance of an unreached vertex."""
    w = np.array([2**30, TOP32 - 1], dtype=np.int32)
    g = Graph.from_edges([0, 1], [1, 2], w)
    for given in ({"limit": 2**30}, {"targets": [1]}):
        p = solve(g, method=method, **given)
        assert p.predecessors.tolist() == [-1, 0, -1]
        assert p.n_reached == 2


def test_limit_below_the_saturation_avoids_the_repeat() -> None:
    w = np.full(3, TOP32 - 1, dtype=np.int32)
    p = solve(Graph.from_edges([0, 1, 2], [1, 2, 3], w), limit=100)
    assert p.distances.dtype == np.int32
    assert p.n_reached == 1


def test_a_weight_that_is_not_finite_is_located_in_the_callers_edges() -> None:
    """Regression: the message gave its position in the rows."""
    with pytest.raises(GraphError, match=r"weight of edge 1 is nan \(1 such edges\)"):
        Graph.from_edges([5, 0], [0, 1], [1, np.nan], directed=False)


def test_directed_is_true_or_false() -> None:
    """Regression: any text counted as true."""
    for given in ("no", None, 2, np.ones(2)):
        with pytest.raises(GraphError, match=r"directed is .*: give True or False"):
            Graph.from_edges([0], [1], directed=given)  # type: ignore[arg-type]
    assert not Graph.from_edges([0], [1], directed=np.bool_(False)).directed  # type: ignore[arg-type]


def test_an_array_without_dimensions_is_a_vertex() -> None:
    """Regression: the message was that it is several."""
    g = Graph.from_edges([0, 1], [1, 2])
    assert nearfar.sssp(g, np.array(1)).source == 1  # type: ignore[arg-type]
    with pytest.raises(VertexError, match=r"source 1\.5 is not an integer"):
        nearfar.sssp(g, np.array(1.5))  # type: ignore[arg-type]


def test_negative_edge_under_a_nonnegative_method() -> None:
    g = Graph.from_edges([0, 1], [1, 2], [3, -1])
    with pytest.raises(NegativeWeightError, match="the first on edge 1 from 1 to 2:") as e:
        nearfar.sssp(g, 0, method="dijkstra_binary_heap")
    assert "bellman_ford@cpu" in e.value.accepted_by
    assert all(solve(g, method=name).reachable.all() for name in e.value.accepted_by)
    assert solve(g).distances.tolist() == [0, 3, 2]


def test_negative_cycle_reachable_and_unreachable() -> None:
    g = Graph.from_edges([0, 1, 2, 3], [1, 2, 1, 0], [1, -3, 1, 1])
    with pytest.raises(nearfar.NegativeCycleError) as e:
        nearfar.sssp(g, 0)
    assert sorted(e.value.cycle) == [1, 2]
    assert e.value.total == -2
    far = Graph.from_edges([0, 2, 3], [1, 3, 2], [1, -3, 1])
    assert solve(far).distances.tolist() == [0, 1, TOP64, TOP64]


def test_path_through_all_vertices() -> None:
    n = 100_000
    g = Graph.from_edges(np.arange(n - 1), np.arange(1, n), 1)
    p = solve(g)
    assert p.distances[-1] == n - 1
    assert p.path_to(n - 1) == list(range(n))


def test_star_with_a_million_leaves() -> None:
    n = 1_000_001
    g = Graph.from_edges(np.zeros(n - 1, dtype=np.int64), np.arange(1, n), 7, directed=False)
    assert (solve(g, 5).distances[[0, 5, 6]] == [7, 0, 14]).all()


@pytest.mark.parametrize("largest", [2**40, 2**62, 2**63])
def test_ids_with_great_gaps_are_refused_before_memory_is_taken(largest: int) -> None:
    ends = np.array([largest], dtype=np.uint64)
    with pytest.raises(nearfar.errors.OutOfMemoryError, match="without gaps"):
        Graph.from_edges(ends, [0])
    with pytest.raises(nearfar.errors.OutOfMemoryError, match="without gaps"):
        Graph.from_edges([0], [1], n_vertices=largest)


@pytest.mark.parametrize(("missing", "refused"), [(1, True), (0, False)])
def test_what_construction_takes_is_counted(
    missing: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: Graph.from_edges([2**31], [1], [1]) exhausted the memory."""
    asked: list[int] = []
    monkeypatch.setattr(memory, "free_memory", lambda: 32 * 2**30)
    with pytest.raises(nearfar.errors.OutOfMemoryError, match="names=True") as found:
        Graph.from_edges([2**31], [1], [1])
    assert found.value.needed == (2 * (2**31 + 1) + 1 + 1) * 8 + 8
    # A small one in full: row starts, places, targets, converted ends, weights.
    needed = (2 * 1001 + 1 + 3 + 6) * 4 + 3 * 8
    monkeypatch.setattr(memory, "ALWAYS_FREE", 0)
    monkeypatch.setattr(memory, "free_memory", lambda: asked.append(1) or needed - missing)
    edges = np.array([0, 1, 1000]), np.array([1, 2, 0]), np.ones(3)
    if refused:
        with pytest.raises(nearfar.errors.OutOfMemoryError):
            Graph.from_edges(*edges)
    else:
        assert Graph.from_edges(*edges, names=False).n_vertices == 1001
    assert asked


def test_a_thousand_workers_do_not_hang() -> None:
    g = ZOO["grid"]()
    p = solve(g, method="delta_stepping_parallel", threads=100_000, delta=1e-9)
    np.testing.assert_array_equal(p.distances, oracle.dijkstra(g, 0))
    assert check_threads(10**9) == max(64, 4 * default_threads())
    assert check_threads(3) == 3


def test_read_only_and_strided_input() -> None:
    indptr = np.array([0, 9, 1, 9, 1, 9])[::2]
    weights = np.array([4.0])
    weights.flags.writeable = False
    assert solve(Graph.from_csr(indptr, np.array([1]), weights)).distances.tolist() == [0, 4]


@pytest.mark.parametrize("source", [1.0, "0", None, -1, 10**6, True, [0]])
def test_bad_source(source) -> None:
    with pytest.raises(VertexError):
        nearfar.sssp(ZOO["grid"](), source)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "dijkstar"}, "no method 'dijkstar'"),
        ({"method": "delta_stepping@cpu", "device": "cuda"}, "names cpu, but device is 'cuda'"),
        ({"method": "delta_stepping", "dleta": 3}, "did you mean 'delta'"),
        ({"method": "delta_stepping", "delta": 0}, "delta is 0"),
        ({"device": "tpu"}, "use 'auto', 'cpu' or 'cuda'"),
        ({"limit": float("nan")}, "limit is NaN"),
        ({"limit": "3"}, "give a number"),
        ({"threads": 0}, "threads is 0"),
        ({"targets": []}, "targets is empty"),
        ({"stats": "all"}, "stats is 'all'"),
    ],
)
def test_bad_options(options, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        nearfar.sssp(ZOO["grid"](), 0, **options)


def test_something_that_is_no_graph() -> None:
    with pytest.raises(GraphError, match="cannot convert list to a graph"):
        nearfar.sssp([[0, 1], [1, 0]], 0)


def test_ctrl_c_stops_a_run_and_leaves_the_process_usable() -> None:
    """An O(n^2) solve of minutes stops at once; test_interrupt.py has the other methods."""
    program = textwrap.dedent("""
        import numpy as np, nearfar
        n = 400_000
        g = nearfar.Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1, np.int32))
        print("ready", flush=True)
        try:
            nearfar.sssp(g, 0, method="dijkstra_array", threads=1)
        except KeyboardInterrupt:
            small = nearfar.Graph.from_edges([0], [1], [5])
            print("stopped", nearfar.sssp(small, 0).distances.tolist(), flush=True)
    """)
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "ready"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=20)
    assert out.strip() == "stopped [0, 5]"
    assert child.returncode == 0
