"""Generators: documented degrees, distances and shapes of each family."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nearfar import sssp
from nearfar.generators import generate, kronecker, road_like, section43
from tests.generated import assert_fits, assert_symmetric, edges

# ---- random families ---------------------------------------------------------------------------


def test_martin_degrees() -> None:
    n, k = 20_000, 7
    graph = generate("martin", vertices=n)
    assert set(np.bincount(graph.indices, minlength=n)) == {k}
    s, t, _ = edges(graph)
    assert np.all(s != t)
    assert len(np.unique(s * n + t)) == n * k
    degrees = graph.degrees
    expected = [
        n * math.comb(n - 1, d) * (k / (n - 1)) ** d * (1 - k / (n - 1)) ** (n - 1 - d)
        for d in range(1, 16)
    ]
    assert_fits(np.bincount(degrees, minlength=16)[1:16], np.array(expected))
    assert_fits(np.bincount(graph.effective_weights)[1:], np.full(10, n * k / 10))


def test_martin_matrix_degree_is_a_fifth() -> None:
    graph = generate("martin_matrix", vertices=256)
    assert set(np.bincount(graph.indices, minlength=256)) == {51}


def test_uniform_random_degrees() -> None:
    graph = generate("uniform_random", vertices=2000, degree=100)
    assert set(graph.degrees) == {100}
    s, t, _ = edges(graph)
    assert np.all(s != t)
    assert len(np.unique(s * 2000 + t)) == 200_000
    entering = np.bincount(t, minlength=2000)
    assert abs(entering.var() / (100 * (1 - 100 / 1999)) - 1) < 0.15


def test_kronecker_quadrants() -> None:
    scale = 5
    graph = kronecker(scale=scale, edge_factor=4096, symmetrize=False, scramble=False)
    assert graph.directed
    assert graph.n_edges == 4096 << scale
    s, t, _ = edges(graph)
    for bit in range(scale):
        quadrant = 2 * (s >> bit & 1) + (t >> bit & 1)
        expected = np.array([0.57, 0.19, 0.19, 0.05]) * graph.n_edges
        assert_fits(np.bincount(quadrant, minlength=4), expected)


@pytest.mark.parametrize("scale", [0, 1, 2, 5, 8, 13])
def test_kronecker_scramble_is_a_relabelling(scale: int) -> None:
    plain = kronecker(scale=scale, symmetrize=False, scramble=False)
    mixed = kronecker(scale=scale, symmetrize=False)
    np.testing.assert_array_equal(np.sort(plain.degrees), np.sort(mixed.degrees))
    s, t, w = edges(mixed)
    s0, t0, w0 = edges(plain)
    assert sorted(w.tolist()) == sorted(w0.tolist())
    assert (s == t).sum() == (s0 == t0).sum()
    if scale > 4:
        assert int(np.argmax(mixed.degrees)) != 0


def test_kronecker_is_symmetric_and_can_be_simple() -> None:
    graph = kronecker(scale=9)
    assert_symmetric(graph)
    simple = kronecker(scale=9, simple=True)
    assert_symmetric(simple)
    s, t, _ = edges(simple)
    assert np.all(s != t)
    pairs = np.unique(s * 512 + t)
    assert len(pairs) == simple.n_edges
    s, t, _ = edges(graph)
    assert np.array_equal(np.unique((s * 512 + t)[s != t]), pairs)


def test_kronecker_is_skewed() -> None:
    graph = kronecker(scale=14)
    assert graph.degrees.max() > 50 * graph.mean_degree
    assert 0.2 < np.mean(graph.degrees == 0) < 0.6


def test_small_world_ring_and_rewiring() -> None:
    ring = generate("small_world", vertices=50, neighbours=6, rewire=0.0)
    assert_symmetric(ring)
    s, t, _ = edges(ring)
    assert set((t - s) % 50) == {1, 2, 3, 47, 48, 49}
    assert set(ring.degrees) == {6}
    n = 20_000
    mixed = generate("small_world", vertices=n, neighbours=6, rewire=0.25)
    s, t, _ = edges(mixed)
    gap = np.minimum((t - s) % n, (s - t) % n)
    assert abs(np.mean(gap > 3) - 0.25) < 0.01
    assert np.all(s != t)


def test_preferential_attachment_law() -> None:
    n, k = 200_000, 4
    graph = generate("preferential_attachment", vertices=n, attach=k)
    assert_symmetric(graph)
    assert graph.n_edges == 2 * k * (n - 1)
    assert graph.degrees.min() >= k
    assert int(sssp(graph, 0).reachable.sum()) == n
    # Barabasi and Albert's limit: P(degree >= x) = k (k + 1) / (x (x + 1)).
    for x in (2 * k, 4 * k, 8 * k, 16 * k):
        share = np.mean(graph.degrees >= x)
        assert abs(share / (k * (k + 1) / (x * (x + 1))) - 1) < 0.1, x


def test_preferential_attachment_simple() -> None:
    graph = generate("preferential_attachment", vertices=2000, attach=4, simple=True)
    s, t, _ = edges(graph)
    assert len(np.unique(s * 2000 + t)) == graph.n_edges
    assert int(sssp(graph, 1999).reachable.sum()) == 2000


# ---- geometric families ------------------------------------------------------------------------


def test_grid_shape() -> None:
    rows, columns = 40, 60
    whole = generate("grid", rows=rows, columns=columns, missing=0.0)
    assert_symmetric(whole)
    assert whole.n_edges == 2 * (rows * (columns - 1) + columns * (rows - 1))
    s, t, _ = edges(whole)
    assert whole.coordinates is not None
    step = np.abs(whole.coordinates[s] - whole.coordinates[t])
    assert np.all(step.sum(axis=1) == 1)
    thinned = generate("grid", rows=rows, columns=columns, missing=0.3)
    assert_symmetric(thinned)
    full = whole.n_edges // 2
    assert abs(thinned.n_edges // 2 - 0.7 * full) < 5 * math.sqrt(0.21 * full)
    assert generate("grid", rows=5, columns=5, missing=1.0).n_edges == 0


def test_grid_keeps_the_weights_of_the_edges_that_stay() -> None:
    whole = generate("grid", rows=9, columns=9, missing=0.0).to_scipy()
    thinned = generate("grid", rows=9, columns=9, missing=0.4).to_scipy().tocoo()
    for s, t, w in zip(*thinned.coords, thinned.data, strict=True):
        assert whole[s, t] == w


def test_delaunay_mesh() -> None:
    from scipy.spatial import ConvexHull

    n = 2000
    graph = generate("delaunay", vertices=n)
    assert_symmetric(graph)
    hull = len(ConvexHull(graph.coordinates).vertices)
    assert graph.n_edges // 2 == 3 * n - 3 - hull  # Euler, for a triangulated point set
    assert int(sssp(graph, 0).reachable.sum()) == n
    s, t, w = edges(graph)
    assert graph.coordinates is not None
    lengths = np.hypot(*(graph.coordinates[s] - graph.coordinates[t]).T)
    np.testing.assert_allclose(w, lengths, rtol=1e-14)
    whole = generate("delaunay", vertices=n, weight_dtype="int32")
    np.testing.assert_allclose(whole.effective_weights, 1000 * math.sqrt(n) * lengths, atol=0.51)


def test_delaunay_near_order_is_the_same_mesh_with_nearer_ids() -> None:
    free = generate("delaunay", vertices=3000)
    near = generate("delaunay", vertices=3000, order="near")
    assert sorted(free.effective_weights.tolist()) == sorted(near.effective_weights.tolist())
    gaps = [np.median(np.abs(s - t)) for s, t, _ in (edges(free), edges(near))]
    assert gaps[1] < gaps[0] / 4


def test_road_like_looks_like_roads() -> None:
    graph = road_like(vertices=40_000)
    assert abs(graph.n_vertices / 40_000 - 1) < 0.1
    assert 2.2 < graph.mean_degree < 2.8
    assert graph.degrees.max() <= 4
    assert np.mean(graph.degrees == 2) > 0.5
    assert int(sssp(graph, 0).reachable.sum()) == graph.n_vertices
    assert int(sssp(graph.transpose(), 0).reachable.sum()) == graph.n_vertices
    hops = sssp(graph.without_weights(), 0).distances.max()
    assert hops > math.sqrt(graph.n_vertices) / 2
    assert graph.attributes["unit"] == "ms"


def test_road_like_times_and_lengths_agree() -> None:
    time_graph = road_like(vertices=5000, weight_dtype="float64")
    length_graph = road_like(vertices=5000, weight="length", weight_dtype="float64")
    assert (time_graph.attributes["unit"], length_graph.attributes["unit"]) == ("s", "m")
    s, t, metres = edges(length_graph)
    assert length_graph.coordinates is not None
    straight = np.hypot(*(length_graph.coordinates[s] - length_graph.coordinates[t]).T)
    np.testing.assert_allclose(metres, straight, rtol=1e-12)
    speed = metres / time_graph.effective_weights * 3.6
    assert set(np.round(speed, 6)) == {30.0, 50.0, 70.0, 110.0}
    whole = road_like(vertices=5000)
    np.testing.assert_allclose(
        whole.effective_weights, 1000 * time_graph.effective_weights, atol=0.51
    )


def test_road_like_one_way_share() -> None:
    two_way = road_like(vertices=20_000, one_way=0.0)
    assert_symmetric(two_way)
    assert int(sssp(two_way, 0).reachable.sum()) == two_way.n_vertices
    some = road_like(vertices=20_000, one_way=0.3, strongly_connected=False)
    s, t, _ = edges(some)
    keys = np.unique(np.minimum(s, t) * some.n_vertices + np.maximum(s, t), return_counts=True)
    assert abs(np.mean(keys[1] == 1) - 0.3) < 0.02


# ---- section 4.3 -------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_section43_has_one_right_answer(order: str, directed: bool) -> None:
    graph = section43(vertices=200, sinks=5, order=order, directed=directed)
    expected = np.repeat([0, 1, 2], [1, 194, 5])
    np.testing.assert_array_equal(sssp(graph, 0).distances, expected)
    matrix = graph.to_scipy().toarray()
    for sink in range(195, 200):
        tried = matrix[1:195, sink]
        assert sorted(tried) == list(range(1, 195))  # every racer tries a different value
        winner = int(np.argmin(tried))
        assert order == "shuffled" or winner == (0 if order == "ascending" else 193)
