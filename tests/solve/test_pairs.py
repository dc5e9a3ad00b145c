"""Distances of pairs: one decision for all of them, with the distances of searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.solve import pairs as pairs_of

DTYPES = [np.int32, np.int64, np.float32, np.float64]


def random_graph(rng: np.random.Generator, n: int, m: int, dtype: Any) -> Graph:
    tails, heads = rng.integers(0, n, m), rng.integers(0, n, m)
    weights = rng.integers(0, 50, m).astype(dtype)
    return Graph.from_edges(tails, heads, weights, n_vertices=n)


def asked(graph: Any, pairs: Any, **call: Any) -> tuple[Any, dict[str, Any]]:
    stats: dict[str, Any] = {}
    return nearfar.distances(graph, pairs=pairs, stats=stats, **call), stats


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_way_is_a_search(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    for n, m, count in [(1, 0, 3), (30, 60, 1), (60, 200, 500), (300, 500, 4000)]:
        graph = random_graph(rng, n, m, dtype)
        pairs = rng.integers(0, n, (count, 2))
        want = nearfar.all_pairs(graph)[pairs[:, 0], pairs[:, 1]]
        ways = set()
        for filled in (0, 64):
            monkeypatch.setattr(pairs_of, "_FILLED", filled)
            monkeypatch.setattr(pairs_of, "_FEW", 1)
            for one in (graph, nearfar.prepare(graph, force=True)):
                found, stats = asked(one, pairs)
                np.testing.assert_array_equal(found, want)
                assert found.dtype == want.dtype
                ways.add(stats["pairs_by"])
                limit = 60
                near = asked(one, pairs, limit=limit)[0]
                none = np.iinfo(dtype).max if np.dtype(dtype).kind == "i" else np.inf
                np.testing.assert_array_equal(near, np.where(want <= limit, want, none))
        assert {"table", "searches"} < ways
        assert ways & {"walks", "labels"}


def test_many_pairs_of_a_plain_graph_prepare_it_once() -> None:
    """Regression: each block of 256 sources searched, since one block did not repay preparing."""
    graph = nearfar.generate("country_roads", vertices=20_000, seed=1)
    pairs = np.random.default_rng(0).integers(0, graph.n_vertices, (8_000, 2))
    found, stats = asked(graph, pairs)
    assert stats["pairs_by"] == "labels"
    assert stats["prepare_seconds"] > 0
    assert "prepared within this call" in stats["reason"]
    for at in range(0, 8_000, 400):
        source, target = pairs[at]
        assert nearfar.sssp(graph, source).distances[target] == found[at]
    again, stats = asked(graph, pairs)
    np.testing.assert_array_equal(again, found)
    assert "prepare_seconds" not in stats
    assert "within this call" not in stats["reason"]
    few, stats = asked(nearfar.generate("country_roads", vertices=20_000, seed=2), pairs[:3])
    assert stats["pairs_by"] in ("table", "searches")
    assert few.shape == (3,)


def test_pairs_that_form_a_grid_are_a_table() -> None:
    """Regression: 500 x 2,000 pairs took 200 times as long as the table."""
    graph = nearfar.generate("road_like", vertices=3_000, seed=1)
    rng = np.random.default_rng(0)
    n = graph.n_vertices
    sources, targets = rng.choice(n, 40, False), rng.choice(n, 60, False)
    grid = np.stack([np.repeat(sources, 60), np.tile(targets, 40)], axis=1)
    want = nearfar.distances(graph, sources, targets=targets).reshape(-1)
    mixed = rng.permutation(len(grid))
    for one in (graph, nearfar.prepare(graph)):
        found, stats = asked(one, grid[mixed])
        np.testing.assert_array_equal(found, want[mixed])
        assert stats["pairs_by"] == "table"
    assert asked(nearfar.prepare(graph), grid[:100])[1]["pairs_by"] == "walks"
    asking = pairs_of._Pairs.of(grid[:, 0], grid[:, 1])
    assert (asking.fill_a_table(None), asking.fill_a_table(2**14)) == (True, False)


def test_a_method_and_its_options_are_kept_to() -> None:
    graph = nearfar.generate("road_like", vertices=2_000, seed=1)
    pairs = np.random.default_rng(0).integers(0, graph.n_vertices, (4_000, 2))
    want = asked(nearfar.prepare(graph), pairs)[0]
    found, stats = asked(graph, pairs, method="lanes")
    np.testing.assert_array_equal(found, want)
    assert (stats["engine"], stats["pairs_by"]) == ("lanes@cpu", "searches")


def test_a_table_whose_other_entries_do_not_fit() -> None:
    far = 2**62
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([far, far, far], np.int64))
    found, stats = asked(graph, [(0, 1), (1, 2), (2, 3), (0, 0)])
    assert found.tolist() == [far, far, far, 0]
    assert stats["pairs_by"] == "searches"
    with pytest.raises(nearfar.DistanceOverflowError):
        asked(graph, [(0, 3), (0, 1)])


def test_progress_and_names() -> None:
    graph = Graph.from_edges(["a", "b"], ["b", "c"], [1, 2])
    told: list[tuple[float, float]] = []
    call = {"progress": lambda done, of: told.append((done, of))}
    assert asked(graph, [("a", "c"), ("b", "b")], **call)[0].tolist() == [3, 0]
    assert asked(nearfar.prepare(graph), [("a", "c"), ("b", "b")], **call)[0].tolist() == [3, 0]
    assert told[-1] == (2, 2) == told[0]
