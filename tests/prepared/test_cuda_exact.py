"""Left-to-right sums restored on the emulated device: the bits of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.prepared.cuda.sinks.rows import Restoration
from nearfar.solve.many import distances
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import random_graph, rows_of

METHOD = "elimination_tree_rows@cuda"
FLOATS = [np.float32, np.float64]


def weighted_grid(dtype: Any, kind: str) -> Graph:
    """Return a grid whose paths are unique, all equally long, or equal up to rounding."""
    graph = generate("grid", rows=14, columns=17)
    rng = np.random.default_rng(5)
    some = {
        "unique": rng.random(graph.n_edges) + 0.01,
        "equal": np.ones(graph.n_edges),
        "nearly equal": np.full(graph.n_edges, 0.1),
        "tenths": rng.integers(0, 4, graph.n_edges) * 0.1,
        "spread": 10.0 ** rng.integers(-6, 6, graph.n_edges),
    }[kind]
    return Graph(graph.indptr, graph.indices, some.astype(dtype))


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("kind", ["unique", "equal", "nearly equal", "tenths", "spread"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_bits_of_a_search(dtype, kind):
    graph = weighted_grid(dtype, kind)
    prepared = nearfar.prepare(graph, force=True)
    sources = np.random.default_rng(2).integers(0, graph.n_vertices, 40)
    truth = distances(graph, sources, method="worker_per_source", device="cpu")
    found = distances(prepared, sources, method=METHOD, sums="search")
    np.testing.assert_array_equal(found, truth)
    columns = np.array([7, 0, 100, 7])
    table = distances(prepared, sources, targets=columns, method=METHOD, sums="search")
    np.testing.assert_array_equal(table, truth[:, columns])
    out = runtime.cupy().empty(truth.shape, dtype)
    distances(prepared, sources, method=METHOD, sums="search", sweep=32, out=out)
    np.testing.assert_array_equal(out.get(), truth)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("slack", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_any_slack_gives_the_same_bits(dtype, slack):
    """A small slack is widened; a large one only costs rounds; rows may be inexact."""
    graph = weighted_grid(dtype, "unique")
    prepared = nearfar.prepare(graph, force=True)
    sources = np.arange(0, graph.n_vertices, 9)
    truth = distances(graph, sources, method="worker_per_source", device="cpu")
    rng = np.random.default_rng(0)
    rows = runtime.cupy().asarray(truth * (1 + 1e-5 * (rng.random(truth.shape) - 0.5)))
    rows = rows.astype(dtype)
    restore = Restoration(prepared.summing("search"), len(sources))
    restore.slack = dtype(slack)
    restore(sources, rows)
    np.testing.assert_array_equal(rows.get(), truth)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", FLOATS)
def test_more_improvements_than_vertices(dtype):
    """Parallel edges, each slightly lighter than the one before, overfill the queue."""
    eps = np.finfo(dtype).eps
    heads = np.repeat([1, 2, 3], 60)
    tails = heads - 1
    weights = np.tile(1 + eps * np.arange(60, 0, -1), 3).astype(dtype)
    graph = Graph.from_edges(tails, heads, weights)
    prepared = nearfar.prepare(graph, force=True)
    found = distances(prepared, [0, 1, 3], method=METHOD, sums="search")
    truth = distances(graph, [0, 1, 3], device="cpu")
    np.testing.assert_array_equal(found, truth)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", FLOATS)
def test_hubs_parts_and_zeros(dtype):
    rng = np.random.default_rng(3)
    star = Graph.from_edges(np.zeros(700, int), np.arange(1, 701), rng.random(700).astype(dtype))
    for graph in (star, random_graph(rng, 90, 150, dtype), random_graph(rng, 40, 0, dtype)):
        prepared = nearfar.prepare(graph, force=True)
        found = distances(prepared, range(5), method=METHOD, sums="search")
        np.testing.assert_array_equal(found, rows_of(graph)[:5])


@pytest.mark.usefixtures("emulated_gpu")
def test_negative_floats_are_restored_on_the_host():
    graph = random_graph(np.random.default_rng(1), 60, 150, np.float64, negative=True)
    prepared = nearfar.prepare(graph, force=True)
    np.testing.assert_array_equal(
        distances(prepared, range(9), method=METHOD, sums="search"), rows_of(graph)[:9]
    )
