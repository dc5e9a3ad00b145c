"""Largest components, tables of vertices, samples and progress of measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, OptionError, UnreachableError, measures


def test_largest_component() -> None:
    names = list("abcdefg")
    graph = Graph.from_edges(
        list("abcde"), list("bcadf"), [1, 2, 3, 4, 5], vertex_names=names, directed=True
    )
    part = graph.largest_component()
    assert part.vertex_names.tolist() == ["a", "b", "c"]
    assert nearfar.shortest_path(part, "b", "a") == (["b", "c", "a"], 5)
    assert measures.diameter(part) == 5
    assert graph.largest_component(strong=False).vertex_names.tolist() == ["a", "b", "c"]
    joined = Graph.from_edges([0, 2, 1], [1, 3, 4], n_vertices=6)
    assert joined.largest_component(strong=False).vertex_names.tolist() == [0, 1, 4]
    assert joined.largest_component().vertex_names.tolist() == [0]
    undirected = Graph.from_edges([3, 1], [4, 2], [2, 2], n_vertices=6, directed=False)
    assert undirected.largest_component().vertex_names.tolist() == [1, 2]
    with pytest.raises(UnreachableError, match="largest component"):
        measures.diameter(undirected)
    assert measures.radius(undirected.largest_component()) == 2
    assert Graph.from_edges([], []).largest_component().n_vertices == 0


def test_nearest_as_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    graph = Graph.from_edges(list("ab"), list("bc"), [2, 3], vertex_names=list("abcd"))
    found = nearfar.nearest(graph, ["a"])
    frame = found.to_frame(graph)
    assert frame["vertex"].tolist() == list("abcd")
    assert frame["distance"].tolist()[:3] == [0, 2, 5]
    assert frame["distance"].isna().tolist() == [False, False, False, True]
    assert frame["source"].tolist()[:3] == ["a", "a", "a"]
    assert frame["source"].isna().tolist() == [False, False, False, True]
    lines = nearfar.nearest(graph, ["a", "b"], k=2).to_frame(graph)
    assert lines.values.tolist() == [
        ["a", 1, 0, "a"], ["b", 1, 0, "b"], ["b", 2, 2, "a"], ["c", 1, 3, "b"], ["c", 2, 5, "a"],
    ]  # fmt: skip
    plain = Graph.from_edges([0], [1], [2.5])
    assert nearfar.nearest(plain, [0]).to_frame(plain, "pandas")["distance"].tolist() == [0, 2.5]
    assert isinstance(lines, pandas.DataFrame)
    with pytest.raises(OptionError, match="give the graph that was searched"):
        found.to_frame(plain)


def test_names_keep_their_kind_where_none_is_missing() -> None:
    graph = Graph.from_edges([30, 10], [10, 20], [1, 1], names=True)
    assert nearfar.nearest(graph, [30]).sources.dtype == np.int64
    assert nearfar.distances(graph, [30], reduce="nearest:2")[0].dtype == np.int64
    some = nearfar.nearest(graph, [20]).sources
    assert some.tolist() == [None, 20, None]


def test_table_of_measures() -> None:
    pytest.importorskip("pandas")
    graph = Graph.from_edges(["a", "b"], ["b", "c"], directed=False)
    frame = measures.table(graph, near=measures.closeness(graph), inside=[0, 1, 0])
    assert frame.columns.tolist() == ["vertex", "near", "inside"]
    assert frame["inside"].tolist() == [0, 1, 0]
    with pytest.raises(OptionError, match="inside has shape"):
        measures.table(graph, inside=[0, 1])


@pytest.mark.parametrize("measure", ["average_length", "efficiency"])
def test_samples(measure: str) -> None:
    graph = nearfar.generate("grid", rows=12, columns=12, seed=1)
    ask: Any = getattr(measures, measure)
    exact = ask(graph)
    assert ask(graph, samples=graph.n_vertices) == pytest.approx(exact)
    part = ask(graph, samples=40, seed=3)
    assert part == ask(graph, samples=40, seed=3) != exact
    assert part == pytest.approx(exact, rel=0.2)
    for wrong in ({"seed": 1}, {"samples": 0}):
        with pytest.raises(OptionError, match="samples"):
            ask(graph, **wrong)


@pytest.mark.parametrize(
    "measure", ["average_length", "efficiency", "closeness", "harmonic", "eccentricity"]
)
def test_progress(measure: str) -> None:
    graph = nearfar.generate("grid", rows=5, columns=5, seed=1)
    told: list[tuple[float, float]] = []
    getattr(measures, measure)(graph, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (25, 25)


def test_stats_are_those_of_the_last_call() -> None:
    """Regression: counters of an earlier call remained if the later one had none."""
    graph = nearfar.generate("road_like", vertices=500, seed=1)
    stats: dict[str, Any] = {}
    nearfar.sssp(graph, 1, method="delta_stepping", stats=stats)
    assert "delta" in stats
    nearfar.sssp(graph, 1, method="dijkstra_binary_heap", stats=stats)
    fresh: dict[str, Any] = {}
    nearfar.sssp(graph, 1, method="dijkstra_binary_heap", stats=fresh)
    assert stats.keys() == fresh.keys()
    for call in (
        lambda s: nearfar.distances(graph, [1, 2], stats=s),
        lambda s: nearfar.distances(graph, pairs=[(1, 2)], stats=s),
        lambda s: nearfar.shortest_path(graph, 1, 2, stats=s),
        lambda s: nearfar.nearest(graph, [1, 2], stats=s),
        lambda s: nearfar.nearest(graph, [1, 2], k=1, stats=s),
        lambda s: nearfar.k_shortest_paths(graph, 1, 2, 2, stats=s),
        lambda s: measures.diameter(graph.largest_component(), stats=s),
    ):
        stats = {"of an earlier call": 1}
        call(stats)
        assert "of an earlier call" not in stats
