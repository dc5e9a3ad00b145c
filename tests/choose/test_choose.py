"""Automatic choice: ranking and inputs."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import nearfar
from nearfar import Graph, _cpu
from nearfar.choose import machine as choose_machine
from nearfar.choose import ranking as choose
from nearfar.choose.machine import CPU, H200, Machine
from nearfar.choose.ranking import estimates
from nearfar.cuda.device_graph import DEVICE_GRAPH, device_graph
from nearfar.errors import OptionError
from nearfar.generators import generate
from nearfar.graph import facts
from nearfar.graph.facts import degree_spread, estimated_hops, weight_spread
from nearfar.registry import Chosen, Request, priced, variants
from nearfar.system.devices import runtime


@contextlib.contextmanager
def assumed(device: str, what: Machine) -> Iterator[None]:
    """See the choices of another machine."""
    known, before = choose_machine.machine, choose_machine.generation
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose_machine, "machine", lambda d: what if d == device else known(d))
        patch.setattr(choose_machine, "generation", (before, what.measured, id(what)))
        yield


def first(graph: Graph, **fields: object) -> str:
    """Return the variant that auto chooses."""
    return choose.best(graph, Request(**fields))[0].id  # type: ignore[arg-type]


def faster(graph: Graph, request: Request) -> str:
    """Return the device with the lower estimate, as if a GPU were available."""
    cpu, cuda = (estimates(graph, request, device)[0] for device in ("cpu", "cuda"))
    return "cpu" if cpu.seconds < cuda.seconds else "cuda"


def seconds(graph: Graph, request: Request, device: str) -> dict[str, float]:
    """Return the estimates by variant."""
    return {choice.variant.id: choice.seconds for choice in estimates(graph, request, device)}


# --- what is ranked -------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", ["sssp", "batch", "all_pairs"])
@pytest.mark.parametrize("kind", ["weighted", "unweighted", "negative"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_kind_of_request_has_variants_that_state_a_cost(
    kind: str, device: str, problem: str
) -> None:
    graph = generate("uniform_random", vertices=60, degree=4)
    if kind == "unweighted":
        graph = graph.without_weights()
    if kind == "negative":
        weights = graph.weights.copy()  # type: ignore[union-attr]
        weights[3] = -1
        graph = Graph(graph.indptr, graph.indices, weights)
    request = Request(device=device, problem=problem, n_sources=1 if problem == "sssp" else 60)  # type: ignore[arg-type]
    ranked = estimates(graph, request, device)
    assert ranked
    names = [choice.variant.id for choice in ranked]
    assert len(set(names)) == len(names)
    assert set(names) <= {v.id for v in priced(device, problem)}
    costs = [choice.seconds for choice in ranked]
    assert costs == sorted(costs)
    assert all(cost > 0 and np.isfinite(cost) for cost in costs)
    assert all(choice.reason for choice in ranked)
    accepting = {choice.variant.weights for choice in ranked}
    assert "nonnegative" not in accepting or kind != "negative"
    assert "equal" not in accepting or kind == "unweighted"


def test_research_forms_are_never_chosen(grid: Graph) -> None:
    unpriced = {v.id for v in variants() if v.cost is None}
    assert {"dijkstra_fibonacci_heap@cpu", "crauser_fused@cuda", "bellman_ford@cpu"} <= unpriced
    found = choose.explain(grid, device="cpu", threads=1)
    assert not unpriced & {choice.variant.id for choice in found.ranking}
    assert found.others["dijkstra_fibonacci_heap@cpu"] == "never chosen: a research variant"
    assert found.others["goldberg_radzik@cpu"] == "never chosen for such a graph and request"


def test_one_search_of_a_dense_matrix_reads_it_in_place() -> None:
    dense = generate("uniform_random", vertices=2000, degree=300).astype(np.float64)
    assert first(dense, device="cpu", threads=1) == "delta_stepping@cpu"
    assert first(dense, device="cpu", threads=1, once=True) == "dijkstra_radix_heap@cpu"
    nearfar.sssp(dense, 0, method="delta_stepping@cpu")  # lays out the edges
    assert first(dense, device="cpu", threads=1, once=True) == "delta_stepping@cpu"


def test_large_batches_may_run_source_by_source() -> None:
    hubs = generate("kronecker", scale=16).without_weights()
    many = {"problem": "batch", "n_sources": 4, "device": "cpu", "threads": 2}
    assert first(hubs, **many) == "breadth_first@cpu"
    assert first(hubs, **{**many, "n_sources": 64}) == "breadth_first_lanes@cpu"
    deep = generate("grid", rows=300, columns=300).without_weights()
    assert first(deep, **{**many, "n_sources": 64}) != "breadth_first_lanes@cpu"
    assert choose.rank(hubs, Request(**many))[0].reason.startswith("source by source: ")  # type: ignore[arg-type]
    few = Request(**many, targets=np.arange(5))  # type: ignore[arg-type]
    assert choose.best(hubs, few)[0].id != "breadth_first@cpu"
    hops = np.ones(hubs.n_edges, dtype=np.int32)
    hops[0] = -1
    negative = Graph(hubs.indptr, hubs.indices, hops)
    ranked = estimates(negative, Request(**many), "cpu")  # type: ignore[arg-type]
    assert all("batch" in choice.variant.problems for choice in ranked)


def test_explain_gives_each_variant_one_place_or_one_reason(grid: Graph) -> None:
    found = choose.explain(grid, device="cpu", threads=1)
    ids = {choice.variant.id for choice in found.ranking} | set(found.others)
    assert ids == {v.id for v in variants(problem="sssp")}
    assert found.ranking[0].variant.id == first(grid, device="cpu", threads=1)
    assert found.statistics["edges"] == grid.n_edges
    assert found.machines == {"cpu": "defaults"}
    assert str(found).splitlines()[0].split()[1] == found.ranking[0].variant.id


def test_explain_says_what_a_gpu_would_take_where_none_is(
    grid: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "available", lambda: "no CUDA device: nobody plugged one in")
    found = choose.explain(grid, threads=1)
    assert found.others["near_far@cuda"] == "no CUDA device: nobody plugged one in"
    assert found.elsewhere["near_far@cuda"].startswith("an H200 ")
    assert "to upload" in found.elsewhere["near_far@cuda"]
    assert "breadth_first@cuda" not in found.elsewhere  # the graph has weights
    assert not choose.explain(grid, device="cpu", threads=1).elsewhere


def test_a_choice_is_made_once_a_graph(grid: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    before = first(grid, device="cpu")
    monkeypatch.setattr(choose, "_candidates", lambda *_: iter(()))
    assert first(grid, device="cpu") == before
    with pytest.raises(nearfar.errors.VariantUnavailable):
        choose.best(grid, Request(device="cpu", threads=7))


def test_weights_that_differ_wildly_go_to_buckets_as_others_do() -> None:
    """The first width accounts for the range of weights; a heap takes two to four times as long."""
    graph = generate("uniform_random", vertices=30_000, degree=8)
    drawn = np.random.default_rng(1)
    wild = np.exp(drawn.uniform(0, 30, graph.n_edges)).astype(np.int64)
    even = graph
    assert weight_spread(even) < 2
    assert first(even, device="cpu") == "delta_stepping@cpu"
    uneven = Graph(graph.indptr, graph.indices, wild)
    assert weight_spread(uneven) > 1000
    assert first(uneven, device="cpu") == "delta_stepping@cpu"


@pytest.mark.parametrize(
    ("dtype", "decades", "heap"),
    [
        ("float64", 6, False),
        ("float64", 40, False),
        ("float32", 70, False),
        ("float64", 120, True),
        ("float64", 600, True),
    ],
)
def test_floats_over_very_many_decades_go_to_a_heap(dtype: str, decades: int, heap: bool) -> None:
    """No width of buckets suits them for long, and a search with a heap takes less time."""
    graph = generate("grid", rows=300, columns=300)
    powers = np.random.default_rng(1).uniform(-decades / 2, decades / 2, graph.n_edges)
    graph = Graph.from_csr(graph.indptr, graph.indices, (10.0**powers).astype(dtype))
    chosen = first(graph, device="cpu", threads=1)
    assert ("heap" in chosen) == heap != (chosen == "delta_stepping@cpu")
    nearfar.verify(graph, nearfar.sssp(graph, 0, threads=1))


def test_a_path_goes_to_buckets_and_no_weights_to_levels() -> None:
    path = generate("path", vertices=20_000)
    assert first(path, device="cpu") == "delta_stepping@cpu"
    assert first(path.without_weights(), device="cpu") in (
        "breadth_first@cpu",
        "dijkstra_dary_heap@cpu",
    )
    many = generate("kronecker", scale=12).without_weights()
    assert first(many, device="cpu") == "breadth_first@cpu"


def test_workers_are_for_graphs_that_keep_them_busy(grid: Graph) -> None:
    small = generate("uniform_random", vertices=2000, degree=8)
    large = generate("uniform_random", vertices=400_000, degree=8)
    assert first(small, device="cpu", threads=2) == "delta_stepping@cpu"
    assert first(large, device="cpu", threads=2) == "delta_stepping_parallel@cpu"
    assert first(large, device="cpu", threads=1) == "delta_stepping@cpu"
    few = nearfar.sssp(small, 0, device="cpu", threads=2)
    assert few.stats["workers"] == 1
    assert few.reason.endswith("one of 2 workers")
    assert nearfar.sssp(large, 0, device="cpu", threads=2).stats["workers"] in (1, 2)


def test_many_sources_share_lanes_where_their_searches_run_alike(grid: Graph) -> None:
    many = {"problem": "batch", "n_sources": 256, "device": "cpu"}
    for graph in (
        generate("uniform_random", vertices=2000, degree=8),
        generate("kronecker", scale=10),
    ):
        assert first(graph, **many) == "lanes@cpu"
    many["n_sources"] = 16  # more would repay preparing these two
    for graph in (grid, generate("path", vertices=5000)):
        assert first(graph, **many) == "worker_per_source@cpu"
    many["n_sources"] = 32
    assert first(generate("grid", rows=25, columns=25), **many) == "lanes@cpu"
    mesh = generate("delaunay", vertices=20_000)
    assert first(mesh, **{**many, "n_sources": 64}) == "worker_per_source@cpu"
    assert first(mesh, **{**many, "n_sources": 512}) != "lanes@cpu"
    assert first(grid, problem="batch", n_sources=4, device="cpu") == "worker_per_source@cpu"


@pytest.mark.parametrize(
    ("family", "size", "queue"),
    [
        ("grid", {"rows": 300, "columns": 300}, "delta_stepping@cpu"),
        ("path", {"vertices": 5000}, "delta_stepping@cpu"),
        ("grid", {"rows": 20, "columns": 20}, "dijkstra_dary_heap@cpu"),
    ],
)
def test_a_worker_is_priced_by_the_queue_that_it_takes(
    family: str, size: dict[str, int], queue: str
) -> None:
    graph = generate(family, **size)
    single = seconds(graph, Request(), "cpu")
    many = Request(problem="batch", n_sources=100)
    batch = seconds(graph, many, "cpu")
    assert 0.3 < batch["worker_per_source@cpu"] / 100 / single[queue] < 1.6
    shared = seconds(graph, many._replace(threads=2), "cpu")
    ratio = batch["worker_per_source@cpu"] / shared["worker_per_source@cpu"]
    assert ratio == pytest.approx(2)


def test_a_family_on_a_device_is_ranked_as_well() -> None:
    """Regression: ``dijkstra@cpu`` was the first of its family, which scans all vertices."""
    graph = generate("grid", rows=60, columns=50)
    by_family = nearfar.sssp(graph, 0, method="dijkstra", device="cpu").engine
    assert nearfar.sssp(graph, 0, method="Dijkstra@CPU").engine == by_family != "dijkstra_array@cpu"
    with pytest.raises(OptionError, match="names cpu, but device is 'cuda'"):
        nearfar.sssp(graph, 0, method="dijkstra@cpu", device="cuda")


# --- the statistics -------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("family", "size"),
    [
        ("grid", {"rows": 90, "columns": 80}),
        ("path", {"vertices": 200}),
        ("path", {"vertices": 30}),
        ("kronecker", {"scale": 12}),
        ("star", {"vertices": 9000}),
        ("uniform_random", {"vertices": 3000, "degree": 2}),
        ("complete", {"vertices": 60}),
    ],
)
def test_balls_of_host_and_device_are_the_same(
    family: str, size: dict[str, int], index: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels, their last vertex, and completeness agree; also with smaller limits."""
    graph = generate(family, **size)
    arrays = graph.indptr.astype(index), graph.indices.astype(index)
    for row, levels in ((4096, 64), (5, 64), (4096, 3)):
        monkeypatch.setattr(facts, "_ROW", row)
        monkeypatch.setattr(facts, "_LEVELS", levels)
        for start in (0, graph.n_vertices - 1, graph.widest_vertex):
            limits = facts._BALL, facts._EDGES, levels, row
            found = _cpu.ball(*arrays, start, *limits)
            assert found == facts._ball_on_device(graph, start)


def test_a_ball_is_around_a_vertex() -> None:
    graph = generate("path", vertices=5)
    for start in (-1, 5):
        with pytest.raises(IndexError, match="start is not a vertex"):
            _cpu.ball(graph.indptr, graph.indices, start, 9, 9, 9, 9)
    with pytest.raises(TypeError, match="indptr and indices differ"):
        _cpu.ball(graph.indptr.astype(np.int64), graph.indices, 0, 9, 9, 9, 9)


@pytest.mark.parametrize(
    ("family", "parameters", "low", "high"),
    [
        ("path", {"vertices": 20_000}, 10_000, 40_000),
        ("star", {"vertices": 20_000}, 1, 8),
        ("grid", {"rows": 400, "columns": 400}, 300, 2400),
        ("kronecker", {"scale": 14}, 1, 12),
        ("complete", {"vertices": 60}, 1, 1),
    ],
)
def test_estimated_hops(family: str, parameters: dict[str, int], low: float, high: float) -> None:
    graph = generate(family, **parameters)
    assert low <= estimated_hops(graph) <= high


@pytest.mark.parametrize("seed", [1, 2])
def test_an_acyclic_graph_is_not_long_because_a_vertex_reaches_few_others(seed: int) -> None:
    """Its levels become smaller and smaller, while a part of a path has levels of one size."""
    rng, n = np.random.default_rng(seed), 20_000
    tails = rng.integers(0, n - 1, 4 * n)
    heads = tails + 1 + (rng.random(4 * n) * (n - 1 - tails)).astype(int)
    graph = Graph.from_edges(*rng.permutation(n)[[tails, heads]], n_vertices=n)
    assert 10 <= estimated_hops(graph) < 18  # 37 and 39 by the growth of the ball
    assert facts._ends_soon([1, 9, 49, 129, 169, 179])
    assert not facts._ends_soon([1, 101, 102, 103, 104])
    assert not facts._ends_soon([1, 3])


def test_statistics_of_graphs_with_nothing_in_them() -> None:
    for n in (1, 5):
        graph = Graph.from_edges([], [], n_vertices=n)
        assert estimated_hops(graph) == 0
        assert weight_spread(graph) == 1
        assert degree_spread(graph) == 0
        assert choose.explain(graph, device="cpu").ranking
    huge = Graph.from_edges([0, 1], [1, 0], [1e308, 1e308])  # their sum is infinite
    assert weight_spread(huge) == 1
    zeros = Graph.from_edges([0, 1, 2], [1, 2, 0], [0, 0, 0])
    assert weight_spread(zeros) == 1
    assert degree_spread(generate("star", vertices=100)) > 40


# --- where the graph lies, and what moving it costs ----------------------------------------------


def test_a_graph_on_the_host_is_worth_moving_only_when_large() -> None:
    small = generate("uniform_random", vertices=1000, degree=8)
    large = generate("kronecker", scale=18)
    request = Request(threads=1)
    assert faster(small, request) == "cpu"
    assert faster(large, request) == "cuda"
    with assumed("cuda", replace(H200, transfer=1e8)):  # a slow bus
        assert faster(large, request) == "cpu"
        DEVICE_GRAPH.put(large, object())  # with the graph on the device, only distances are copied
        assert faster(large, request) == "cuda"
        DEVICE_GRAPH.drop(large)


def test_transfer_is_in_the_estimate_and_in_the_reason(grid: Graph) -> None:
    cold = seconds(grid, Request(), "cuda")
    assert "to upload" in estimates(grid, Request(), "cuda")[0].reason
    DEVICE_GRAPH.put(grid, object())
    ranked = estimates(grid, Request(), "cuda")
    moved = (8 * grid.n_edges + 8 * grid.n_vertices) / H200.transfer
    moved += choose._FRESH[0] + choose._FRESH[1] * grid.n_vertices
    for choice in ranked:
        assert cold[choice.variant.id] - choice.seconds == pytest.approx(moved, rel=1e-6)
    assert "on the device" in ranked[0].reason


def test_cores_take_what_ends_early(emulated_gpu: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "_gpu_is_worth", lambda *_: True)
    made = generate("grid", rows=300, columns=300)
    with assumed("cpu", replace(CPU, factors={v.id: 1e3 for v in priced("cpu", "sssp")})):
        assert first(made, threads=2).endswith("@cuda")
        for limit, device in ((made.mean_weight * 5, "cpu"), (made.mean_weight * 900, "cuda")):
            assert first(made, sources=(7,), limit=limit, threads=2).endswith(device)


def test_many_sources_pay_for_the_move() -> None:
    graph = generate("uniform_random", vertices=1000, degree=8)
    assert faster(graph, Request(threads=2)) == "cpu"
    many = Request(problem="batch", n_sources=4096, threads=2)
    assert faster(graph, many) == "cuda"


def test_a_batch_pays_what_was_measured_of_the_bus() -> None:
    graph = generate("uniform_random", vertices=1000, degree=8)
    many = Request(problem="batch", n_sources=64)
    moved = 8 * graph.n_edges + 8 * graph.n_vertices + 64 * graph.n_vertices * 4
    usual = seconds(graph, many, "cuda")
    with assumed("cuda", replace(H200, transfer=1e9)):
        for name, cost in seconds(graph, many, "cuda").items():
            assert cost - usual[name] == pytest.approx(moved / 1e9 - moved / H200.transfer)
    DEVICE_GRAPH.put(graph, object())
    there = seconds(graph, many, "cuda")
    assert there["lanes@cuda"] < usual["lanes@cuda"]


def test_a_graph_on_the_device_stays_there(emulated_gpu: object) -> None:
    graph = generate("uniform_random", vertices=30, degree=4)
    assert first(graph, device="auto").endswith("@cpu")
    graph.on_device = True
    with assumed("cpu", Machine(factors={v.id: 1e6 for v in variants(device="cpu")}, gain=1.5)):
        assert first(graph, device="auto").endswith("@cuda")


def test_the_reach_is_measured_where_the_choice_hangs_on_it_alone(
    emulated_gpu: object, monkeypatch: pytest.MonkeyPatch, grid: Graph
) -> None:
    asked: list[Graph] = []
    measured = facts.estimated_hops
    monkeypatch.setattr(facts, "estimated_hops", lambda g: asked.append(g) or measured(g))
    below = Graph.from_edges([0, 1], [1, 2], [1, -1])
    for graph, name in (
        (grid, "near_far@cuda"),
        (grid.without_weights(), "breadth_first@cuda"),
        (below, "bellman_ford_persistent@cuda"),
    ):
        assert first(graph, device="cuda") == name
    assert not asked
    every = Request(device="cuda", problem="all_pairs", n_sources=grid.n_vertices)
    for factor, name in ((1e6, "block_per_source_global@cuda"), (1e-3, "prepare_first@cuda")):
        slow = dict.fromkeys(("block_per_source@cuda", "floyd_warshall@cuda"), 1e3)
        fast = {**slow, "prepare_first@cuda": factor}
        grid.forget()
        with assumed("cuda", replace(H200, factors=fast)):
            assert choose.best(grid, every)[0].id == name
        assert bool(asked) == (factor < 1)


def test_a_first_choice_measures_hops_only_if_that_may_save_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Graph] = []
    measured = facts.estimated_hops
    monkeypatch.setattr(facts, "estimated_hops", lambda g: asked.append(g) or measured(g))
    small = generate("uniform_random", vertices=8000, degree=6)
    for threads, call, measures in ((2, 1, False), (2, 2, True), (2, 3, True)):
        assert first(small, threads=threads).startswith("delta_stepping"), call
        assert bool(asked) == measures, call
    asked.clear()
    first(generate("uniform_random", vertices=30_000, degree=6), threads=16)
    assert asked


def test_an_upload_clears_the_choices(emulated_gpu: object, grid: Graph) -> None:
    first(grid, device="auto", threads=2)
    assert choose.CHOICES.held(grid)
    device_graph(grid)
    assert not choose.CHOICES.held(grid)  # a GPU would be cheaper now
    first(grid, device="auto", threads=2)
    device_graph(grid)
    assert choose.CHOICES.held(grid)


def test_a_kept_choice_may_require_more_than_its_key(grid: Graph) -> None:
    """As a variant outside the package may."""
    request = Request(device="cpu")
    usual, _ = choose.best(grid, request)
    (key,) = choose.CHOICES.held(grid)
    picky = replace(usual, requires=lambda graph, asked: asked.limit is None or "has a limit")
    choose.CHOICES.put(grid, (Chosen(picky, "kept"),), key)
    assert choose.best(grid, request)[0] is picky
    assert choose.best(grid, request._replace(limit=5))[0] is usual


def test_a_graph_larger_than_the_device_stays_on_the_host(
    emulated_gpu: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nearfar.system.devices import runtime

    graph = generate("uniform_random", vertices=200, degree=4)
    slow = Machine(factors={v.id: 1e6 for v in variants(device="cpu")}, gain=1.5)
    tiny = runtime.device()._replace(memory=1000)
    with assumed("cpu", slow):
        assert first(graph, device="auto").endswith("@cuda")
        monkeypatch.setattr(runtime, "device", lambda: tiny)
        graph.forget()
        assert first(graph, device="auto").endswith("@cpu")


def test_a_gpu_in_use_is_considered_for_shorter_searches(emulated_gpu: object) -> None:
    graph = generate("uniform_random", vertices=300, degree=4)
    (cpu, *_) = priced("cpu", "sssp")
    quick, quicker = (choose.Choice(cpu, seconds, "") for seconds in (1e-3, 1e-4))
    assert not choose._gpu_is_worth(graph, [quick])
    device_graph(graph)
    assert choose._gpu_is_worth(graph, [quick])
    assert not choose._gpu_is_worth(graph, [quicker])


def test_no_gpu_is_looked_for_where_none_can_win(monkeypatch: pytest.MonkeyPatch) -> None:
    from nearfar.system.devices import runtime

    def asked() -> str:
        raise AssertionError("looked for a GPU")

    monkeypatch.setattr(runtime, "available", asked)
    graph = generate("uniform_random", vertices=100, degree=4)
    assert choose.best(graph, Request(device="auto"))[0].device == "cpu"


def test_cores_search_while_a_device_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second for CuPy, which a thread takes."""
    may_go_on, asked = threading.Event(), []
    monkeypatch.setattr(runtime, "opened", 0)
    monkeypatch.setattr(runtime, "_opening", None)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(runtime.importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(runtime, "import_and_open", lambda: may_go_on.wait(60))
    monkeypatch.setattr(runtime, "available", lambda: asked.append(1) or "none")
    graph = generate("uniform_random", vertices=100_000, degree=6)
    request = Request(device="auto")
    for _ in range(2):
        assert choose.best(graph, request)[0].device == "cpu"
    assert not asked
    choose.rank(graph, request)  # of all variants
    assert len(asked) == 1
    with assumed("cpu", replace(CPU, factors={v.id: 1e3 for v in priced("cpu", "sssp")})):
        choose.best(graph, request)  # takes longer than opening a device
    assert len(asked) == 2
    may_go_on.set()
    assert runtime._opening is not None
    runtime._opening.join()
    assert len(asked) == 3
    choose.best(graph, request)
    assert len(asked) == 4  # chosen again, with the device


# --- searches that stop early, uneven weights, long paths -----------------------------------------


def weighted(graph: Graph, decades: int, dtype: str) -> Graph:
    weights = np.ceil(10 ** (decades * np.random.default_rng(0).random(graph.n_edges)))
    return Graph.from_csr(graph.indptr, graph.indices, weights.astype(dtype))


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("decades", [6, 9])
def test_no_sweep_of_lanes_over_a_mesh_of_uneven_weights(decades: int, dtype: str) -> None:
    """One width suits few of these weights: sweeps take 9 to 14 times as long as searches."""
    mesh = weighted(generate("delaunay", vertices=20_000), decades, dtype)
    request = Request(problem="batch", n_sources=512, device="cpu", threads=2)
    taken = seconds(mesh, request, "cpu")
    assert taken["worker_per_source@cpu"] < taken["lanes@cpu"] / 2


def test_a_long_path_at_a_hub_stays_on_the_cpu() -> None:
    """A ball around the hub has thousands of leaves after one hop, and nothing of the path."""
    v = np.arange(1, 300_000)
    broom = Graph.from_edges(np.where(v < 5000, 0, v - 1), v, np.ones(len(v), np.int32),
                             directed=False)  # fmt: skip
    assert estimated_hops(broom) > 50_000
    assert faster(broom, Request(device="auto", threads=1)) == "cpu"


@pytest.mark.parametrize("shape", ["path", "cycle", "caterpillar", "strip", "deep tree"])
def test_graphs_of_few_vertices_per_hop_stay_on_a_core(shape: str) -> None:
    """A device takes a step per hop, and such steps have almost no work."""
    n = 400_000
    v = np.arange(1, n)
    before = {
        "path": v - 1,
        "cycle": v - 1,
        "caterpillar": np.where(v < n // 2, v - 1, v - n // 2),
        "strip": np.maximum(v - 4, 0),
        "deep tree": v - 1 - np.minimum(v - 1, np.random.default_rng(0).integers(0, 8, n - 1)),
    }[shape]
    s, t = (before, v) if shape != "cycle" else (np.append(before, n - 1), np.append(v, 0))
    graph = Graph.from_edges(s, t, np.ones(len(s), np.int32), n_vertices=n, directed=False)
    assert n / estimated_hops(graph) < 20
    assert faster(graph, Request(device="auto", threads=1)) == "cpu"


def test_a_graph_that_adds_as_a_search_is_searched_where_searches_stop_early() -> None:
    graph = generate("road_like", vertices=60_000)
    prepared = nearfar.prepare(graph)
    for dtype in ("float32", "float64"):
        roads = prepared.reweight(graph.weights.astype(dtype)).summing("search")
        searched_where_searches_stop_early(roads)


def searched_where_searches_stop_early(roads: nearfar.Prepared) -> None:
    far = nearfar.sssp(roads, 7).distances
    order = np.argsort(far)
    some = order[:240:2]
    call = {"device": "cpu", "threads": 1}
    cases = (
        (some, {"targets": order[:200:20]}, "worker_per_source@cpu"),
        (some, {"limit": float(far[order[9000]])}, "worker_per_source@cpu"),
        (some, {"limit": float(far[order[100]])}, "bounded@cpu"),
    )
    for sources, given, engine in cases:
        stats: dict[str, object] = {}
        found = nearfar.distances(roads, sources, stats=stats, **call, **given)
        assert stats["engine"] == engine, (given, stats["reason"])
        same = nearfar.distances(roads, sources, method="elimination_tree_rows", **call, **given)
        np.testing.assert_array_equal(found, same)


def test_no_probe_where_it_would_take_a_large_part_of_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probed: list[object] = []
    monkeypatch.setattr(choose, "share_of_edges", lambda *given: probed.append(given) or 1.0)
    roads = nearfar.prepare(generate("road_like", vertices=20_000))
    nearfar.distances(roads, range(100), targets=range(300), threads=1, device="cpu")  # fast
    plain = generate("road_like", vertices=20_000)
    nearfar.distances(plain, range(20), targets=range(300), threads=1, device="cpu")
    nearfar.distances(plain, range(400), threads=1, device="cpu")  # nothing stops early
    assert not probed
    plain = generate("road_like", vertices=20_000)  # the one above may be prepared by now
    nearfar.distances(plain, range(400), targets=range(300), threads=1, device="cpu")
    assert len(probed) == 1


def test_choices_that_are_held_are_bounded() -> None:
    roads = generate("road_like", vertices=300)
    for limit in range(1, 400):
        nearfar.distances(roads, [1, 2], limit=limit, threads=1, device="cpu")
    assert len(choose.CHOICES.held(roads)) <= 256
