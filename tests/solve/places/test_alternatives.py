"""Alternative routes: admissible by definition, checked with distances of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import OptionError, UnreachableError
from tests.graph.test_snapping import streets


def roads(dtype: str = "int32") -> Any:
    made = nearfar.generate("road_like", vertices=3000, seed=2)
    return nearfar.prepare(made.astype(np.int64).astype(dtype))


def is_shortest(g: Any, edges: np.ndarray) -> bool:
    start, end = int(g.tails()[edges[0]]), int(g.indices[edges[-1]])
    length = g.effective_weights[edges].astype(float).sum()
    want = nearfar.distances(g.without_names(), pairs=[(start, end)], method="dijkstra").item()
    return bool(length <= want * (1 + 1e-6))


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_alternatives_are_admissible(dtype: str) -> None:
    g = roads(dtype)
    rng = np.random.default_rng(1)
    weights = g.effective_weights.astype(float)
    several = 0
    for a, b in rng.integers(0, g.n_vertices, (25, 2)).tolist():
        found = nearfar.routes(g, a, b, k=3, stretch=1.3, sharing=0.7, local=0.2)
        best = nearfar.distances(g, pairs=[(a, b)]).item()
        assert found[0].length == pytest.approx(best)
        assert [r.length for r in found] == sorted(r.length for r in found)
        several += len(found) > 1
        for i, route in enumerate(found):
            assert route.total(weights) == pytest.approx(route.length)
            assert route.vertices[0] == a
            assert route.vertices[-1] == b
            assert len(set(route.vertices)) == len(route.vertices)  # no vertex twice
            assert (g.indices[route.edges[:-1]] == g.tails()[route.edges[1:]]).all()
            assert route.length <= 1.3 * best * (1 + 1e-9)
            others = np.isin(route.edges, np.concatenate([r.edges for r in found[:i]] or [[]]))
            if i == 1:
                assert weights[route.edges[others]].sum() <= 0.7 * best * (1 + 1e-9)
                apart = ~np.isin(route.edges, found[0].edges)
                detour = weights[route.edges[apart]].sum()
                direct = weights[found[0].edges[~np.isin(found[0].edges, route.edges)]].sum()
                assert detour <= 1.3 * direct * (1 + 1e-9)
            # Somewhere two shortest paths join, and around that place the way is a shortest path.
            along = np.concatenate([[0.0], np.cumsum(weights[route.edges])])
            joins = [
                at for at in range(1, len(route.edges))
                if is_shortest(g, route.edges[:at]) and is_shortest(g, route.edges[at:])
            ] if i == 1 and len(route.edges) < 60 else []  # fmt: skip
            if i == 1 and len(route.edges) < 60:
                assert joins
                near = [
                    is_shortest(g, route.edges[
                        max(np.searchsorted(along, along[at] - 0.2 * best, side="right") - 1, 0):
                        np.searchsorted(along, along[at] + 0.2 * best)
                    ]) for at in joins
                ]  # fmt: skip
                assert any(near)
    assert several >= 8


def test_between_places() -> None:
    g = nearfar.prepare(streets(60, seed=3), force=True)
    rng = np.random.default_rng(4)
    for a, b in rng.uniform(100, 600, (20, 2, 2)):
        origin, destination = tuple(a.tolist()), tuple(b.tolist())
        found = nearfar.routes(g, origin, destination, k=4, stretch=2, sharing=0.9, local=0.05)
        want = nearfar.route(g, origin, destination)
        assert found[0].length == pytest.approx(want.length)
        for one in found:
            assert np.allclose(one.points[[0, -1]], want.points[[0, -1]])
            assert one.total(g.effective_weights) == pytest.approx(one.length)


def test_one_street_and_one_route() -> None:
    g = nearfar.prepare(streets(5, seed=1), force=True)
    place = tuple(g.coordinates[[0, 1]].mean(axis=0).tolist())  # type: ignore[index]
    assert [r.length for r in nearfar.routes(g, place, place)] == [0.0]
    assert len(nearfar.routes(g, 0, 3, k=1)) == 1
    assert nearfar.routes(g, 3, 3)[0].length == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"k": 0}, "k is 0"),
        ({"stretch": 0.9}, "stretch is 0.9: give a number from 1"),
        ({"sharing": 2}, "sharing is 2"),
        ({"local": "long"}, "local is 'long'"),
        ({"destination": [2, 3], "origin": [0, 1]}, "one origin and one destination"),
    ],
)
def test_bad_input_is_told_in_a_sentence(options: dict[str, Any], text: str) -> None:
    g = nearfar.prepare(streets(5, seed=1), force=True)
    with pytest.raises(OptionError, match=text):
        nearfar.routes(g, **{"origin": 0, "destination": 3, **options})


def test_what_has_no_routes() -> None:
    g = nearfar.Graph.from_edges([0], [1], n_vertices=3, coordinates=[[0, 0], [1, 1], [2, 2]])
    with pytest.raises(OptionError, match="needs a prepared graph"):
        nearfar.routes(g, 0, 1)  # type: ignore[arg-type]
    with pytest.raises(UnreachableError, match="no way"):
        nearfar.routes(nearfar.prepare(g, force=True), 1, 0)
