"""Memory of a prepared graph, and the places that report it."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.choose.ranking import explain
from tests.prepared.test_queries import mesh, ready


@pytest.mark.parametrize(("name", "sides"), [("grid", 1), ("grid", 2), ("road_like", 2)])
def test_bytes_per_arc(name: str, sides: int) -> None:
    graph = (
        nearfar.generate("grid", rows=100, columns=100)
        if name == "grid"
        else nearfar.generate("road_like", vertices=20_000)
    )
    weights = np.full(graph.n_edges, 7, np.int32)
    if sides == 2:
        weights = np.random.default_rng(0).integers(1, 100, graph.n_edges).astype(np.int32)
    prepared = nearfar.prepare(Graph(graph.indptr, graph.indices, weights))
    assert prepared.metric.sides == sides
    parts = prepared.parts()
    arcs, n, m = prepared.preparation.arcs.n_arcs, graph.n_vertices, graph.n_edges
    followed = len(prepared.metric.up.weight)
    followed += len(prepared.metric.down.weight) if sides == 2 else 0
    assert prepared.nbytes == sum(parts.values())
    besides = prepared.nbytes - parts["graph"]
    assert besides <= (12 + 4 * sides) * arcs + 8 * followed + 64 * n + 8 * m + 64
    assert besides <= prepared.preparation.figures.nbytes
    if sides == 1:  # arcs, weights and what queries read; the rest is per vertex and edge
        assert (parts["arcs"] - 16 * n + parts["metric"] - 8 * n) / arcs <= 24


def test_without_pruning_the_arrays_of_the_structure_are_shared() -> None:
    graph = Graph(mesh(30).indptr, mesh(30).indices, None)
    prepared = ready(graph, perfect=False)
    arcs, n = prepared.preparation.arcs.n_arcs, graph.n_vertices
    assert prepared.metric.sides == 1
    parts = prepared.parts()
    assert parts["metric"] == 4 * arcs
    assert parts["arcs"] == 12 * arcs + 16 * (n + 1)


def test_what_is_made_later_counts_too() -> None:
    prepared = ready(mesh(20))
    before = prepared.nbytes
    prepared.path(0, 399)
    made = prepared.parts()["origins"]
    assert prepared.nbytes == before + made


def test_explain_says_what_it_is_made_of() -> None:
    prepared = ready(mesh(20))
    found = explain(prepared, device="cpu", threads=1)
    made = found.statistics["prepared"]
    assert made["order"] == "multilevel"
    assert made["n_arcs"] == prepared.preparation.arcs.n_arcs
    assert made["nbytes"] == prepared.parts()
    assert made["n_query_arcs"][0] == len(prepared.metric.up.weight)
    assert f"prepared by order 'multilevel': {made['n_arcs']:,} arcs" in str(found)
    assert "prepared" not in explain(mesh(5), device="cpu", threads=1).statistics
