"""SPGRID, SPRAND and SPACYC: the published structure, no negative cycle, every vertex reached."""

from __future__ import annotations

import lzma
from typing import Any

import numpy as np
import pytest

from nearfar import Graph, sssp
from nearfar.generators import generate, spgrid, sprand
from tests.datafiles import data_path
from tests.generated import edges


def layer_census(
    sources: np.ndarray, targets: np.ndarray, weights: np.ndarray, n: int, width: int
) -> dict[object, tuple[int, int, int]]:
    """Return edges by the number of layers they skip: count, and weights to one leading digit."""
    ahead: Any = targets // width - sources // width
    ahead = np.where(sources >= n, -99, ahead)
    census = {}
    for step in np.unique(ahead):
        w = weights[ahead == step]
        rounded = [round(int(x), -(len(str(abs(int(x)))) - 1)) for x in (w.min(), w.max())]
        census[int(step)] = (len(w), rounded[0], rounded[1])
    return census


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "variant", "width"),
    [
        ("grid_ssquare-05", "square", 128),
        ("grid_swide-05", "wide", 1024),
        ("grid_slong-05", "long", 16),
        ("grid_phard-00", "hard_positive", 32),
        ("grid_nhard-00", "hard_negative", 32),
    ],
)
def test_spgrid_has_the_published_structure(file: str, variant: str, width: int) -> None:
    with lzma.open(data_path(f"negative-splib/splib-{file}.sp.xz"), "rt") as lines:
        arcs = np.array([line.split()[1:] for line in lines if line.startswith("a")], np.int64)
    n = int(arcs[:, :2].max()) - 1
    published = layer_census(arcs[:, 0] - 1, arcs[:, 1] - 1, arcs[:, 2], n, width)
    graph = spgrid(variant, vertices=n)
    assert (graph.n_vertices, graph.n_edges) == (n + 1, len(arcs))
    made = layer_census(*edges(graph), n, width)
    assert {k: v[0] for k, v in made.items()} == {k: v[0] for k, v in published.items()}
    for step, (_, low, high) in published.items():
        if step != -99:  # few edges leave the source: their extremes vary
            assert (made[step][1], made[step][2]) == (low, high), step


def has_negative_cycle(graph: Graph) -> bool:
    """Return whether a change occurs in round n of Bellman-Ford from all vertices."""
    s, t, w = edges(graph)
    distances = np.zeros(graph.n_vertices, dtype=np.int64)
    for _ in range(graph.n_vertices):
        before = distances.copy()
        np.minimum.at(distances, t, before[s] + w)
        if np.array_equal(before, distances):
            return False
    return True


@pytest.mark.parametrize("artificial", [False, True])
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("spgrid", {"variant": "square", "vertices": 1024}),
        ("spgrid", {"variant": "wide", "vertices": 1024}),
        ("spgrid", {"variant": "long", "vertices": 1024}),
        ("spgrid", {"variant": "hard_positive", "vertices": 1024}),
        ("spgrid", {"variant": "hard_negative", "vertices": 1024}),
        ("sprand", {"vertices": 256, "edges": 1024}),
        ("sprand", {"vertices": 256, "edges": 1024, "potential": 100_000}),
        ("spacyc", {"variant": "positive", "vertices": 256, "edges": 2048}),
        ("spacyc", {"variant": "negative", "vertices": 256, "edges": 2048}),
        ("spacyc", {"variant": "p2n", "vertices": 256, "edges": 2048}),
    ],
)
def test_no_negative_cycle_and_all_reached(
    name: str, given: dict[str, Any], artificial: bool
) -> None:
    graph = generate(name, **given, artificial_source=artificial)
    assert not has_negative_cycle(graph)
    source = graph.attributes["source_vertex"]
    reached = int(sssp(graph.without_weights(), source).reachable.sum())
    assert reached == graph.n_vertices
    negative = given.get("variant") in ("hard_negative", "negative", "p2n") or "potential" in given
    assert (graph.n_negative > 0) == negative


def test_a_negative_cycle_would_be_noticed() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [1, -3, 1])
    graph.attributes["source_vertex"] = 0
    assert has_negative_cycle(graph)


def test_sprand_potential_changes_no_cycle() -> None:
    plain = sprand(vertices=100, edges=1000)
    shifted = sprand(vertices=100, edges=1000, potential=5000)
    s, t, w = edges(plain)
    s2, t2, w2 = edges(shifted)
    assert np.array_equal(s, s2)
    assert np.array_equal(t, t2)
    change = w2 - w
    assert np.unique(change).size > 100
    # The change of an edge is P(u) - P(v): P(0) = 0 determines P along the cycle.
    on_cycle = {int(u): int(c) for u, v, c in zip(s, t, change, strict=True) if v == (u + 1) % 100}
    p = np.concatenate([[0], -np.cumsum([on_cycle[u] for u in range(99)])])
    np.testing.assert_array_equal(change, p[s] - p[t])
    assert np.ptp(p) <= 5000


def test_spacyc_is_acyclic_and_p2n_has_its_share() -> None:
    graph = generate("spacyc", variant="p2n", vertices=1000, edges=50_000, negative_share=0.3)
    s, t, w = edges(graph)
    assert np.all(s < t)
    assert (w.min() >= -3000) & (w.max() <= 7000)
    assert abs(np.mean(w < 0) - 0.3) < 0.02
    one = generate("spacyc", variant="negative", vertices=1000, edges=50_000)
    s, t, w = edges(one)
    assert w.max() <= 0
    assert w.min() >= -10_000
    first = np.array([w[(s == v) & (t == v + 1)].tolist() for v in (0, 1, 2)], dtype=object)
    assert all(-1 in row for row in first)
