"""Methods whose estimates are close are compared by later searches of a graph."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.choose import measured, ranking
from nearfar.choose.ranking import Choice, best
from nearfar.generators import generate
from nearfar.registry import CHOICES, Declined, Request, find
from nearfar.solve.steps.plan import first_plan


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
    assert chosen[: 2 * len(rivals)] == [v.id for v, _ in rivals for _ in range(2)]
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
    rivals = tuple((find(name)[0], "") for name in ids)
    request, ran = Request(device="cpu", threads=4), []
    for _ in range(3 * measured.SETTLED):
        variant, _ = measured.fastest(graph, request, rivals)
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
    assert not any(variant.parallel for variant, _ in rivals)


def test_one_method_on_a_gpu_is_compared_with_those_on_cores(graph: Graph) -> None:
    names = ["near_far@cuda", "delta_stepping@cpu", "near_far_host_loop@cuda", "dijkstra_array@cpu"]
    choices = [Choice(find(name)[0], 1.0 + i / 10, "") for i, name in enumerate(names)]
    for first, kept in ((0, [0, 1, 3]), (1, [1, 2, 3])):
        found = ranking._rivals(Request(threads=4), choices[first], iter(choices[first + 1 :]))
        assert [variant.id for variant, _ in found] == [names[i] for i in kept]
    assert ranking._rivals(Request(device="cuda"), choices[0], iter(choices[1:])) == (
        (choices[0].variant, ""),
    )
    measured.fastest(graph, Request(), found)
    for request in (Request(), Request(device="cuda")):
        for _ in range(3):
            stats = {"edges_relaxed": graph.n_edges, "seconds": 0.1}
            measured.record(graph, request, choices[0].variant, stats)
    assert measured._TIMES.get(graph, Request().threads).times == {names[0]: (2, 0.1)}


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
    times = {v.id: 1.0 for v, _ in rivals}
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
