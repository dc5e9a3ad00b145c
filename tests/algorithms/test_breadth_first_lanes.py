"""Breadth-first search from up to 64 sources at once: rows, columns and figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.registry import FIGURES
from tests import oracle

LANES = "breadth_first_lanes"
EDGES = (0, 2, 5, 7.5, 40)


def _random(trial: int, rng: np.random.Generator) -> Graph:
    """Return a graph of up to 300 vertices with equal weights of any dtype."""
    n = int(rng.integers(1, 300))
    m = int(rng.integers(1, 4 * n))
    s, t = rng.integers(0, n, m), rng.integers(0, n, m)
    weight, dtype = [
        *((None, None), (7, "int32"), (0, "int64"), (2**20, "int32"), (2.0, "float32")),
        *((1.0, "float64"), (0.1, "float64"), (0.1, "float32")),
    ][trial % 8]
    weights = None if dtype is None else np.full(m, weight, dtype)
    graph = Graph.from_edges(s, t, weights, n_vertices=n, directed=bool(trial % 3))
    if trial % 2:
        graph.transpose()  # allows pulling
    return graph


@pytest.mark.parametrize("trial", range(48))
def test_rows_are_those_of_searches(trial: int) -> None:
    rng = np.random.default_rng(trial)
    graph = _random(trial, rng)
    n = graph.n_vertices
    sources = rng.integers(0, n, int(rng.choice([1, 9, 64, 65, 200])))  # some of them twice
    call: dict[str, Any] = {"threads": int(rng.integers(1, 4)), "device": "cpu"}
    far = np.array([oracle.dijkstra(graph, s) for s in sources])
    found = nearfar.distances(graph, sources, method=LANES, **call)
    assert found.dtype == graph.weight_dtype
    np.testing.assert_array_equal(found, far)
    targets = rng.integers(0, n, 5)
    some = nearfar.distances(graph, sources, targets=targets, method=LANES, **call)
    np.testing.assert_array_equal(some, far[:, targets])
    limit = 2.5 * float(graph.max_weight)
    near = nearfar.distances(graph, sources, limit=limit, method=LANES, **call)
    np.testing.assert_array_equal(near, np.where(far <= limit, far, unreached_value(far.dtype)))


@pytest.mark.parametrize("trial", range(24))
def test_figures_are_those_of_rows(trial: int) -> None:
    rng = np.random.default_rng(100 + trial)
    graph = _random(trial, rng)
    sources = rng.integers(0, graph.n_vertices, 70)
    for reduce in (*FIGURES, "harmonic", ("histogram", EDGES), "nearest:3"):
        stats: dict[str, Any] = {}
        call: dict[str, Any] = {"reduce": reduce, "threads": 2, "device": "cpu"}
        found = nearfar.distances(graph, sources, method=LANES, stats=stats, **call)
        expected = nearfar.distances(graph, sources, method="worker_per_source", **call)
        whole = float(graph.max_weight).is_integer()
        assert ("rows_never_made" in stats) == (whole and reduce != "nearest:3")
        if reduce == "harmonic":
            np.testing.assert_allclose(found, expected, rtol=1e-13)
        else:
            parts = found if isinstance(found, tuple) else (found,)
            others = expected if isinstance(expected, tuple) else (expected,)
            for one, other in zip(parts, others, strict=True):
                np.testing.assert_array_equal(one, other)
                assert one.dtype == other.dtype


def test_levels_that_do_not_fit_a_byte() -> None:
    path = generate("path", vertices=700, directed=False).without_weights()
    found = nearfar.distances(path, method=LANES)
    places = np.arange(700)
    np.testing.assert_array_equal(found, np.abs(places[:, None] - places))
    sums = nearfar.distances(path, reduce="sum", method=LANES)
    np.testing.assert_array_equal(sums, found.sum(axis=1))


def test_an_edge_is_read_a_few_times_for_all_sources() -> None:
    graph = generate("kronecker", scale=12).without_weights()
    sources = np.flatnonzero(graph.degrees)[:64]
    stats: dict[str, Any] = {}
    nearfar.distances(graph, sources, stats=stats, threads=1, device="cpu")
    assert stats["engine"] == f"{LANES}@cpu"
    assert stats["edges_relaxed"] < 4 * graph.n_edges


def test_sums_that_do_not_fit_are_repeated() -> None:
    steps = np.arange(40)
    path = Graph.from_edges(steps, steps + 1, np.full(40, 2**27, np.int32), n_vertices=41)
    far = nearfar.distances(path, [0, 30], method=LANES)
    assert far.dtype == np.int64
    assert far[0, 40] == 40 * 2**27
    assert nearfar.distances(path, [0], reduce="max", method=LANES).tolist() == [40 * 2**27]
