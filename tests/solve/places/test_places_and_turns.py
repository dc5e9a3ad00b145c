"""Places on graphs with turn costs, compared with a search in which places are vertices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.answer import isochrones as answer_isochrones
from nearfar.errors import OptionError, UnreachableError
from nearfar.graph.snapping.snap import Snapped
from tests.answer.test_geography import covered
from tests.graph.test_snapping import streets
from tests.graph.test_turns import by_hand, turns_of
from tests.solve.places.test_table import joined


class ByHand:
    """Graph with every place as a vertex, and its turns; no path turns around at a place."""

    def __init__(self, g: nearfar.Graph, places: Snapped, forbidden: Any, costs: Any) -> None:
        n, tails, heads = g.n_vertices, g.tails(np.int64), g.indices.astype(np.int64)
        on: dict[int, list[tuple[float, int]]] = {}
        self.number = np.empty(len(places), np.int64)
        for i in range(len(places)):
            e, back, s = int(places.edge[i]), int(places.back[i]), float(places.share[i])
            if places.vertex[i] >= 0 or s in (0, 1):
                self.number[i] = places.vertex[i] if e < 0 else (heads if s else tails)[e]
                continue
            self.number[i] = n
            on.setdefault(e, []).append((s, n))
            if back >= 0:
                on.setdefault(back, []).append((1 - s, n))
            n += 1
        pieces: list[tuple[int, int, float, int]] = []
        for e in range(g.n_edges):
            along = [(0.0, int(tails[e])), *sorted(on.get(e, [])), (1.0, int(heads[e]))]
            for (s, u), (t, v) in itertools.pairwise(along):
                pieces.append((u, v, (t - s) * g.effective_weights[e].item(), e))
        u, v, w, edge = zip(*sorted(pieces, key=lambda piece: piece[0]), strict=True)
        self.graph = nearfar.Graph.from_edges(u, v, w, n_vertices=n)
        first = {e: k for k, e in enumerate(edge) if u[k] == tails[e] and u[k] < g.n_vertices}
        last = {e: k for k, e in enumerate(edge) if v[k] == heads[e] and v[k] < g.n_vertices}
        self.forbidden = {(last[a], first[b]) for a, b in forbidden}
        self.costs = {(last[a], first[b]): cost for (a, b), cost in costs.items()}
        self.forbidden |= {
            (a, b) for a, b in turns_of(self.graph) if v[a] >= g.n_vertices and edge[a] != edge[b]
        }

    def rows(self, count: int, closed: set[int]) -> np.ndarray:
        """Return distances from the first places to the others."""
        found = [
            by_hand(self.graph, int(source), self.forbidden, self.costs, closed)
            for source in self.number[:count]
        ]
        return np.array(found)[:, self.number[count:]]


def town(n: int, dtype: str) -> tuple[nearfar.Graph, Any, set[Any], dict[Any, Any], set[int]]:
    """Return a graph, turns of it, and vertices that no path passes."""
    g = streets(n, seed=50 + n).astype(dtype)
    rng = np.random.default_rng(n)
    possible = turns_of(g)
    some = rng.random(len(possible))
    forbidden = {turn for turn, x in zip(possible, some, strict=True) if x < 0.2}
    costs = {turn: int(100 * x) for turn, x in zip(possible, some, strict=True) if 0.2 < x < 0.5}
    closed = {int(rng.integers(n))} if n > 5 else set()
    return (
        g,
        g.with_turns(forbidden=forbidden, costs=costs, closed=closed),
        forbidden,
        costs,
        closed,
    )


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("n", [2, 4, 7, 12])
def test_places_pay_the_turn_into_their_edge(n: int, dtype: str) -> None:
    g, turns, forbidden, costs, closed = town(n, dtype)
    rng = np.random.default_rng(n)
    points = rng.uniform(0, (1000, 700), (24, 2))
    points[:4] = np.asarray(g.coordinates)[rng.integers(0, n, 4)]
    points = rng.permutation(points)
    a, b = (g.snap(*part.T, max_distance=1e9) for part in np.split(points, [12]))
    want = ByHand(g, joined(a, b), forbidden, costs).rows(12, closed)
    want[np.isinf(want)] = np.nan
    free = nearfar.table(g, a, b)
    assert n == 2 or (np.isnan(want) | (want > free + 1e-9)).any()
    for graph in (turns, nearfar.prepare(turns, force=True)):
        found = nearfar.table(graph, a, b)
        assert np.allclose(found, want, rtol=1e-9, atol=1e-9, equal_nan=True)
        near = nearfar.nearest_places(graph, a, b, k=3)
        least = np.sort(np.where(np.isnan(want), np.inf, want), axis=1)[:, :3]
        got = np.where(np.isnan(near.distances), np.inf, near.distances)
        assert np.allclose(got, least, rtol=1e-9, atol=1e-9)
        reached = nearfar.accessibility(graph, a, b, limit=80.5)
        assert reached.tolist() == (want <= 80.5).sum(axis=1).tolist()
        routes = nearfar.route(graph, a, b)
        for i, one in enumerate(routes):
            if one is None:
                assert np.isnan(want[i, i])
                continue
            assert one.length == pytest.approx(want[i, i])
            turned = list(itertools.pairwise(one.edges.tolist()))
            assert not forbidden & set(turned)
            assert not closed & set(g.indices[one.edges[:-1]].tolist())
            total = one.total(g.effective_weights) + sum(costs.get(turn, 0) for turn in turned)
            assert total == pytest.approx(one.length)
            line = one.points
            assert line[0] == pytest.approx([a.x[i], a.y[i]], abs=1e-6)
            assert line[-1] == pytest.approx([b.x[i], b.y[i]], abs=1e-6)


def test_vertices_in_places_are_those_of_the_original_graph() -> None:
    g, turns, *_ = town(9, "int32")
    matrix = nearfar.distances(turns).astype(float)
    matrix[matrix == np.iinfo(np.int32).max] = np.nan
    everyone = np.arange(9)
    assert np.array_equal(nearfar.table(turns, everyone, everyone), matrix, equal_nan=True)
    for target in range(1, 9):
        if np.isnan(matrix[0, target]):
            with pytest.raises(UnreachableError):
                nearfar.route(turns, 0, target)
        else:
            assert nearfar.route(turns, 0, target).vertices[0] == 0
            assert nearfar.route(turns, 0, target).length == matrix[0, target]
    assert g.n_vertices == 9
    with pytest.raises(OptionError, match="table or route for places"):
        nearfar.sssp(turns, (10.0, 20.0))


def obeyed(g: nearfar.Graph, edges: Any, forbidden: Any, costs: Any, closed: set[int]) -> float:
    """Return the costs of the turns of a path, after checking that none is forbidden."""
    turned = list(itertools.pairwise(edges.tolist()))
    assert not forbidden & set(turned)
    assert not closed & set(g.indices[edges[:-1]].tolist())
    return float(sum(costs.get(turn, 0) for turn in turned))


def test_alternatives_obey_turns() -> None:
    g, turns, *rules = town(60, "float64")
    ready = nearfar.prepare(turns, force=True)
    rng = np.random.default_rng(1)
    points = rng.uniform(0, (1000, 700), (40, 2))
    several = 0
    for a, b in zip(points[:20], points[20:], strict=True):
        try:
            want = nearfar.route(turns, tuple(a), tuple(b))
        except UnreachableError:
            with pytest.raises(UnreachableError):
                nearfar.routes(ready, tuple(a), tuple(b))
            continue
        for sharing, local in ((0.8, 0.25), (1.0, 0.01)):
            found = nearfar.routes(ready, tuple(a), tuple(b), 9, sharing=sharing, local=local)
            assert found[0].length == pytest.approx(want.length)
            assert [one.length for one in found] == sorted(one.length for one in found)
            assert len({one.edges.tobytes() for one in found}) == len(found)
            several += len(found) > 1
            for one in found:
                assert one.length <= 1.25 * want.length + 1e-9
                extra = obeyed(g, one.edges, *rules)
                assert one.total(g.effective_weights) + extra == pytest.approx(one.length)
    assert several > 5


@pytest.mark.parametrize("n", [4, 12, 40])
def test_totals_between_places_are_those_of_the_routes(n: int) -> None:
    g, _, forbidden, costs, closed = town(n, "float64")
    rng = np.random.default_rng(n)
    g = g.with_weights(rng.uniform(1, 100, g.n_edges))  # no two paths are as long
    turns = g.with_turns(forbidden=forbidden, costs=costs, closed=closed)
    points = rng.uniform(0, (1000, 700), (16, 2))
    metres, tolls = rng.uniform(0, 9, g.n_edges), rng.integers(0, 9, g.n_edges)
    a, b = points[:8], points[8:]
    found = nearfar.measures.skims(turns, a, b, quantities={"metres": metres, "tolls": tolls})
    table = nearfar.table(turns, a, b)
    assert np.allclose(found.distances, np.where(np.isnan(table), np.inf, table))
    for i, one in enumerate(a):
        for j, way in enumerate(nearfar.route(turns, np.tile(one, (8, 1)), b)):
            if way is not None:
                assert found.totals["metres"][i, j] == pytest.approx(way.total(metres))
                assert found.totals["tolls"][i, j] == pytest.approx(way.total(tolls))


@pytest.mark.parametrize("n", [4, 12, 40])
def test_streets_within_a_limit_pay_the_turns_into_them(n: int) -> None:
    """Points on edges are covered if and only if the route to them is within the limit."""
    g, turns, forbidden, costs, closed = town(n, "float64")
    small = np.asarray(g.coordinates) / 1000
    g = nearfar.Graph.from_csr(g.indptr, g.indices, g.weights, coordinates=small)
    turns = g.with_turns(forbidden=forbidden, costs=costs, closed=closed)
    rng = np.random.default_rng(n)
    a, b = (g.snap(*rng.uniform(0, (1, 0.7), (k, 2)).T, max_distance=1e9) for k in (8, 60))
    want = ByHand(g, joined(a, b), forbidden, costs).rows(8, closed)
    limits = [200, 90, 40, 5]
    for graph in (turns, nearfar.prepare(turns, force=True)):
        found = nearfar.isochrones(graph, a, limits)["features"]
        for feature, (row, limit) in zip(found, itertools.product(want, limits), strict=True):
            line = np.array(feature["geometry"]["coordinates"]).reshape(-1, 2, 2)
            clear = np.abs(row - limit) > 1e-6
            points = np.column_stack((b.x, b.y))
            inside = covered(line, points) if len(line) else np.zeros(len(points), bool)
            assert (inside == (row <= limit))[clear].all()
    for source in range(min(n, 5)):
        paths = nearfar.sssp(turns, source)
        one = answer_isochrones(paths, limits)["features"]
        assert nearfar.isochrones(turns, [source], limits)["features"] == one
        counts = [feature["properties"]["n_vertices"] for feature in one]
        assert counts == [(paths.distances <= limit).sum() for limit in limits]
