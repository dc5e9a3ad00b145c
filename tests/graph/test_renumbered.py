"""Copies of graphs whose vertices have other numbers, and when searches use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import nearfar
from nearfar import Graph, _cpu
from nearfar.generators import generate
from nearfar.graph.same_distances import backbone, renumbered
from tests.strategies import graphs


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renumber small graphs after three searches, and keep the result whatever it brings."""
    for name, value in (("MANY_EDGES", 1), ("_SECONDS", 0.0), ("_CLOSER", 99.0), ("_GAIN", 99.0)):
        monkeypatch.setattr(renumbered, name, value)
    monkeypatch.setattr(renumbered, "_CLOSE", -1.0)
    monkeypatch.setattr("nearfar.choose.measured.SHORT", 0.0)
    monkeypatch.setattr(backbone, "MANY_EDGES", 1 << 60)  # a shorter one has its own numbers


def mesh(n: int = 3000, dtype: str = "int32") -> Graph:
    """Return a triangulation whose points are in random order."""
    made = generate("delaunay", vertices=n, seed=2)
    product = made.tails(np.int64) * made.indices  # the same in both directions
    weights = (product % 97 + (0.37 if dtype[0] == "f" else 0)).astype(dtype)
    return Graph(made.indptr, made.indices, weights, directed=False)


def edges(graph: Graph, place: Any = None) -> list[tuple[int, int, float]]:
    name = np.arange(graph.n_vertices) if place is None else place
    ends = name[graph.tails()].tolist(), name[graph.indices].tolist()
    return list(zip(*ends, graph.effective_weights.tolist(), strict=True))


@given(graphs())
def test_any_graph_keeps_its_edges(graph: Graph) -> None:
    order = np.full(graph.n_vertices, -1, np.int32)
    _cpu.compact_order(graph.indptr, graph.indices, order)
    assert sorted(order.tolist()) == list(range(graph.n_vertices))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renumbered, "_CLOSE", -1.0)
        patch.setattr(renumbered, "_CLOSER", 99.0)
        found = renumbered._renumbered(graph, 2) if graph.n_edges else None
    if found is None:
        return
    assert found.graph.directed == graph.directed
    assert sorted(edges(found.graph)) == sorted(edges(graph, found.place))
    values = np.arange(graph.n_vertices, dtype=np.float64)
    assert np.array_equal(found.as_given(values, 2), values[found.place])


def test_balls_are_close_together() -> None:
    graph = mesh(40_000)
    found = renumbered._renumbered(graph, 2)
    assert found is not None
    for made, least, most in ((graph, 12, 14), (found.graph, 3, 6)):
        apart = renumbered._apart(made.tails(), made.indices)
        assert least < apart < most


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("eager")
def test_answers_are_those_of_the_given_numbers(dtype: str, threads: int) -> None:
    graph = mesh(dtype=dtype)
    sources = [5, 77, 1999]
    wanted = [nearfar.sssp(graph, s, method="dijkstra", device="cpu") for s in sources]
    reasons = []
    for turn in range(12):
        paths = nearfar.sssp(graph, sources[turn % 3], device="cpu", threads=threads)
        reasons.append("vertices renumbered" in paths.reason)
        before = wanted[turn % 3]
        assert paths.distances.dtype == before.distances.dtype
        assert np.array_equal(paths.distances, before.distances)
        assert np.array_equal(paths.predecessors, before.predecessors)
        nearfar.verify(graph, paths)
    assert reasons == [False] * 3 + [True] * 9
    near = nearfar.sssp(graph, 5, device="cpu", threads=threads, limit=90)
    assert "renumbered" not in near.reason
    assert np.array_equal(near.reachable, wanted[0].distances <= 90)
    named = nearfar.sssp(graph, 5, device="cpu", threads=threads, method="delta_stepping")
    assert "renumbered" not in named.reason


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.usefixtures("eager")
def test_rows_are_those_of_the_given_numbers(dtype: str) -> None:
    graph, sources = mesh(dtype=dtype), np.arange(0, 3000, 300)
    how: dict[str, Any] = {"device": "cpu", "threads": 2}
    wanted, trees = nearfar.distances(
        graph, sources, method="dijkstra", device="cpu", predecessors=True
    )
    for turn in range(4):
        stats: dict[str, Any] = {}
        rows, before = nearfar.distances(graph, sources, predecessors=True, stats=stats, **how)
        assert stats["engine"] == "worker_per_source@cpu"
        assert ("vertices renumbered" in stats["reason"]) == (turn > 0)
        assert rows.dtype == wanted.dtype
        assert np.array_equal(rows, wanted)
        assert np.array_equal(before, trees)
    out = np.empty_like(wanted)
    assert nearfar.distances(graph, sources, out=out, **how) is out
    assert np.array_equal(out, wanted)
    some = nearfar.distances(graph, sources, targets=[7, 5], **how)
    assert np.array_equal(some, wanted[:, [7, 5]])


@pytest.mark.usefixtures("eager")
def test_sums_beyond_32_bits() -> None:
    graph = mesh(400).astype(np.int64)
    heavy = graph.with_weights((graph.effective_weights + 2**29).astype(np.int32))
    wanted = nearfar.sssp(heavy, 0, method="dijkstra", device="cpu").distances
    assert wanted.dtype == np.int64
    for _ in range(8):
        paths = nearfar.sssp(heavy, 0, device="cpu")
        assert np.array_equal(paths.distances, wanted)


@pytest.mark.usefixtures("eager")
def test_the_faster_numbers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renumbered, "_GAIN", 0.97)
    graph = mesh()
    for seconds, kept in ((0.96, True), (0.98, False)):
        graph.forget()
        for _ in range(3):
            assert renumbered.for_next(graph, 4, 4) is None
            renumbered.record(graph, 4, False, 1.0)
        for _ in range(6):
            assert renumbered.for_next(graph, 4, 4) is not None
            renumbered.record(graph, 4, True, seconds)
        assert (renumbered.for_next(graph, 4, 4) is not None) == kept
        assert renumbered._RENUMBERED.filled(graph)
        assert renumbered.for_next(graph, 2, 2) is None  # not measured with two threads


def test_only_graphs_with_distant_neighbours_are_renumbered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert renumbered._renumbered(mesh(), 1) is not None
    assert renumbered._renumbered(generate("grid", rows=400, columns=8), 1) is None
    # No numbers bring the neighbours of a random graph together.
    assert renumbered._renumbered(generate("uniform_random", vertices=60_000, degree=8), 1) is None
    monkeypatch.setattr(renumbered, "shortage", lambda _: 1 << 20)
    assert renumbered._renumbered(mesh(), 1) is None
    assert not renumbered.takes(mesh())
    monkeypatch.setattr(renumbered, "MANY_EDGES", 1)
    assert renumbered.takes(mesh())
    graph = mesh()
    assert not renumbered.takes(graph.with_weights(-graph.effective_weights.astype(np.int64)))


def test_time_is_spent_before_numbers_are_sought() -> None:
    graph = mesh(30_000)
    assert renumbered.takes(graph)
    for _ in range(4):
        renumbered.record(graph, 1, False, 1e-3)
    assert renumbered.for_next(graph, 1, 1) is None
    renumbered.record(graph, 1, False, 1.0)
    assert renumbered.for_next(graph, 1, 1) is not None
