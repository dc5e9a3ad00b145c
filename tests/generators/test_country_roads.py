"""``country_roads``: its appearance as a road network, and separators like those of real maps.

The figures of real maps below were measured with METIS's order, as ``nearfar prepare`` finds it;
two of them are measured again if the maps are available.
"""

from __future__ import annotations

import lzma
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.generators import country_roads, road_like
from nearfar.prepared.order.elimination import structure_of
from nearfar.prepared.order.tree import analyse
from tests.datafiles import data_path
from tests.loading import load_program

pytest.importorskip("pymetis")

pieces = load_program("scripts", "separators").pieces
metis_order = load_program("benchmarks", "prepared_graphs").metis_order

# Per map: arcs and triangles per vertex, height of the tree; for pieces of 2^k to 2^(k + 1)
# vertices, k from 11 on, the mean size of the separator and the mean height of the tree.
REAL: dict[str, tuple[float, float, int, dict[int, tuple[float, float]]]] = {
    "New York": (4.82, 32.2, 246, {
        11: (9.9, 59), 12: (10.9, 76), 13: (13.0, 93), 14: (16.5, 119), 15: (19.0, 155),
        16: (30.0, 218), 17: (31.0, 241), 18: (5.0, 246)}),
    "BAY": (3.25, 13.6, 197, {
        11: (7.2, 48), 12: (9.3, 61), 13: (8.9, 75), 14: (11.4, 100), 15: (14.3, 115),
        16: (13.5, 146), 17: (5.0, 166), 18: (13.0, 197)}),
    "Colorado": (2.99, 12.6, 300, {
        11: (5.4, 43), 12: (7.6, 57), 13: (8.0, 68), 14: (9.8, 83), 15: (14.1, 114),
        16: (16.3, 140), 17: (24.0, 183), 18: (23.0, 242)}),
    "Florida": (3.15, 11.0, 255, {
        11: (5.8, 47), 12: (7.9, 59), 13: (8.5, 74), 14: (8.9, 88), 15: (11.8, 116),
        16: (13.5, 141), 17: (14.8, 168), 18: (15.3, 197), 19: (31.0, 215), 20: (35.0, 255)}),
}  # fmt: skip


def measured(graph: Graph) -> tuple[float, float, int, dict[int, tuple[float, float]]]:
    """Return the same figures of a graph."""
    structure = structure_of(graph)
    order = metis_order(structure)
    tree, figures = analyse(graph, structure, order)
    found: dict[int, list[Any]] = {}
    for piece in pieces(tree):
        found.setdefault(piece.size.bit_length() - 1, []).append(piece)
    bands = {
        k: (
            float(np.mean([len(piece.separator) for piece in band])),
            float(np.mean([piece.height for piece in band])),
        )
        for k, band in found.items()
    }
    n = graph.n_vertices
    return figures.n_arcs / n, figures.n_triangles / n, figures.height, bands


def colorado() -> Graph:
    """Return Colorado's topology."""
    with lzma.open(data_path("dimacs9-topology/USA-road-topo.COL.tw.gr.xz"), "rt") as lines:
        listed = [line.split() for line in lines if line[:1] not in ("c", "p")]
    ends = np.array(listed, dtype=np.int64) - 1
    return Graph.from_edges(ends[:, 0], ends[:, 1], None, directed=False)


@pytest.mark.parametrize("name", ["New York", "Colorado"])
def test_recorded_figures_are_those_of_the_maps(name: str) -> None:
    if name == "New York":
        graph = nearfar.read(data_path("dimacs9-road/USA-road-d.NY.gr.xz"))
    else:
        graph = colorado()
    arcs, triangles, height, bands = measured(graph)
    recorded = REAL[name]
    assert arcs == pytest.approx(recorded[0], rel=0.05)
    assert triangles == pytest.approx(recorded[1], rel=0.2)
    assert height == pytest.approx(recorded[2], rel=0.2)
    assert set(bands) == set(recorded[3])
    for k in range(11, 15):  # sizes with at least ten pieces
        assert bands[k] == pytest.approx(recorded[3][k], rel=0.2)


@pytest.mark.parametrize(("vertices", "seed"), [(50_000, 1), (250_000, 1), (250_000, 2)])
def test_separators_are_like_those_of_real_maps(vertices: int, seed: int) -> None:
    arcs, triangles, height, bands = measured(country_roads(vertices=vertices, seed=seed))
    assert 2.9 < arcs < 4.9
    assert 0.8 * 11.0 < triangles < 32.2
    if vertices > 200_000:
        assert 0.7 * 197 < height < 1.1 * 300
    assert max(bands) >= vertices.bit_length() - 2
    for k, (separator, deep) in bands.items():
        real = [figures[3][k] for figures in REAL.values()]
        assert 0.6 * min(r[0] for r in real) < separator < 1.3 * max(r[0] for r in real), k
        assert 0.7 * min(r[1] for r in real) < deep < 1.1 * max(r[1] for r in real), k


def test_road_like_has_no_such_separators() -> None:
    """This difference is the reason for two families."""
    *_, bands = measured(road_like(vertices=250_000))
    for k in (15, 16, 17):
        assert bands[k][0] > 1.5 * max(figures[3][k][0] for figures in REAL.values()), k


def test_a_piece_is_cut_by_its_separator() -> None:
    graph = country_roads(vertices=10_000, one_way=0.0)
    structure = structure_of(graph)
    order = metis_order(structure)
    found = pieces(analyse(graph, structure, order)[0])
    assert found[0].level == 0
    assert found[0].size == graph.n_vertices
    tails = graph.tails()
    left = np.ones(graph.n_vertices, bool)
    left[found[0].separator] = False
    kept = left[tails] & left[graph.indices]
    rest = Graph.from_edges(
        tails[kept], graph.indices[kept], None, n_vertices=graph.n_vertices, directed=False
    )
    reached = nearfar.sssp(rest, int(np.flatnonzero(left)[0])).reachable.sum()
    assert reached < 0.9 * graph.n_vertices


# ---- what it looks like ------------------------------------------------------------------------


@pytest.mark.parametrize("vertices", [20_000, 200_000])
def test_degrees_are_those_of_a_road_map(vertices: int) -> None:
    graph = country_roads(vertices=vertices, one_way=0.0)
    assert abs(graph.n_vertices / vertices - 1) < 0.1
    assert 2.4 < graph.mean_degree < 2.8
    share = np.bincount(graph.degrees, minlength=5) / graph.n_vertices
    assert len(share) == 5
    assert share[0] == 0
    # The four maps: 16 to 23 %, 15 to 34 %, 37 to 47 %, 11 to 22 %.
    for found, least, most in zip(
        share[1:], (0.15, 0.14, 0.36, 0.10), (0.24, 0.35, 0.48, 0.23), strict=True
    ):
        assert least < found < most


def test_every_vertex_reaches_every_other() -> None:
    graph = country_roads(vertices=20_000, one_way=0.2)
    for way in (graph, graph.transpose()):
        assert int(nearfar.sssp(way, 0).reachable.sum()) == graph.n_vertices
    # One-way streets cost few vertices: crossings and dead ends are open both ways.
    assert graph.n_vertices > 0.95 * country_roads(vertices=20_000, one_way=0.0).n_vertices


def test_times_are_lengths_over_speeds() -> None:
    times = country_roads(vertices=5000, weight_dtype="float64")
    lengths = country_roads(vertices=5000, weight="length", weight_dtype="float64")
    assert (times.attributes["unit"], lengths.attributes["unit"]) == ("s", "m")
    assert lengths.coordinates is not None
    gap = lengths.coordinates[lengths.tails()] - lengths.coordinates[lengths.indices]
    np.testing.assert_allclose(
        lengths.effective_weights, np.hypot(gap[:, 0], gap[:, 1]), rtol=1e-12
    )
    speed = lengths.effective_weights / times.effective_weights * 3.6
    assert set(np.round(speed, 6)) == {30.0, 50.0, 70.0, 110.0}


def test_one_way_streets_are_minor() -> None:
    whole = country_roads(vertices=20_000, one_way=0.0)
    some = country_roads(
        vertices=20_000, one_way=1.0, strongly_connected=False, weight="time", weight_dtype="int64"
    )
    there = set(zip(some.tails().tolist(), some.indices.tolist(), strict=True))
    single = [(s, t) for s, t in there if (t, s) not in there]
    assert len(single) > 0.1 * len(there)
    degree = np.bincount(
        np.array([s for s, t in there if s < t or (t, s) not in there]
                 + [t for s, t in there if s < t or (t, s) not in there]))  # fmt: skip
    assert min(degree[[s for s, _ in single]].min(), degree[[t for _, t in single]].min()) > 2
    assert whole.n_vertices < len(degree)


def test_settlements_are_dense() -> None:
    """The densest tenth of the land has more vertices than without settlements."""

    def fullest(graph: Graph) -> float:
        assert graph.coordinates is not None
        x, y = graph.coordinates.T
        counts, *_ = np.histogram2d(x, y, bins=40)
        return float(np.sort(counts, axis=None)[-160:].sum() / graph.n_vertices)

    assert fullest(country_roads(vertices=50_000)) > 1.3 * fullest(road_like(vertices=50_000))
