"""Methods whose estimates are close are compared by later searches of a graph."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, Paths
from nearfar.choose import machine as choose_machine
from nearfar.choose import measured, ranking
from nearfar.choose.machine import Machine
from nearfar.choose.ranking import Choice, best
from nearfar.generators import generate
from nearfar.graph.same_distances import backbone
from nearfar.options import Device
from nearfar.registry import CHOICES, Chosen, Declined, Request, find
from nearfar.solve.steps import plan
from nearfar.solve.steps.plan import first_plan
from nearfar.system.devices import compiler, runtime
from tests.graph.test_backbone import hubs


@pytest.fixture
def graph() -> Graph:
    made = generate("uniform_random", vertices=3000, degree=4)
    return Graph(made.indptr, made.indices, np.full(made.n_edges, 3, np.int32))


def _run(graph: Graph, request: Request, seconds: dict[str, float]) -> str:
    """Let ``auto`` choose, and record that the search took these seconds."""
    variant, _ = best(graph, request)
    stats = {"edges_relaxed": graph.n_edges, "seconds": seconds.get(variant.id, 9.0)}
    measured.record(graph, request, variant, stats)
    return variant.id


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_the_fastest_method_is_kept(graph: Graph, place: int) -> None:
    request = Request(device="cpu", threads=2)
    first, _ = best(graph, request)
    (rivals,) = CHOICES.held(graph).values()
    assert rivals[0][0] is first
    assert 2 <= len(rivals) <= measured.MOST
    fastest = rivals[min(place, len(rivals) - 1)][0].id
    chosen = [_run(graph, request, {fastest: 1.0}) for _ in range(3 * len(rivals) + 4)]
    assert chosen[: 2 * len(rivals)] == [r.variant.id for r in rivals for _ in range(2)]
    assert set(chosen[3 * len(rivals) :]) == {fastest}
    variant, reason = best(graph, request)
    assert variant.id == fastest
    assert reason.endswith("the fastest measured")


@pytest.mark.parametrize(("early", "late", "kept"), [(1.25, 0.8, 1), (1.25, 1.1, 0), (1.4, 0.8, 0)])
def test_a_method_that_becomes_faster_is_compared_once_it_has(
    graph: Graph, early: float, late: float, kept: int
) -> None:
    """Unless its first searches take much longer than those of the fastest method."""
    ids = ["delta_stepping@cpu", "delta_stepping_parallel@cpu", "dijkstra_array@cpu"]
    rivals = tuple(Chosen(find(name)[0], "") for name in ids)
    request, ran = Request(device="cpu", threads=4), []
    for _ in range(3 * measured.SETTLED):
        variant = measured.fastest(graph, request, rivals).variant
        ran.append(variant.id)
        learnt = ran.count(ids[1]) > measured.SETTLED // 2
        seconds = {ids[0]: 1.0, ids[1]: late if learnt else early, ids[2]: 1.2}[variant.id]
        stats = {"edges_relaxed": graph.n_edges, "seconds": seconds}
        measured.record(graph, request, variant, stats)
    assert ran[-1] == ids[kept]
    assert ran.count(ids[1]) >= measured.SETTLED if early < measured.AHEAD else 2
    assert ran.count(ids[2]) == 2


def test_only_searches_of_most_of_a_graph_count(graph: Graph) -> None:
    request = Request(device="cpu", threads=2)
    first, _ = best(graph, request)
    for other in (
        Request(device="cpu", threads=2, limit=5),
        Request(device="cpu", threads=2, targets=np.array([1])),
        Request(device="cpu", threads=2, once=True),
    ):
        for _ in range(9):
            stats = {"edges_relaxed": graph.n_edges, "seconds": 0.1}
            measured.record(graph, other, first, stats)
    for _ in range(9):
        measured.record(graph, request, first, {"edges_relaxed": 5, "pushes": 5, "seconds": 0.1})
    assert best(graph, request)[0] is first


def test_one_thread_compares_no_method_for_several(graph: Graph) -> None:
    best(graph, Request(device="cpu", threads=1))
    (rivals,) = CHOICES.held(graph).values()
    assert len(rivals) > 1
    assert not any(rival.variant.parallel for rival in rivals)


NAMES = ["near_far@cuda", "delta_stepping@cpu", "near_far_host_loop@cuda", "dijkstra_array@cpu"]


def test_one_method_on_a_gpu_is_compared_with_those_on_cores(graph: Graph) -> None:
    choices = [Choice(find(name)[0], 1.0 + i / 10, "") for i, name in enumerate(NAMES)]
    for first, kept in ((0, [0, 1, 3]), (1, [1, 3, 2])):
        found = ranking._rivals(Request(threads=4), choices[first], iter(choices[first + 1 :]))
        assert [rival.variant.id for rival in found] == [NAMES[i] for i in kept]
    (alone,) = ranking._rivals(Request(device="cuda"), choices[0], iter(choices[1:]))
    assert alone.variant is choices[0].variant
    measured.fastest(graph, Request(), found)
    for request in (Request(), Request(device="cuda")):
        for _ in range(3):
            stats = {"edges_relaxed": graph.n_edges, "seconds": 0.1}
            measured.record(graph, request, choices[0].variant, stats)
    assert measured._TIMES.get(graph, Request().threads).times == {NAMES[0]: (2, 0.1)}


@pytest.mark.parametrize(
    ("cpu", "taken", "downloads"), [(1.0, 9.0, 0.0), (40.0, 90.0, 0.0), (3.0, 3.5, 3.0)]
)
def test_cores_are_tried_if_their_estimate_is_close_to_the_time_on_a_gpu(
    graph: Graph, cpu: float, taken: float, downloads: float
) -> None:
    """The estimate for the GPU is 1 ms, and its searches take 2 ms."""
    gpu, host = (find(name)[0] for name in NAMES[:2])
    rivals = ranking._rivals(
        Request(threads=1), Choice(gpu, 1e-3, ""), iter([Choice(host, cpu * 1e-3, "")])
    )
    ran = []
    for _ in range(200):
        variant = measured.fastest(graph, Request(threads=1), rivals).variant
        ran.append(variant.id)
        seconds = 2e-3 if variant is gpu else taken * 1e-3
        stats = {"edges_relaxed": graph.n_edges // 20, "pushes": graph.n_vertices}
        measured.record(graph, Request(threads=1), variant, stats | {"seconds": seconds})
        if variant is gpu:
            measured.downloaded(graph, 1, downloads * 1e-3)
    close = cpu < measured.CLOSE * (2 + downloads)
    assert (host.id in ran) is close
    assert ran[-1] == (host.id if taken < 2 + downloads else gpu.id)
    if close:
        tried = ran.index(host.id)
        assert (tried - 1) * (2 + downloads) >= measured.RUNS * cpu
        assert ran[tried : tried + 2] == [host.id] * 2


def test_the_first_method_takes_part_although_it_copies_the_graph(graph: Graph) -> None:
    gpu, host = (find(name)[0] for name in NAMES[:2])
    choices = [Choice(gpu, 3e-3, "", once=2e-3), Choice(host, 9e-3, "")]
    rivals = ranking._rivals(Request(), choices[0], iter(choices[1:]))
    assert measured.fastest(graph, Request(), rivals).variant is gpu


def test_a_gpu_is_tried_once_searches_took_as_long_as_copying_the_graph(graph: Graph) -> None:
    gpu, host = (find(name)[0] for name in NAMES[:2])
    choices = [Choice(host, 1e-3, ""), Choice(gpu, 20.1e-3, "", once=20e-3)]
    rivals = ranking._rivals(Request(), choices[0], iter(choices[1:]))
    ran = []
    for _ in range(40):
        variant = measured.fastest(graph, Request(), rivals).variant
        ran.append(variant.id)
        seconds = 1e-3 if variant is host else 1e-4
        stats = {"edges_relaxed": graph.n_edges, "seconds": seconds}
        measured.record(graph, Request(), variant, stats)
    assert ran == [host.id] * 22 + [gpu.id] * 18


@pytest.mark.parametrize("first", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.usefixtures("emulated_gpu")
def test_both_kinds_of_device_search_a_graph_of_the_host(
    first: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CPU meanwhile leaves out longer edges, and keeps its distances apart from a device's."""
    for name, value in (("MANY_EDGES", 1), ("_SECONDS", (1e-15, 0.0)), ("FEWER", 1.0)):
        monkeypatch.setattr(backbone, name, value)
    monkeypatch.setattr(runtime, "compiling_in_background", lambda _=True: nullcontext())
    monkeypatch.setattr(measured, "SHORT", 0.0)
    monkeypatch.setattr(ranking, "_gpu_is_worth", lambda *_: True)
    monkeypatch.setattr(ranking, "_FRESH", (0.0, 0.0))
    factors = {} if first == "cpu" else {"near_far@cuda": 1e-6}
    speeds = Machine(factors=factors, transfer=1e12, launch=1e-4 if first == "cpu" else 1e-9)
    here = choose_machine.machine("cpu")
    monkeypatch.setattr(choose_machine, "machine", lambda d: speeds if d == "cuda" else here)
    monkeypatch.setattr(measured, "CLOSE", 1e6)
    graph, engines = hubs(dtype, False, 150), []
    wanted = nearfar.sssp(graph, 3, method="dijkstra", device="cpu")
    for _ in range(120):
        paths = nearfar.sssp(graph, 3, threads=1)
        assert np.array_equal(paths.distances, wanted.distances)
        assert np.array_equal(paths.predecessors, wanted.predecessors)
        engines.append(paths.engine.partition("@")[2])
    assert engines[0] == first
    assert 2 <= engines.count("cuda") < 60
    assert engines[-1] == "cpu"  # an emulated device is slow
    assert backbone._state(graph).shorter is not None


def test_cores_search_while_kernels_are_compiled(
    held_compiler: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "_gpu_is_worth", lambda *_: True)
    monkeypatch.setattr(ranking, "_FRESH", (0.0, 0.0))
    monkeypatch.setattr(measured, "CLOSE", 0.0)
    here, there = choose_machine.machine("cpu"), Machine({"near_far@cuda": 1e-6}, 1e12, 1e-9)
    monkeypatch.setattr(choose_machine, "machine", lambda d: there if d == "cuda" else here)
    graph = hubs("int32", True, 150)
    wanted = nearfar.sssp(graph, 3, method="dijkstra", device="cpu")

    def solved(device: Device = "auto") -> Paths:
        paths = nearfar.sssp(graph, 3, device=device, threads=1)
        assert np.array_equal(paths.distances, wanted.distances)
        assert np.array_equal(paths.predecessors, wanted.predecessors)
        return paths

    assembled: list[Any] = []
    assemble = compiler.assemble
    monkeypatch.setattr(compiler, "assemble", lambda f: assembled.append(f) or assemble(f))
    for _ in range(4):
        paths = solved()
        assert paths.engine.endswith("@cpu")
        assert "compiled meanwhile" in paths.reason
    assert len(assembled) == 1  # it takes milliseconds
    held_compiler.set()
    for _ in range(20):  # one program after the other
        compiler.finish_background()
        if nearfar.sssp(graph, 3, threads=1).engine.endswith("@cuda"):
            break
    held_compiler.clear()
    paths = solved()
    assert paths.engine == "near_far@cuda"
    assert "predecessor_device_seconds" not in paths.stats
    held_compiler.set()
    compiler.finish_background()
    assert "predecessor_device_seconds" in solved().stats
    monkeypatch.setattr(plan, "_COMPILED", 0)  # a larger graph waits
    runtime._programs.clear()
    monkeypatch.setattr(compiler, "_in_background", {})
    assert nearfar.sssp(hubs("int32", True, 160), 3).engine == "near_far@cuda"


@pytest.mark.parametrize("more", [{}, {"reduce": "sum"}, {"targets": [4, 9]}])
def test_cores_make_rows_while_kernels_are_compiled(
    held_compiler: threading.Event, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    monkeypatch.setattr(ranking, "_gpu_is_worth", lambda *_: True)
    here, there = choose_machine.machine("cpu"), Machine({"lanes@cuda": 1e-9}, 1e12, 1e-9)
    monkeypatch.setattr(choose_machine, "machine", lambda d: there if d == "cuda" else here)
    graph, sources = hubs("int32", True, 150), range(40)
    wanted = nearfar.distances(graph, sources, device="cpu", **more)

    def engine() -> str:
        stats: dict[str, Any] = {}
        found = nearfar.distances(graph, sources, threads=1, stats=stats, **more)
        np.testing.assert_array_equal(found, wanted)
        return str(stats["engine"])

    for _ in range(3):
        assert engine().endswith("@cpu")
    held_compiler.set()
    for _ in range(9):  # one program after the other
        compiler.finish_background()
        if engine() == "lanes@cuda":
            break
    assert engine() == "lanes@cuda"


def test_the_fastest_method_so_far_makes_rows_while_kernels_of_another_are_compiled(
    held_compiler: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cores would take longer than the GPU's method that is compiled already."""
    graph, sources = hubs("int32", True, 150), range(8)
    wanted = nearfar.distances(graph, sources, device="cpu")
    held_compiler.set()
    nearfar.distances(graph, sources, method="near_far_per_source@cuda")
    compiler.finish_background()
    held_compiler.clear()
    first, slow = (find(f"{name}@cuda")[0] for name in ("near_far_per_source", "lanes"))
    monkeypatch.setattr(ranking, "_gpu_is_worth", lambda *_: True)
    rivals = Chosen(slow, ""), Chosen(first, "")
    monkeypatch.setattr(ranking, "_close", lambda *_: rivals)
    request = Request("batch", tuple(sources), len(sources), threads=1)
    measured.fastest(graph, request, rivals)
    for _ in range(2):
        measured.record_run(graph, request, first, 1e-3)
    stats: dict[str, Any] = {}
    for _ in range(3):
        found = nearfar.distances(graph, sources, threads=1, stats=stats)
        np.testing.assert_array_equal(found, wanted)
        assert stats["engine"] == first.id
        assert "kernels of lanes@cuda are compiled meanwhile" in stats["reason"]
    held_compiler.set()
    compiler.finish_background()
    nearfar.distances(graph, sources, threads=1, stats=stats)
    assert stats["engine"] == slow.id


def test_the_bits_are_the_same_whatever_is_chosen(graph: Graph) -> None:
    answers = [nearfar.sssp(graph, 7, device="cpu", threads=2) for _ in range(10)]
    assert len({paths.engine for paths in answers}) > 1
    for paths in answers:
        assert np.array_equal(paths.distances, answers[0].distances)
        nearfar.verify(graph, paths)


def test_a_method_that_declines_is_not_compared_again(graph: Graph) -> None:
    request = Request(device="cpu", threads=2)
    best(graph, request)
    (rivals,) = CHOICES.held(graph).values()
    times = {rival.variant.id: 1.0 for rival in rivals}
    _run(graph, request, times)
    _run(graph, request, times)
    second = rivals[1][0]
    plan = first_plan(graph, request, "auto", {})
    assert plan.variant is second
    assert plan.without(Declined("no memory")).variant is rivals[0][0]


@pytest.mark.parametrize(("columns", "thin"), [(2, True), (100, False)])
def test_heaps_are_compared_where_few_vertices_wait(columns: int, thin: bool) -> None:
    """The first search finds that few do, and a short heap is faster than buckets of few."""
    places = np.arange(20_000).reshape(-1, columns)
    ends = [
        np.r_[x.ravel(), y.ravel()]
        for x, y in ((places[:, 1:], places[1:]), (places[:, :-1], places[:-1]))
    ]
    weights = np.random.default_rng(1).random(len(ends[0]))
    graph = Graph.from_edges(*ends, weights, directed=False)
    ran = set()
    for _ in range(9):
        paths = nearfar.sssp(graph, 0, device="cpu", threads=1)
        nearfar.verify(graph, paths)
        ran.add(paths.engine)
    assert "delta_stepping@cpu" in ran
    assert any("heap" in engine for engine in ran) == thin


@pytest.mark.parametrize("fast", [0, 1, 2])
def test_methods_for_many_sources_are_compared_once_runs_took_as_long(
    graph: Graph, fast: int
) -> None:
    """While their estimates are close to the least time: the fastest takes 1 s, the others 2."""
    names = ["lanes@cuda", "worker_per_source@cpu", "lanes@cpu", "block_per_source@cuda"]
    estimated = dict(zip(names, (1.0, 1.5, 3.0, 4.5), strict=True))
    choices = [Choice(find(name)[0], seconds, "") for name, seconds in estimated.items()]
    request = Request("batch", tuple(range(40)), 40, threads=4)
    rivals = ranking._rivals(request, choices[0], iter(choices[1:]))
    assert [rival.variant.id for rival in rivals] == [names[i] for i in (0, 3, 1, 2)]
    measured.fastest(graph, request._replace(n_sources=41), rivals)
    ran: list[str] = []
    spent = [0.0]  # seconds before each run, without the first
    for _ in range(30):
        variant = measured.fastest(graph, request, rivals).variant
        ran.append(variant.id)
        seconds = 1.0 if variant.id == names[fast] else 2.0
        spent.append(spent[-1] + (seconds if len(ran) > 1 else 0.0))
        measured.record_run(graph, request, variant, seconds)
    assert set(ran) == set(names[: 3 if fast == 2 else 2])
    for name in set(ran) - {names[0]}:
        assert spent[ran.index(name)] >= measured.RUNS * estimated[name]
    assert ran[-1] == names[fast]
    assert ran.count(names[fast]) > 12
    assert not measured._TIMES.get(graph, measured._kind(request._replace(n_sources=41))).times


def test_runs_of_many_sources_are_recorded(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(measured, "SHORT", 0.0)
    monkeypatch.setattr(measured, "CLOSE", 1e3)  # whatever the speed of this machine
    sources, engines = range(100), []
    wanted = nearfar.distances(graph, sources, method="worker_per_source", device="cpu")
    for options in ({"limit": 30}, {"targets": range(60)}, {"out": str(tmp_path / "rows.npy")}):
        nearfar.distances(graph, sources, threads=1, device="cpu", **options)
    for _ in range(200):
        stats: dict[str, Any] = {}
        found = nearfar.distances(graph, sources, threads=1, device="cpu", stats=stats)
        np.testing.assert_array_equal(found, wanted)
        engines.append(stats["engine"])
    (times,) = (t for key, t in measured._TIMES.held(graph).items() if key != 1)
    tried = {name: engines.count(name) for name in times.times}
    assert len(tried) > 1
    assert sum(solves for solves, _ in times.times.values()) == 200 - len(times.started)
    assert set(tried) <= set(engines)


@pytest.mark.parametrize(("taken", "tried"), [(1.0, True), (4.0, False)])
def test_estimates_for_one_kind_of_device_err_alike(
    graph: Graph, taken: float, tried: bool
) -> None:
    """If the first method takes four times its estimate, another may take four times its own."""
    first, other = (find(name)[0] for name in ("worker_per_source@cpu", "lanes@cpu"))
    choices = [Choice(first, 1.0, ""), Choice(other, 1.5 if tried else 2.1, "")]
    request = Request("batch", tuple(range(40)), 40, device="cpu", threads=4)
    rivals = ranking._rivals(request, choices[0], iter(choices[1:]))
    ran = set()
    for _ in range(20):
        variant = measured.fastest(graph, request, rivals).variant
        ran.add(variant)
        measured.record_run(graph, request, variant, taken)
    assert (other in ran) is tried
