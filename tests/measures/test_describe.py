"""Figures of a graph, compared with counts by hand and with NetworkX."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings

from nearfar import Graph
from nearfar.errors import GraphError, OptionError, VertexError
from nearfar.generators import generate
from nearfar.measures import describe
from tests.strategies import graphs


def hand_made() -> Graph:
    #  0 -> 1 (twice), 1 -> 2, 2 -> 0, 2 -> 2, 2 -> 3 (zero); 4 has no edge.
    return Graph.from_edges(
        [0, 0, 1, 2, 2, 2], [1, 1, 2, 0, 2, 3], [3, 9, 4, 5, 7, 0], n_vertices=5
    )


def test_counts_by_hand() -> None:
    found = describe(hand_made(), source=0)
    assert (found.n_vertices, found.n_edges, found.directed) == (5, 6, True)
    assert found.degree == {
        "min": 0, "median": 1.0, "mean": 1.2, "p99": 2.0, "max": 3, "max_in": 2,
    }  # fmt: skip
    assert found.degree_counts == [(0, 0, 2), (1, 1, 1), (2, 2, 1), (3, 3, 1)]
    assert (found.self_loops, found.parallel_edges) == (1, 1)
    assert (found.isolated, found.without_out_edges) == (1, 2)
    assert found.weight_dtype == "int64"
    assert found.weight == {
        "min": 0, "median": 4.5, "mean": pytest.approx(28 / 6), "max": 9, "zero": 1, "negative": 0,
    }  # fmt: skip
    assert (found.weak_components, found.largest_weak) == (2, 4)
    assert (found.strong_components, found.largest_strong) == (3, 3)
    reach = found.reach
    assert reach is not None
    assert (reach.source, reach.reached, reach.hops, reach.distance) == (0, 4, 3, 7)
    # The sweep back starts at vertex 3 by edges and at 2 by weight, and comes less far.
    assert (reach.diameter_hops, reach.diameter_distance) == (3, 8)


def test_a_matrix_is_described_as_other_measures_take_it() -> None:
    graph = generate("grid", rows=4, columns=4)
    assert describe(graph.to_scipy()).degree == describe(graph).degree
    with pytest.raises(GraphError, match="cannot convert list to a graph"):
        describe([[0, 1]])


def test_a_source_is_drawn_from_the_largest_strong_part() -> None:
    sources = {describe(hand_made(), seed=seed).reach.source for seed in range(30)}
    assert sources == {0, 1, 2}


def test_the_named_source_is_taken() -> None:
    found = describe(generate("spgrid", vertices=256))
    assert found.reach is not None
    assert (found.reach.source, found.reach.reached) == (256, 257)


def test_the_widest_vertex_is_taken_when_no_part_is_strong() -> None:
    graph = generate("section43", vertices=300)
    found = describe(graph)
    assert found.reach is not None
    assert (found.reach.source, found.reach.reached, found.reach.distance) == (0, 300, 2)


def test_diameter_of_a_path_and_a_tree_is_exact() -> None:
    path = describe(generate("path", vertices=50, directed=False, low=2, high=2), source=20)
    assert path.reach is not None
    assert (path.reach.hops, path.reach.diameter_hops) == (29, 49)
    assert (path.reach.distance, path.reach.diameter_distance) == (58, 98)
    star = describe(generate("star", vertices=9), source=3)
    assert star.reach is not None
    assert star.reach.diameter_hops == 2


def test_negative_weights_leave_the_weighted_sweep_out() -> None:
    found = describe(generate("spacyc", variant="negative", vertices=64, edges=256))
    assert found.weight["negative"] > 0
    assert found.reach is not None
    assert found.reach.distance is None
    assert found.reach.diameter_distance is None
    assert found.reach.reached == 64


def test_unweighted() -> None:
    found = describe(generate("grid", rows=4, columns=6, missing=0.0, weight_dtype=None), source=0)
    assert found.weight_dtype is None
    assert found.reach is not None
    assert (found.reach.hops, found.reach.distance) == (8, 8)
    assert ("weights", "none, every edge counts 1") in found.rows()


@pytest.mark.parametrize(
    ("name", "given_", "shape"),
    [
        ("grid", {"rows": 60, "columns": 60}, "long"),
        ("road_like", {"vertices": 20_000}, "long"),
        ("delaunay", {"vertices": 20_000}, "long"),
        ("kronecker", {"scale": 12}, "skewed"),
        ("preferential_attachment", {"vertices": 20_000}, "skewed"),
        ("martin", {"vertices": 5000}, "random"),
        ("small_world", {"vertices": 5000}, "random"),
        ("uniform_random", {"vertices": 1000, "degree": 100}, "dense"),
        ("path", {"vertices": 1}, "empty"),
    ],
)
def test_shapes(name: str, given_: dict[str, int], shape: str) -> None:
    assert describe(generate(name, **given_)).shape == shape


@pytest.mark.parametrize("n", [0, 1, 3])
def test_without_edges(n: int) -> None:
    found = describe(Graph.from_edges([], [], n_vertices=n))
    assert found.shape == "empty"
    assert found.isolated == n
    assert found.weak_components == n
    assert (found.reach is None) == (n == 0)
    assert found.rows()


def test_names_are_not_mistaken_for_positions() -> None:
    graph = Graph.from_edges(
        [0, 1], [1, 2], [4, 5], vertex_names=np.array(["c", "b", "a"]), names=False
    )
    found = describe(graph, source="c")
    assert found.reach is not None
    assert (found.reach.source, found.reach.distance) == ("c", 9)
    assert ("reach from c", "3 vertices") in [(name, text[:10]) for name, text in found.rows()]


@pytest.mark.parametrize("source", [-1, 5, 1.0, True, "0"])
def test_bad_source(source: object) -> None:
    with pytest.raises(VertexError, match="give 0 to 4"):
        describe(hand_made(), source=source)


def test_bad_seed() -> None:
    with pytest.raises(OptionError, match="seed"):
        describe(hand_made(), seed=1.5)  # type: ignore[arg-type]


def test_json_and_rows() -> None:
    found = describe(generate("kronecker", scale=10))
    again = json.loads(json.dumps(found.to_dict()))
    assert again["reach"]["reached"] == found.reach.reached
    assert sum(count for _, _, count in found.degree_counts) == 1024
    labels = [label for label, _ in found.rows()]
    for label in ("vertices", "edges", "out-degree", "weights", "components", "diameter"):
        assert label in labels
    assert "strong components" not in labels  # an undirected graph has no other parts
    assert "  0" in labels
    shown = [label for label in labels if label.startswith("  ")]
    assert len(shown) == sum(1 for _, _, count in found.degree_counts if count)


def test_memory_does_not_count_what_the_sweeps_packed() -> None:
    graph = generate("grid", rows=30, columns=30)
    before = graph.nbytes
    assert describe(graph).nbytes == before


@settings(max_examples=60)
@given(graphs(max_vertices=12, max_edges=30))
def test_against_networkx(graph: Graph) -> None:
    networkx = pytest.importorskip("networkx")
    other = networkx.MultiDiGraph()
    other.add_nodes_from(range(graph.n_vertices))
    sources = graph.tails(np.int64)
    other.add_edges_from(zip(sources.tolist(), graph.indices.tolist(), strict=True))
    found = describe(graph, source=0)
    assert found.self_loops == networkx.number_of_selfloops(other)
    assert found.parallel_edges == other.number_of_edges() - len(set(other.edges()))
    assert found.isolated == networkx.number_of_isolates(other)
    assert found.weak_components == networkx.number_weakly_connected_components(other)
    assert found.strong_components == networkx.number_strongly_connected_components(other)
    assert found.degree["max_in"] == max(dict(other.in_degree()).values())
    hops = networkx.single_source_shortest_path_length(other, 0)
    assert found.reach is not None
    assert found.reach.reached == len(hops)
    assert found.reach.hops == max(hops.values())
    if graph.n_edges and found.weak_components == 1 and networkx.is_strongly_connected(other):
        assert found.reach.hops <= found.reach.diameter_hops <= networkx.diameter(other)
