"""Betweenness and numbers of paths on the emulated device: the CPU's numbers."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import nearfar
from nearfar import Graph
from nearfar.errors import (
    DistanceOverflowError,
    OptionError,
    OutOfMemoryError,
    ZeroCycleError,
)
from nearfar.measures import betweenness, path_counts
from nearfar.measures.centrality import device_shares
from nearfar.measures.centrality.folding import core_of
from nearfar.system.devices import runtime
from nearfar.system.devices.launching import Kernel
from tests.loading import load_program
from tests.measures.test_betweenness import ladder
from tests.strategies import graphs
from tests.zoo import ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def assert_as_on_the_cpu(graph: Graph, **given_: Any) -> None:
    for edges in (False, True):
        how: dict[str, Any] = {"edges": edges, "normalized": False, **given_}
        try:
            want = betweenness(graph, device="cpu", **{**how, "devices": None})
        except ZeroCycleError:
            with pytest.raises(ZeroCycleError, match="weight zero"):
                betweenness(graph, device="cuda", **how)
            continue
        got = betweenness(graph, device="cuda", **how)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=0)


@pytest.mark.parametrize("dtype", ["int32", "unweighted"])
@pytest.mark.parametrize("name", [name for name in ZOO if name not in ("path", "star")])
def test_zoo(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    some = np.arange(0, graph.n_vertices, max(1, graph.n_vertices // 12))
    assert_as_on_the_cpu(graph, sources=some)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs(max_vertices=9, max_edges=24, dtypes=("int32", "float64", "unweighted")))
def test_any_graph(graph: Graph) -> None:
    assert_as_on_the_cpu(graph)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs(max_vertices=8, max_edges=20, dtypes=("int32", "float64", "unweighted")))
def test_some_sources_some_targets_a_limit_and_ends(graph: Graph) -> None:
    n = graph.n_vertices
    some = {"sources": list(range(0, n, 2)), "targets": list(range(n // 2, n))}
    assert_as_on_the_cpu(graph, **some, endpoints=True)
    assert_as_on_the_cpu(graph, limit=2)
    assert_as_on_the_cpu(graph, limit=1.5, endpoints=True)


@pytest.mark.parametrize("dtype", ["int32", "unweighted"])
def test_rows_of_all_lengths(dtype: str) -> None:
    """From no to hundreds of entries, processed by a lane, a group of lanes and a warp."""
    n = 150
    pairs = [(u, v) for u in range(n) for v in range(max(0, u - u % 80), u)]
    pairs += [(0, v) for v in range(n, n + 40)]
    graph = Graph.from_edges(*zip(*pairs, strict=True), directed=False)
    assert graph.degrees.min() == 1
    assert graph.degrees.max() > 64
    if dtype != "unweighted":
        sums = graph.tails() + graph.indices
        graph = graph.with_weights((1 + sums % 3).astype(dtype))
    assert_as_on_the_cpu(graph, sources=range(0, n + 40, 12))


@pytest.mark.parametrize("dtype", ["int32", "unweighted"])
def test_trees_that_hang_on_the_graph(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees folded onto their roots; components that are trees; sources and targets in trees."""
    monkeypatch.setattr(device_shares, "_WORTH_FOLDING", 1)
    rng = np.random.default_rng(4)
    ring = [(v, (v + 1) % 12) for v in range(12)]
    trees = [(int(rng.integers(0, v)), v) for v in range(12, 60)]
    apart = [(60, 61), (61, 62), (61, 63), (64, 65), (66, 67), (67, 68), (68, 66), (68, 69)]
    tails, heads = zip(*ring, *trees, *apart, strict=True)
    graph = Graph.from_edges(tails, heads, n_vertices=72, directed=False)
    if dtype != "unweighted":
        graph = graph.with_weights((1 + (graph.tails() + graph.indices) % 5).astype(dtype))
    core = core_of(graph)
    assert core is not None
    assert 12 + 3 + 1 + 1 + 2 <= core.graph.n_vertices < 24
    assert_as_on_the_cpu(graph)
    for _ in range(8):
        sources, targets = (rng.permutation(72)[: rng.integers(1, 40)] for _ in range(2))
        assert_as_on_the_cpu(graph, sources=sources, targets=targets)
    assert_as_on_the_cpu(graph, limit=3)
    assert_as_on_the_cpu(graph, endpoints=True)
    tree = Graph.from_edges(range(20), range(1, 21), directed=False)
    assert_as_on_the_cpu(tree)


def test_arrays_live_until_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A struct contains addresses, so its arrays must exist until the launch."""
    monkeypatch.setattr(device_shares, "_WORTH_FOLDING", 1)
    held: list[Any] = []
    fill, launch = device_shares.filled, Kernel.__call__

    def filled(kind: Any, **values: Any) -> Any:
        held.extend(weakref.ref(one) for one in values.values() if isinstance(one, np.ndarray))
        return fill(kind, **values)

    def launched(kernel: Any, *args: Any, **how: Any) -> None:
        assert all(one() is not None for one in held)
        launch(kernel, *args, **how)
        held.clear()

    monkeypatch.setattr(device_shares, "filled", filled)
    monkeypatch.setattr(Kernel, "__call__", launched)
    star = Graph.from_edges([0] * 9, range(1, 10), directed=False)
    betweenness(star, device="cuda", targets=range(5))
    betweenness(star, device="cuda", targets=range(5), endpoints=True)
    assert not held


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_prepared_graphs_give_their_rows(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = as_dtype(nearfar.generate("grid", rows=7, columns=8), dtype)
    prepared = nearfar.prepare(graph, force=True)
    given: list[Any] = []
    real = device_shares.distances

    def seen(graph: Any, *args: Any, **how: Any) -> Any:
        given.append(type(graph))
        return real(graph, *args, **how)

    monkeypatch.setattr(device_shares, "distances", seen)
    for edges in (False, True):
        found = betweenness(prepared, edges=edges, device="cuda")
        assert (found == betweenness(graph, edges=edges, device="cuda")).all()
    assert given == [type(prepared), Graph, type(prepared), Graph]
    assert_as_on_the_cpu(prepared, limit=20)


def test_graphs_that_stay_whole() -> None:
    path = Graph.from_edges(range(9), range(1, 10), directed=False)
    assert core_of(path) is not None
    assert core_of(as_dtype(path, "float64")) is None
    assert core_of(path.with_weights(np.zeros(18, dtype=np.int32))) is None
    assert core_of(path.with_weights(np.full(18, 2**31 - 2, dtype=np.int32))) is None
    assert core_of(ZOO["ring"]()) is None


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs(max_vertices=12, max_edges=12, dtypes=("int32", "unweighted")))
def test_any_graph_folded(graph: Graph) -> None:
    before, device_shares._WORTH_FOLDING = device_shares._WORTH_FOLDING, 1
    try:
        assert_as_on_the_cpu(graph)
    finally:
        device_shares._WORTH_FOLDING = before


@pytest.mark.parametrize(("dtype", "width"), [("int64", 40), ("float32", 1), ("float64", 1)])
def test_other_weights(dtype: str, width: int) -> None:
    graph = as_dtype(ZOO["grid"](), dtype)
    if width > 1:
        graph = graph.with_weights(graph.effective_weights << width)
    assert_as_on_the_cpu(graph, sources=range(0, graph.n_vertices, 20))


def test_bitmaps_beyond_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_shares, "_SHARED_STATIC", 1 << 20)
    graph = ZOO["skewed"]().without_weights()
    assert_as_on_the_cpu(graph, sources=range(0, graph.n_vertices, 9))


@pytest.mark.parametrize("dtype", ["float64", "unweighted"])
def test_runs_repeat_and_launches_join(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = as_dtype(nearfar.generate("delaunay", vertices=80, seed=1), dtype)
    first = betweenness(graph, device="cuda")
    for _ in range(2):
        assert (betweenness(graph, device="cuda") == first).all()
    # The same blocks add the same sources in the same order, for any number of launches.
    monkeypatch.setattr(device_shares, "_EDGES_PER_LAUNCH", 1)
    assert (betweenness(graph, device="cuda") == first).all()


@pytest.mark.parametrize(("weight", "edges"), [(None, False), (None, True), (3, True)])
def test_a_ladder_of_eleven_hundred_diamonds(weight: int | None, edges: bool) -> None:
    """2**1100 paths lead from end to end, which is beyond a float."""
    graph = ladder(1100, weight)
    how: dict[str, Any] = {"normalized": False, "edges": edges, "sources": [0, 3297]}
    want = betweenness(graph, device="cpu", **how)
    got = betweenness(graph, device="cuda", **how)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=0)


def test_zero_weights_and_their_cycles() -> None:
    zeros = Graph.from_edges([3, 2, 0, 0], [2, 1, 3, 1], [0, 0, 0, 0])
    got = betweenness(zeros, normalized=False, device="cuda")
    assert got.tolist() == [0, 0, 1.5, 1.5]
    graph = Graph.from_edges(
        [0, 1, 2, 3], [1, 2, 3, 1], [1, 0, 0, 0], vertex_names=np.array(list("abcd")), names=False
    )
    with pytest.raises(ZeroCycleError) as caught:
        betweenness(graph, device="cuda")
    assert set(caught.value.cycle) == set("bcd")
    with pytest.raises(ZeroCycleError):
        path_counts(graph, "a", device="cuda")
    near = betweenness(graph, sources=["a"], limit=0.5, device="cuda")
    assert near.tolist() == [0, 0, 0, 0]
    back_and_forth = Graph.from_edges([0, 1], [1, 2], [0, 3], directed=False)
    with pytest.raises(ZeroCycleError, match="2 vertices"):
        betweenness(back_and_forth, sources=[2], device="cuda")


def test_weights_that_a_sum_swallows_are_zeros() -> None:
    graph = Graph.from_edges([0, 3, 2, 3], [3, 2, 1, 1], [1e20, 1.0, 1.0, 1.0])
    got = betweenness(graph, sources=[0], normalized=False, device="cuda")
    assert got.tolist() == [0, 0, 0.5, 2]


def test_sums_beyond_32_bits_are_repeated_in_64() -> None:
    top = 2**31 - 2
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([top, top, top], dtype=np.int32))
    assert betweenness(graph, normalized=False, device="cuda").tolist() == [0, 2, 2, 0]
    assert path_counts(graph, 0, device="cuda").values().tolist() == [1, 1, 1, 1]
    huge = Graph.from_edges([0, 1], [1, 2], np.array([2**62, 2**62], dtype=np.int64))
    with pytest.raises(DistanceOverflowError, match="scale the weights down"):
        betweenness(huge, device="cuda")
    for dtype in (np.float32, np.float64):
        most = np.finfo(dtype).max
        floats = Graph.from_edges([0, 1], [1, 2], np.array([most, most], dtype=dtype))
        for run in (
            lambda floats=floats: betweenness(floats, normalized=False, device="cuda"),
            lambda floats=floats: path_counts(floats, 0, device="cuda").values(),
        ):
            run()  # in fixed point: no distance is requested


def test_rows_in_other_orders() -> None:
    """Rows that are not sorted, and directions of different weights."""
    unsorted = Graph.from_csr([0, 2, 4, 6, 8], [2, 1, 3, 0, 3, 0, 2, 1], directed=False)
    assert device_shares._entering(unsorted) is None
    assert_as_on_the_cpu(unsorted)
    other_weights = Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 3, 3])
    assert device_shares._entering(other_weights) is not None
    assert_as_on_the_cpu(other_weights)


@pytest.mark.parametrize("dtype", ["int32", "unweighted"])
@pytest.mark.parametrize("name", ["grid", "disconnected", "self_loops", "parallel_edges"])
def test_numbers_of_paths(name: str, dtype: str) -> None:
    graph = as_dtype(ZOO[name](), dtype)
    for how in ({}, {"limit": 2}):
        want = path_counts(graph, 0, device="cpu", **how)
        got = path_counts(graph, 0, device="cuda", **how)
        np.testing.assert_array_equal(got.mantissas, want.mantissas)
        np.testing.assert_array_equal(got.exponents, want.exponents)


def test_numbers_of_paths_of_any_size() -> None:
    want = path_counts(ladder(2000, 3), 0, device="cpu")
    got = path_counts(ladder(2000, 3), 0, device="cuda")
    assert not got.fit
    np.testing.assert_array_equal(got.mantissas, want.mantissas)
    np.testing.assert_array_equal(got.exponents, want.exponents)


def test_small_graphs() -> None:
    for n in range(4):
        graph = Graph.from_edges(range(n - 1), range(1, n), n_vertices=n)
        assert betweenness(graph, device="cuda").tolist() == {3: [0, 0.5, 0]}.get(n, [0] * n)
        assert betweenness(graph, sources=[], device="cuda").tolist() == [0.0] * n
        assert betweenness(graph, edges=True, device="cuda").shape == (max(n - 1, 0),)


def test_memory_is_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ZOO["grid"]()
    betweenness(graph, device="cuda", sources=[0])  # the graph is on the device
    monkeypatch.setattr(runtime, "memory", lambda: (1000, 1 << 32))
    for solved in (graph, graph.without_weights()):
        with pytest.raises(OutOfMemoryError, match="device='cpu'"):
            betweenness(solved, device="cuda")
    want = betweenness(graph, device="cpu")
    monkeypatch.setattr("nearfar.measures.simple._WORTH_A_DEVICE", 1)
    assert (betweenness(graph) == want).all()  # auto continues on the CPU
    monkeypatch.setattr("nearfar.measures.simple.LARGEST_ON_DEVICE", 100)
    assert (betweenness(graph) == want).all()
    with pytest.raises(OptionError, match="up to 100 vertices and edges"):
        betweenness(graph, device="cuda")


def test_auto_takes_a_device_for_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ZOO["grid"]()
    made: list[int] = []
    real = device_shares.device_shares

    def seen(*args: Any, **how: Any) -> Any:
        made.append(len(args[1]))
        return real(*args, **how)

    monkeypatch.setattr(device_shares, "device_shares", seen)
    betweenness(graph, sources=[0])
    assert made == []
    monkeypatch.setattr("nearfar.measures.simple._WORTH_A_DEVICE", 1)
    betweenness(graph, sources=[0])
    betweenness(graph, sources=[0], device="gpu")
    assert made == [1, 1]
    floats = as_dtype(graph, "float64")
    betweenness(floats, sources=[0], tolerance=1e-9)
    assert made == [1, 1]
    with pytest.raises(OptionError, match="tolerance needs device='cpu'"):
        betweenness(floats, sources=[0], tolerance=1e-9, device="cuda")
    with pytest.raises(OptionError, match="'auto', 'cpu' or 'cuda'"):
        betweenness(graph, device="tpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["int32", "unweighted"])
def test_devices_share_the_sources(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "device_count", lambda: 3)
    graph = as_dtype(ZOO["skewed"](), dtype)
    if graph.has_zero_weight:
        graph = graph.with_weights(graph.effective_weights + 1)
    some = range(0, graph.n_vertices, 7)
    assert_as_on_the_cpu(graph, sources=some, devices="all")
    assert_as_on_the_cpu(graph, sources=[5], devices=[2, 0])
    both = [betweenness(graph, some, devices=[0, 1]) for _ in range(2)]
    assert (both[0] == both[1]).all()
    with pytest.raises(ZeroCycleError):
        betweenness(ZOO["all_zero"](), devices="all")
    with pytest.raises(OptionError, match="devices requires device='cuda'"):
        betweenness(graph, devices="all", device="cpu")
    with pytest.raises(OptionError, match="counted from 0"):
        betweenness(graph, devices=[3])


def test_a_device_that_fails_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "device_count", lambda: 2)
    graph = ZOO["skewed"]().without_weights()
    wanted = betweenness(graph, device="cuda", devices=[0, 1])
    plain = device_shares._Run.total

    def total(run: Any) -> Any:
        if runtime.device().ordinal == 1:
            raise RuntimeError("its fan stands still")
        return plain(run)

    monkeypatch.setattr(device_shares._Run, "total", total)
    with pytest.warns(RuntimeWarning, match="CUDA device 1 failed, .* its fan stands still"):
        found = betweenness(graph, device="cuda", devices=[0, 1])
    np.testing.assert_array_equal(found, wanted)


def test_the_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    program = load_program("benchmarks", "measures_cuda")
    rows = program.rows_of("grid", "weighted", ZOO["disconnected"](), 1, True)
    assert [row["sources"] for row in rows] == [8, 8]
    assert set(rows[0]["samples"]) >= {"cuda", "one core"}
    assert rows[1]["times_of_one_core"] > 0
    assert "times as long per source" in capsys.readouterr().out
