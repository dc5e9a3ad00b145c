"""Alternative routes: admissible by definition, checked by distances of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import OptionError, UnreachableError
from nearfar.solve.places import alternatives
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
            # Two shortest paths join at some vertex, around which the route is a shortest path.
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
        ({"destination": [2, 3], "origin": [0, 1]}, "a single origin and a single destination"),
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


def reference(
    g: Any, a: int, b: int, k: int, stretch: float, sharing: float, local: float
) -> list[np.ndarray]:
    """Return the same routes by searches: over common ancestors, by the definition."""
    plain, tree = g.without_weights().with_weights(g.weights), g.preparation.tree
    weights, heads = g.effective_weights.astype(float), g.indices
    forth = {v: nearfar.sssp(plain, v, method="dijkstra") for v in (a,)}

    def way(u: int, v: int) -> np.ndarray | None:
        if u not in forth:
            forth[u] = nearfar.sssp(plain, u, method="dijkstra")
        return forth[u].edges_to(v) if forth[u].reachable[v] else None

    def ancestors(v: int) -> list[int]:
        label, found = int(tree.label[v]), []
        while label >= 0:
            found.append(int(tree.vertex[label]))
            label = int(tree.parent[label])
        return found

    best = way(a, b)
    assert best is not None
    total = weights[best].sum()
    ways = []
    for v in [v for v in ancestors(a) if v in set(ancestors(b))]:
        first, second = way(a, v), way(v, b)
        if first is None or second is None:
            continue
        whole = np.concatenate([first, second])
        if weights[whole].sum() <= stretch * total:
            ways.append((weights[whole].sum(), whole, len(first)))
    ways.sort(key=lambda one: one[0])
    found, seen = [best], set(heads[best].tolist()) | {a}
    for i, (length, edges, at) in enumerate(ways):
        via = int(heads[edges[at - 1]]) if at else a
        if len(found) == k or via in seen or (i and length == ways[i - 1][0]):
            continue
        shared = np.isin(edges, np.concatenate(found))
        same = weights[edges[np.isin(edges, best)]].sum()
        passed = [a, *heads[edges].tolist()]
        along = np.concatenate([[0], np.cumsum(weights[edges])])
        begin = max(np.searchsorted(along, along[at] - local * total, side="right") - 1, 0)
        end = min(np.searchsorted(along, along[at] + local * total), len(edges))
        if (
            weights[edges[shared]].sum() <= sharing * total
            and length - same <= stretch * (total - same) * (1 + 1e-12)
            and len(set(passed)) == len(passed)
            and along[end] - along[begin] == weights[way(passed[begin], passed[end])].sum()
        ):
            found.append(edges)
            seen |= set(passed)
    return found


@pytest.mark.parametrize("both_ways", [True, False])
def test_as_by_the_definition(both_ways: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alternatives, "_TRIES", 10**6)
    rng = np.random.default_rng(8)
    made = nearfar.generate("road_like", vertices=700, seed=5)
    weights = rng.permutation(made.n_edges).astype(np.int32) + 10_000  # no two paths are as long
    if both_ways:
        mirrored = np.lexsort((made.tails(), made.indices))
        weights = np.minimum(weights, weights[mirrored])  # rows ascend, so edges mirror edges
    g = nearfar.prepare(nearfar.Graph.from_csr(made.indptr, made.indices, weights), force=True)
    several = 0
    for a, b in rng.integers(0, g.n_vertices, (40, 2)).tolist():
        want = reference(g, a, b, 4, 1.4, 0.8, 0.1)
        found = nearfar.routes(g, a, b, len(want), stretch=1.4, sharing=0.8, local=0.1)
        assert {tuple(r.edges) for r in found} == {tuple(edges) for edges in want}
        several += len(want) > 2
    assert several >= 5


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("sharing", [0.9, 1.0])
def test_many_routes(dtype: str, sharing: float) -> None:
    g = roads(dtype)
    weights, tails = g.effective_weights.astype(float), g.tails()
    counts = []
    for a, b in np.random.default_rng(6).integers(0, g.n_vertices, (6, 2)).tolist():
        found = nearfar.routes(g, a, b, 300, stretch=1.5, sharing=sharing, local=0.01)
        counts.append(len(found))
        assert len({tuple(r.edges) for r in found}) == len(found)
        assert [r.length for r in found] == sorted(r.length for r in found)
        best = nearfar.distances(g.without_names(), pairs=[(a, b)], method="dijkstra").item()
        first = found[0].edges
        np.testing.assert_array_equal(first, g.path_edges(a, b))
        for r in found:
            assert (tails[r.edges[0]], g.indices[r.edges[-1]]) == (a, b)
            assert (g.indices[r.edges[:-1]] == tails[r.edges[1:]]).all()
            assert r.vertices == [a, *g.indices[r.edges].tolist()]
            assert len(set(r.vertices)) == len(r.vertices)
            assert r.length == pytest.approx(weights[r.edges].sum())
            assert best <= r.length * (1 + 1e-6) <= 1.5 * best * (1 + 2e-6)
            apart = weights[r.edges[~np.isin(r.edges, first)]].sum()
            replaced = weights[first[~np.isin(first, r.edges)]].sum()
            assert apart <= 1.5 * replaced * (1 + 1e-6)
            if r is not found[0]:
                assert not is_shortest(g, r.edges) or r.length == pytest.approx(best)
    assert max(counts) >= (60 if sharing == 1 else 3)


def test_floats_that_are_added_from_left_to_right() -> None:
    rng = np.random.default_rng(3)
    made = streets(80, seed=5)
    wide = 10.0 ** rng.uniform(-30, 30, made.n_edges)
    g = nearfar.prepare(made.with_weights(wide), force=True)
    assert g.adds_floats
    for a, b in rng.integers(0, g.n_vertices, (30, 2)).tolist():
        if not np.isfinite(nearfar.distances(made.with_weights(wide), pairs=[(a, b)]).item()):
            continue
        found = nearfar.routes(g, a, b, 5, stretch=3, sharing=1, local=0.01, parts="all")
        np.testing.assert_array_equal(found[0].edges, g.path_edges(a, b))
        assert len({tuple(r.edges) for r in found}) == len(found)


@pytest.mark.parametrize("weights", [[0] * 24, [1] * 24, [2**31 - 2] * 24])
def test_grids_of_equal_lengths_and_sums_beyond_32_bits(weights: list[int]) -> None:
    square = np.arange(9).reshape(3, 3)
    tails = np.concatenate([square[:, :-1].ravel(), square[:-1].ravel()])
    heads = np.concatenate([square[:, 1:].ravel(), square[1:].ravel()])
    g = nearfar.prepare(
        nearfar.Graph.from_edges(
            np.concatenate([tails, heads]), np.concatenate([heads, tails]),
            np.array(weights, np.int32), coordinates=np.argwhere(square >= 0),
        ), force=True,
    )  # fmt: skip
    for a in range(9):
        for b in range(9):
            found = nearfar.routes(g, a, b, 20, stretch=2, sharing=1, local=0.01)
            steps = abs(a // 3 - b // 3) + abs(a % 3 - b % 3)
            assert found[0].length == steps * weights[0]
            assert len({tuple(r.vertices) for r in found}) == len(found)
            for r in found:
                assert len(set(r.vertices)) == len(r.vertices)
                assert r.length == len(r.edges) * weights[0]
            np.testing.assert_array_equal(found[0].edges, g.path_edges(a, b))


def test_one_vertex_and_parts_without_ways() -> None:
    alone = nearfar.Graph.from_edges([], [], n_vertices=1, coordinates=[[0, 0]])
    assert nearfar.routes(nearfar.prepare(alone, force=True), 0, 0, 1000)[0].vertices == [0]
    g = nearfar.Graph.from_edges(
        [0, 1, 3, 4], [1, 2, 4, 5], n_vertices=7, coordinates=np.zeros((7, 2))
    )
    made = nearfar.prepare(g, force=True)
    for a in range(7):
        for b in range(7):
            if a // 3 == b // 3 and a <= b:
                (only,) = nearfar.routes(made, a, b, 1000, sharing=1, parts="all")
                assert only.vertices == list(range(a, b + 1))
            else:
                with pytest.raises(UnreachableError, match="no way"):
                    nearfar.routes(made, a, b, 1000, sharing=1, parts="all")
