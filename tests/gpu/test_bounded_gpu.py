"""Bounded searches on a GPU: large sizes, repeated runs, spills, aggregates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.graph.dtypes import unreached_value
from tests.algorithms.test_floyd_warshall import DTYPES
from tests.zoo import as_dtype

METHOD = "bounded@cuda"


def limits(graph: Graph, reached: tuple[int, ...]) -> list[float]:
    """Return limits that contain about the given numbers of vertices around the widest vertex."""
    row = np.sort(nearfar.distances(graph, [graph.widest_vertex], method="dijkstra")[0])
    row = row[row != unreached_value(row.dtype)]
    return [float(row[min(k, len(row) - 1)]) for k in reached]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["road_like", "kronecker", "grid"])
def test_answers_are_those_of_the_cpu(name: str, dtype: str) -> None:
    """Balls from one vertex to more than a table holds, three times each."""
    how: dict[str, Any] = {
        "road_like": {"vertices": 30_000, "seed": 1},
        "kronecker": {"scale": 13},
        "grid": {"rows": 120, "columns": 130},
    }[name]
    graph = as_dtype(nearfar.generate(name, **how), dtype)
    sources = np.random.default_rng(4).integers(0, graph.n_vertices, 700)
    for limit in limits(graph, (0, 20, 300, 3000)):
        call: dict[str, Any] = {"sources": sources, "limit": limit}
        want = nearfar.distances(graph, method="bounded@cpu", **call)
        sparse = nearfar.distances(graph, method="bounded@cpu", out="csr", **call)
        for _ in range(3):
            np.testing.assert_array_equal(nearfar.distances(graph, method=METHOD, **call), want)
            found = nearfar.distances(graph, method=METHOD, out="csr", **call)
            for part in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(found, part), getattr(sparse, part))
        for reduce in ("count", "max", "nearest:4"):
            one, other = (
                np.atleast_1d(nearfar.distances(graph, reduce=reduce, method=m, **call))
                for m in (METHOD, "bounded@cpu")
            )
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("decay", [None, "linear", "exponential"])
def test_aggregates_of_every_vertex(decay: Any) -> None:
    graph = nearfar.generate("road_like", vertices=50_000, seed=3)
    values = np.random.default_rng(1).random((graph.n_vertices, 3))
    values[values < 0.1] = np.nan
    kinds = ["sum", "mean", "count", "min", "max"]
    call: dict[str, Any] = {"decay": decay, "aggregate": kinds}
    for limit in limits(graph, (60, 2500)):
        want = nearfar.catchment(graph, values, limit=limit, **call)
        for _ in range(3):
            found = nearfar.catchment(graph, values, limit=limit, device="cuda", **call)
            np.testing.assert_allclose(found, want, rtol=1e-12)
            if decay is None:
                np.testing.assert_array_equal(found, want)


def test_the_same_run_two_hundred_times() -> None:
    graph = nearfar.generate("road_like", vertices=5000, seed=5)
    (limit,) = limits(graph, (200,))
    want = nearfar.distances(graph, limit=limit, reduce="count", method="bounded@cpu")
    for _ in range(200):
        found = nearfar.distances(graph, limit=limit, reduce="count", method=METHOD)
        np.testing.assert_array_equal(found, want)
