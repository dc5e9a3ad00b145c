"""Preparing inside a call: the choice of `auto`, its reasons, and cached data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, VariantUnavailable
from nearfar.choose.ranking import explain
from nearfar.graph.facts import Facts
from nearfar.prepared import first
from nearfar.prepared.guess import Guess, guess, undirected_degree
from nearfar.prepared.prepare import foreseen
from tests.prepared.test_queries import mesh

FIRST = "prepare_first@cpu"


def chosen(graph: Graph, **given: Any) -> tuple[np.ndarray, dict[str, Any]]:
    stats: dict[str, Any] = {}
    rows = nearfar.distances(graph, device="cpu", threads=1, stats=stats, **given)
    return rows, stats


@pytest.mark.parametrize(("n", "m"), [(0, 0), (5, 0), (40, 90), (900, 4000), (3000, 2500)])
def test_the_degree_in_both_directions_is_that_of_a_sample(n: int, m: int) -> None:
    """The first eight edges of 64 or more vertices, and whether a reverse edge exists."""
    rng = np.random.default_rng(m)
    tails, heads = rng.integers(0, max(n, 1), (2, m))
    half = m // 2
    tails, heads = np.append(tails, heads[:half]), np.append(heads, tails[:half])
    graph = Graph.from_edges(tails, heads, n_vertices=n)
    row = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist() for v in range(n)]
    edges = [(u, v) for u in range(0, n, max(1, n // 64)) for v in row[u][:8]]
    back = sum(u in row[v][:64] for u, v in edges) / max(len(edges), 1)
    assert undirected_degree(graph) == pytest.approx(graph.mean_degree * (2 - back))


def test_many_sources_of_a_mesh_are_prepared_once() -> None:
    graph = mesh(70)
    want = nearfar.distances(graph, range(100), method="worker_per_source")
    few, stats = chosen(graph, sources=range(3))
    assert stats["engine"] != FIRST
    rows, stats = chosen(graph, reduce="sum")
    assert stats["engine"] == FIRST
    assert stats["prepare_seconds"] > 0
    assert "an order" in stats["reason"]
    assert "ms per source" in stats["reason"]
    # The prepared graph is cached, also for calls that would not have prepared it.
    rows, stats = chosen(graph, sources=range(100))
    assert stats["engine"] == FIRST
    assert "prepare_seconds" not in stats
    assert stats["reason"] == "prepared by an earlier call"
    np.testing.assert_array_equal(rows, want)
    np.testing.assert_array_equal(few, want[:3])
    graph.forget()
    _, stats = chosen(graph, sources=range(100))
    assert stats["engine"] != FIRST


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_are_prepared_as_integers_are(dtype: str) -> None:
    _, stats = chosen(mesh(70, dtype), reduce="sum")
    assert stats["engine"] == FIRST


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_floats_have_the_bits_of_a_search_however_many(dtype: str) -> None:
    graph = mesh(70, dtype)
    rows, stats = chosen(graph)
    assert stats["engine"] != FIRST
    for source in (0, 17, 4899):
        one = nearfar.sssp(graph, source, method="dijkstra").distances
        np.testing.assert_array_equal(rows[source], one)
    found = explain(graph, problem="all_pairs", n_sources=4900, device="cpu", threads=1)
    assert "the sums of a search" in found.others[FIRST]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_by_name_it_gives_the_same_bits(dtype: str) -> None:
    graph = mesh(20, dtype)
    want, before = nearfar.distances(
        graph, range(40), method="worker_per_source", predecessors=True
    )
    form = {} if np.dtype(dtype).kind == "i" else {"sums": "search"}
    given: dict[str, Any] = {"method": "prepare_first", **form}
    found, tree = nearfar.distances(graph, range(40), predecessors=True, **given)
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(tree, before)
    near = nearfar.distances(graph, range(40), limit=60, **given)
    np.testing.assert_array_equal(
        near, nearfar.distances(graph, range(40), method="worker_per_source", limit=60)
    )


def test_sums_beyond_32_bits_need_no_second_order(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = first.prepare
    monkeypatch.setattr(first, "prepare", lambda *a, **k: calls.append(1) or real(*a, **k))
    n = 40
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 2**30, np.int32))
    stats: dict[str, Any] = {}
    rows = nearfar.distances(graph, [0, 3], method="prepare_first", stats=stats)
    assert stats["repeated_in_64_bits"]
    assert rows[0, n - 1] == (n - 1) * 2**30
    assert len(calls) == 1


def test_both_costs_and_reasons_are_shown() -> None:
    graph = mesh(70)
    found = explain(graph, problem="all_pairs", n_sources=4900, device="cpu", threads=1)
    assert found.ranking[0].variant.id == FIRST
    assert "times 1.5 since this is a guess" in str(found)
    assert any(choice.variant.id == "worker_per_source@cpu" for choice in found.ranking)
    found = explain(graph, problem="batch", n_sources=9, device="cpu", threads=1)
    assert found.others[FIRST] == "too few sources (9) to repay preparing the graph"


@pytest.mark.parametrize(
    ("family", "options", "reason"),
    [
        ("kronecker", {"scale": 12}, "no small separators"),
        ("preferential_attachment", {"vertices": 20_000}, "no small separators"),
        ("uniform_random", {"vertices": 20_000, "degree": 6}, "no small separators"),
    ],
)
def test_graphs_without_small_separators_pay_nothing(
    family: str, options: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("an order was looked for")

    monkeypatch.setattr(first, "prepare", never)
    graph = nearfar.generate(family, **options)
    count = graph.n_vertices
    found = explain(graph, problem="all_pairs", n_sources=count, device="cpu", threads=2)
    assert reason in found.others[FIRST]


def test_exact_figures_that_speak_against_it_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nearfar.generate("uniform_random", vertices=1500, degree=8)
    cheap = Guess(n_arcs=1, n_triangles=1, order=0, weights=0)
    monkeypatch.setattr(first, "guess", lambda facts: cheap)
    want = nearfar.distances(graph, method="worker_per_source", reduce="sum")
    assert not foreseen(graph, "multilevel").worth
    rows, stats = chosen(graph, reduce="sum")
    assert stats["engine"] != FIRST
    np.testing.assert_array_equal(rows, want)
    found = explain(graph, problem="batch", n_sources=1500, device="cpu", threads=1)
    assert "no small separators" in found.others[FIRST]
    with pytest.raises(VariantUnavailable, match=r"no small separators.*force=True"):
        nearfar.distances(graph, [0], method="prepare_first")
    rows = nearfar.distances(graph, [0, 5], method="prepare_first", force=True)
    np.testing.assert_array_equal(
        rows, nearfar.distances(graph, [0, 5], method="worker_per_source")
    )


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("grid", {"rows": 120, "columns": 120}),
        ("road_like", {"vertices": 20_000}),
        ("delaunay", {"vertices": 10_000}),
    ],
)
def test_guesses_are_near_the_exact_figures(family: str, options: dict[str, Any]) -> None:
    graph = nearfar.generate(family, **options)
    near, exact = guess(Facts(graph)), foreseen(graph)
    assert isinstance(near, Guess)
    assert 0.5 < near.n_arcs / exact.n_arcs < 2.5
    assert 0.3 < near.n_triangles / exact.n_triangles < 4


# ---- on a GPU ----------------------------------------------------------------------------------

THERE = "prepare_first@cuda"


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_on_a_gpu_it_gives_the_same_bits(dtype: str) -> None:
    graph = mesh(20, dtype)
    want, before = nearfar.distances(
        graph, range(40), method="worker_per_source", predecessors=True
    )
    stats: dict[str, Any] = {}
    given: dict[str, Any] = {"method": THERE, "stats": stats}
    if np.dtype(dtype).kind == "f":
        given["sums"] = "search"
    found, tree = nearfar.distances(graph, range(40), predecessors=True, **given)
    assert stats["prepare_seconds"] > 0
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(tree, before)
    table = nearfar.distances(graph, range(40), targets=[5, 399, 5], **given)
    np.testing.assert_array_equal(table, want[:, [5, 399, 5]])
    sums = nearfar.distances(graph, range(40), reduce="summary", **given)
    wanted = nearfar.distances(graph, range(40), reduce="summary", method="worker_per_source")
    for one, other in zip(sums, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("emulated_gpu")
def test_the_two_forms_share_what_they_prepare() -> None:
    graph = mesh(30)
    stats: dict[str, Any] = {}
    found = nearfar.distances(graph, [1, 2], method=THERE, reduce="mean", stats=stats)
    assert stats["prepare_seconds"] > 0
    assert stats["rows_never_made"] == 2
    again: dict[str, Any] = {}
    wanted = nearfar.distances(graph, [1, 2], method=FIRST, reduce="mean", stats=again)
    assert "prepare_seconds" not in again
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.usefixtures("emulated_gpu")
def test_many_sources_on_a_gpu_show_both_costs() -> None:
    graph = mesh(400)
    found = explain(graph, problem="all_pairs", n_sources=160_000, device="cuda", threads=1)
    assert found.ranking[0].variant.id == THERE
    assert "times 1.5 since this is a guess" in found.ranking[0].reason
    assert any(choice.variant.id.startswith("block_per_source") for choice in found.ranking)
    table = explain(
        graph,
        problem="batch",
        n_sources=160_000,
        device="cuda",
        threads=1,
        targets=np.arange(100),
    )
    assert table.ranking[0].variant.id == THERE
    assert table.ranking[0].seconds < found.ranking[0].seconds
    reduced = explain(
        graph, problem="all_pairs", n_sources=160_000, device="cuda", threads=1, comes_back=False
    )
    assert reduced.ranking[0].seconds < found.ranking[0].seconds - 160_000**2 * 4 / 1e11
    few = explain(graph, problem="batch", n_sources=900, device="cuda", threads=1)
    assert few.others[THERE] == "too few sources (900) to repay preparing the graph"
    uneven = nearfar.generate("kronecker", scale=12)
    found = explain(uneven, problem="batch", n_sources=10**6, device="cuda", threads=1)
    assert "no small separators" in found.others[THERE]


@pytest.mark.usefixtures("emulated_gpu")
def test_exact_figures_are_heard_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nearfar.generate("uniform_random", vertices=1500, degree=8)
    cheap = Guess(n_arcs=1, n_triangles=1, order=0, weights=0)
    monkeypatch.setattr(first, "guess", lambda facts: cheap)
    for reduce in ("mean", None):
        with pytest.raises(VariantUnavailable, match=r"no small separators.*force=True"):
            nearfar.distances(graph, [0], method=THERE, reduce=reduce)
