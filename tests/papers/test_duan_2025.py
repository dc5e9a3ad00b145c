"""BMSSP: all k and t, ties, the graph of constant degree, and operation counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nearfar
from nearfar import Graph, OptionError
from nearfar.graph.dtypes import unreached_value
from tests.zoo import DTYPES, ZOO, as_dtype


@pytest.mark.parametrize("constant_degree", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_k_and_t_gives_the_distances_of_dijkstra(dtype: str, constant_degree: bool) -> None:
    for name, build in ZOO.items():
        graph = as_dtype(build(), dtype)
        if graph.n_negative or not graph.n_vertices:
            continue
        source = graph.n_vertices // 2
        want = nearfar.sssp(graph, source, method="dijkstra_binary_heap").distances
        for k, t in ((None, None), (1, 1), (2, 1), (1, 2), (3, 2), (4, 5)):
            found = nearfar.sssp(
                graph, source, method="bmssp", pivot_rounds=k, level_bits=t,
                constant_degree=constant_degree,
            )  # fmt: skip
            np.testing.assert_array_equal(found.distances, want, f"{name}, k={k}, t={t}")


def test_random_graphs_with_many_ties() -> None:
    rng = np.random.default_rng(7)
    for _ in range(400):
        n, m = int(rng.integers(1, 400)), int(rng.integers(0, 2000))
        weights = rng.integers(0, int(rng.choice([1, 2, 5, 100])), m)
        graph = Graph.from_edges(
            rng.integers(0, n, m), rng.integers(0, n, m), weights.astype(np.int32), n_vertices=n
        )
        k, t = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        found = nearfar.sssp(graph, 0, method="bmssp", pivot_rounds=k, level_bits=t)
        np.testing.assert_array_equal(
            found.distances, nearfar.sssp(graph, 0, method="dijkstra_binary_heap").distances
        )


def test_weights_that_rounding_absorbs() -> None:
    """Over 24 decades a vertex may come nearer, in more hops, but its neighbours not."""
    rng = np.random.default_rng(0)
    k, n = 30, 179
    tails, heads = np.divmod(np.arange(k * k), k)
    tail = np.arange(k - 1, n - 1)
    tails, heads = np.r_[tails, tail, tail + 1], np.r_[heads, tail + 1, tail]
    for _ in range(20):
        weights = (10 ** rng.uniform(-12, 12, len(tails))).astype(np.float32)
        graph = nearfar.Graph.from_edges(tails, heads, weights)
        for source in range(0, k, 7):
            wanted = nearfar.sssp(graph, source, method="dijkstra").distances
            for given in ({}, {"level_bits": 1}, {"pivot_rounds": 1}):
                found = nearfar.sssp(graph, source, method="bmssp@cpu", **given)
                np.testing.assert_array_equal(found.distances, wanted)


def test_a_limit_bounds_the_search_and_sums_widen() -> None:
    graph = nearfar.generate("road_like", vertices=3000, seed=2)
    whole = nearfar.sssp(graph, 0).distances
    limit = int(np.median(whole))
    near = nearfar.sssp(graph, 0, method="bmssp", limit=limit)
    none = unreached_value(whole.dtype)
    np.testing.assert_array_equal(near.distances, np.where(whole <= limit, whole, none))
    assert (
        near.stats["edges_relaxed"] < nearfar.sssp(graph, 0, method="bmssp").stats["edges_relaxed"]
    )
    most = 2**31 - 1
    wide = Graph.from_edges([0, 1], [1, 2], np.array([most - 1, most - 1], np.int32))
    assert nearfar.sssp(wide, 0, method="bmssp").distances.tolist() == [0, most - 1, 2 * (most - 1)]


def test_relaxations_stay_within_the_bound_of_the_paper() -> None:
    for exponent in (10, 13, 16):
        graph = nearfar.generate("uniform_random", vertices=2**exponent, degree=4, seed=1)
        stats = nearfar.sssp(graph, 0, method="bmssp").stats
        assert stats["edges_relaxed"] <= 2 * graph.n_edges * exponent ** (2 / 3)
        assert stats["pivots"] <= stats["sources"]
        assert stats["base_cases"] < graph.n_vertices
        assert math.isfinite(stats["seconds"])


@pytest.mark.parametrize("given", [{"pivot_rounds": 0}, {"level_bits": 41}])
def test_options_out_of_range(given: dict[str, int]) -> None:
    graph = Graph.from_edges([0], [1], [1])
    with pytest.raises(OptionError, match=f"{next(iter(given))} is .*: give 1 to"):
        nearfar.sssp(graph, 0, method="bmssp", **given)  # type: ignore[arg-type]
