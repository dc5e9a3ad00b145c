"""Tables with fewer targets than sources, which are searched from the targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.solve import from_targets as module

WORDS = "from the targets"


def random_graph(seed: int, dtype: str, *, directed: bool, fractions: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    n, m = 300, 700
    weights = rng.integers(0, 40, m) + (rng.random(m) if fractions else 0)
    tails, heads = rng.integers(0, n, (2, m))
    return Graph.from_edges(tails, heads, weights.astype(dtype), n_vertices=n, directed=directed)


def by_rows(graph: Graph, sources: Any, targets: Any, **limit: Any) -> Any:
    rows = [nearfar.sssp(graph, s, device="cpu", **limit).distances for s in sources]
    return np.array([row[np.asarray(targets)] for row in rows])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("limit", [None, 60])
def test_a_table_of_few_targets_is_that_of_its_rows(
    dtype: str, directed: bool, limit: int | None
) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        graph = random_graph(seed, dtype, directed=directed)
        sources, targets = rng.integers(0, 300, 90), rng.integers(0, 300, 3)
        stats: dict[str, Any] = {}
        found = nearfar.distances(graph, sources, targets=targets, limit=limit, stats=stats)
        assert WORDS in stats["reason"]
        wanted = by_rows(graph, sources, targets, limit=limit)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
        assert found.flags.c_contiguous


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("limit", [None, 55.5])
@pytest.mark.parametrize("choice", [None, (0.0, 0.1, 0.2, 0.3, 0.4, 0.7), (1.0, 2**0.5)])
def test_sums_of_fractions_have_the_bits_of_searches_from_the_sources(
    directed: bool, limit: float | None, choice: tuple[float, ...] | None
) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        graph = random_graph(seed, "float64", directed=directed, fractions=True)
        if choice is not None:
            weights = rng.choice(choice, graph.n_edges)
            graph = Graph.from_csr(graph.indptr, graph.indices, weights, directed=True)
        graph.transpose()
        sources, targets = range(150), [3, 150, 3]
        stats: dict[str, Any] = {}
        found = nearfar.distances(graph, sources, targets=targets, limit=limit, stats=stats)
        assert WORDS in stats["reason"]
        np.testing.assert_array_equal(found, by_rows(graph, sources, targets, limit=limit))


def test_sums_of_float32_are_left_to_searches_from_the_sources() -> None:
    graph = random_graph(3, "float32", directed=False, fractions=True)
    stats: dict[str, Any] = {}
    found = nearfar.distances(graph, range(100), targets=[3, 150], stats=stats)
    assert WORDS not in stats["reason"]
    np.testing.assert_array_equal(found, by_rows(graph, range(100), [3, 150]))


def grid_of_ties(side: int) -> Graph:
    """Return a grid most of whose vertices have many shortest paths, equal but for rounding."""
    grid = generate("grid", rows=side, columns=side)
    tails, heads = np.repeat(np.arange(side**2), grid.degrees), np.asarray(grid.indices)
    weights = np.where(tails % side == heads % side, 0.1, 0.3)
    return Graph.from_csr(grid.indptr, grid.indices, weights, directed=False)


def test_many_ties_are_left_to_searches_from_the_sources() -> None:
    grid = grid_of_ties(60)
    for attempt in range(2):  # the second call knows
        stats: dict[str, Any] = {}
        found = nearfar.distances(grid, range(300), targets=[3599, 1830], stats=stats)
        assert WORDS not in stats["reason"], attempt
        np.testing.assert_array_equal(found, by_rows(grid, range(300), [3599, 1830]))


def test_some_undecided_rows_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNDECIDED", 2.0)
    grid = grid_of_ties(60)
    stats: dict[str, Any] = {}
    found = nearfar.distances(grid, range(300), targets=[3599, 30], stats=stats)
    assert WORDS in stats["reason"]
    np.testing.assert_array_equal(found, by_rows(grid, range(300), [3599, 30]))


def test_floats_of_integers_beyond_the_exact_ones() -> None:
    """Sums beyond 2^24 are rounded in float32, in the order of the path."""
    weights = np.full(299, 2**19 + 1, np.float32)
    weights[::3] = 5
    path = Graph.from_edges(np.arange(299), np.arange(1, 300), weights, directed=False)
    found = nearfar.distances(path, range(300), targets=[0, 299])
    np.testing.assert_array_equal(found, by_rows(path, range(300), [0, 299]))


def test_distances_that_need_64_bits() -> None:
    weights = np.full(99, 2**30, np.int32)
    path = Graph.from_edges(np.arange(99), np.arange(1, 100), weights, directed=True)
    stats: dict[str, Any] = {}
    found = nearfar.distances(path, range(100), targets=[99], stats=stats)
    assert WORDS in stats["reason"]
    assert found.dtype == np.int64
    assert found[:, 0].tolist() == [(99 - i) * 2**30 for i in range(100)]


def test_arguments_that_are_about_rows_keep_searches_from_the_sources() -> None:
    graph = random_graph(1, "int32", directed=False)
    calls: list[dict[str, Any]] = [
        {"method": "worker_per_source"},
        {"memory": 10**8},
    ]
    for call in calls:
        stats: dict[str, Any] = {}
        nearfar.distances(graph, range(90), targets=[5, 7], stats=stats, **call)
        assert WORDS not in stats["reason"], call
    stats = {}
    nearfar.distances(graph, range(90), targets=range(60), stats=stats)
    assert WORDS not in stats["reason"]


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("reduce", ["nearest:2", "sum", "max", "count", "harmonic"])
def test_reductions_of_few_targets(reduce: Any, dtype: str) -> None:
    graph = random_graph(4, dtype, directed=False, fractions=dtype == "float64")
    sources, targets = [*range(120), 7], [3, 7, 150]
    stats: dict[str, Any] = {}
    found = nearfar.distances(graph, sources, targets=targets, reduce=reduce, stats=stats)
    assert WORDS in stats["reason"]
    wanted = nearfar.distances(
        graph, sources, targets=targets, reduce=reduce, method="worker_per_source", device="cpu"
    )
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("out", ["rows.npy", "rows.zarr", "array", "csr"])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_other_results(out: str, dtype: str, tmp_path: Path) -> None:
    graph = random_graph(5, dtype, directed=False, fractions=dtype == "float64")
    sources, targets = [*range(120), 7, 7], [3, 7, 150]
    wanted = by_rows(graph, sources, targets)
    given: Any = np.empty(wanted.shape, dtype) if out == "array" else out
    call: dict[str, Any] = {"out": given}
    if "." in out:
        call = {"out": tmp_path / out, "block": 50}
    seen: list[tuple[float, float]] = []
    for _ in range(2):  # the second call finds the blocks of the first
        stats: dict[str, Any] = {}
        found: Any = nearfar.distances(
            graph, sources, targets=targets, stats=stats,
            progress=lambda *part: seen.append(part), **call,
        )  # fmt: skip
        assert WORDS in stats["reason"]
        if out == "csr":
            other: Any = nearfar.distances(
                graph, sources, targets=targets, out="csr", method="worker_per_source"
            )
            for name in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(found, name), getattr(other, name))
        else:
            np.testing.assert_array_equal(np.asarray(found), wanted)
        assert seen[-1][0] == seen[-1][1]


def test_names_repeated_sources_and_progress() -> None:
    names = [f"v{i}" for i in range(300)]
    plain = random_graph(2, "int64", directed=True)
    graph = Graph.from_csr(
        plain.indptr, plain.indices, plain.weights, directed=True, vertex_names=names
    )
    seen: list[tuple[float, float]] = []
    sources = [*names[:50], *names[:50]]
    found = nearfar.distances(
        graph, sources, targets=["v7", "v7"], progress=lambda *part: seen.append(part)
    )
    wanted = by_rows(plain, [*range(50), *range(50)], [7, 7])
    np.testing.assert_array_equal(found, wanted)
    assert seen == [(50, 50)]


def test_places_of_many_origins_and_few_destinations() -> None:
    streets = generate("road_like", vertices=2_000)
    xy = np.asarray(streets.coordinates)
    origins, destinations = xy[:400] + 0.1, xy[900:903] + 0.1
    found = nearfar.table(streets, origins, destinations)
    rows = [nearfar.table(streets, origins[i : i + 1], destinations)[0] for i in range(400)]
    np.testing.assert_array_equal(found, np.array(rows))
