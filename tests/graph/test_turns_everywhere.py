"""Functions that accept graphs with turns, compared with paths over edges by hand."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearfar
from nearfar import Graph
from nearfar.errors import GraphError, OptionError, UnreachableError
from nearfar.graph.turns import TurnGraph
from nearfar.prepared.turns import PreparedTurns
from tests.datafiles import data_path
from tests.graph.test_turns import by_hand, town, turns_of

Turn = tuple[int, int]


class Drawn:
    """Graph without parallel edges, its turns, and the distances by hand."""

    def __init__(self, seed: int, *, low: int = 0, floats: bool = False) -> None:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 8))
        pairs = [(u, v) for u in range(n) for v in range(n) if u != v]
        size = min(len(pairs), int(rng.integers(0, 16)))
        ends = [pairs[i] for i in rng.choice(len(pairs), size, replace=False)] if size else []
        weights = rng.integers(low, 6, len(ends)).astype(np.float64 if floats else np.int32)
        self.graph = Graph.from_edges(
            [u for u, _ in ends], [v for _, v in ends], weights, n_vertices=n
        )
        possible = turns_of(self.graph)
        self.forbidden: set[Turn] = {t for t in possible if rng.random() < 0.2}
        self.costs: dict[Turn, Any] = {
            t: int(rng.integers(0, 5)) for t in possible if rng.random() < 0.3
        }
        self.closed = {int(v) for v in np.flatnonzero(rng.random(n) < 0.15)}
        self.turns = self.graph.with_turns(
            forbidden=self.forbidden, costs=self.costs, closed=self.closed
        )

    def row(self, source: int, graph: Graph | None = None) -> list[float]:
        return by_hand(graph or self.graph, source, self.forbidden, self.costs, self.closed)

    def matrix(self) -> np.ndarray[Any, Any]:
        n = self.graph.n_vertices
        return np.array([self.row(s) for s in range(n)]).reshape(n, n)

    def walks(self, source: int, target: int, most: float) -> list[tuple[float, list[int]]]:
        """Return all paths up to a length, as edges, that visit no state of the search twice."""
        turns = self.forbidden | {*self.costs}
        ruled = self.closed | {int(self.graph.indices[a]) for a, _ in turns}
        found: list[tuple[float, list[int]]] = [(0.0, [])] if source == target else []

        def extend(v: int, edges: list[int], seen: set[Any], length: float) -> None:
            if edges and v in self.closed:
                return
            for b in range(self.graph.indptr[v], self.graph.indptr[v + 1]):
                if edges and (edges[-1], b) in self.forbidden:
                    continue
                w = int(self.graph.indices[b])
                state = ("edge", b) if w in ruled else ("vertex", w)
                turn = self.costs.get((edges[-1], b), 0) if edges else 0
                further = length + self.graph.effective_weights[b].item() + turn
                if state in seen or further > most:
                    continue
                if w == target:
                    found.append((further, [*edges, b]))
                    if w not in ruled:
                        continue
                extend(w, [*edges, b], seen | {state}, further)

        extend(source, [], set() if source in ruled else {("vertex", source)}, 0.0)
        return found


def as_floats(found: Any) -> np.ndarray[Any, Any]:
    """Return distances with inf for unreached vertices."""
    values = np.asarray(found)
    if values.dtype.kind == "i":
        return np.where(values == np.iinfo(values.dtype).max, np.inf, values)
    return values


def assert_answers(turns: TurnGraph, want: np.ndarray[Any, Any]) -> None:
    n = turns.original.n_vertices
    assert np.array_equal(as_floats(nearfar.distances(turns)), want)
    ends = [(s, t) for s in range(n) for t in range(n)]
    assert np.array_equal(as_floats(nearfar.distances(turns, pairs=ends)), want.reshape(-1))
    for s in range(n):
        paths = nearfar.sssp(turns, s)
        nearfar.verify(turns, paths)
        assert np.array_equal(as_floats(paths.distances), want[s])


@given(st.integers(0, 2**32), st.booleans())
def test_prepared(seed: int, floats: bool) -> None:
    drawn = Drawn(seed, floats=floats)
    n, want = drawn.graph.n_vertices, drawn.matrix()
    for order in ("auto", "multilevel", np.random.default_rng(seed).permutation(n)):
        prepared = nearfar.prepare(drawn.turns, order)
        assert isinstance(prepared, PreparedTurns)
        assert_answers(prepared, want)
    pairs = np.array([(s, t) for s in range(n) for t in range(n)])
    assert np.array_equal(as_floats(prepared.distances_of_pairs(pairs)), want.reshape(-1))
    for s, t in pairs.tolist():
        assert prepared.distance(s, t) == want[s, t]
        if want[s, t] == math.inf:
            with pytest.raises(UnreachableError, match=f"vertex {t} is not reached from {s}"):
                prepared.path(s, t)
            continue
        edges = prepared.path_edges(s, t).tolist()
        vertices, length = prepared.path(s, t)
        assert vertices == [s, *drawn.graph.indices[edges].tolist()]
        assert nearfar.shortest_path(prepared, s, t) == (vertices, length)
        assert prepared.lengths(np.array(edges, dtype=np.int64))[-1] == length
        steps = list(itertools.pairwise(edges))
        assert not drawn.forbidden.intersection(steps)
        total = sum(drawn.graph.effective_weights[e].item() for e in edges)
        assert total + sum(drawn.costs.get(step, 0) for step in steps) == length == want[s, t]


@settings(max_examples=80)
@given(st.integers(0, 2**32))
def test_prepared_with_other_weights(seed: int) -> None:
    drawn = Drawn(seed)
    prepared, m = nearfar.prepare(drawn.turns), drawn.graph.n_edges
    rng = np.random.default_rng(seed)
    other = rng.integers(0, 9, m)
    heavier = drawn.graph.with_weights(other)
    n = drawn.graph.n_vertices
    want = np.array([drawn.row(s, heavier) for s in range(n)])
    assert_answers(prepared.reweight(other), want)
    some = rng.permutation(m)[: m // 2]
    mixed = drawn.graph.effective_weights.copy()
    mixed[some] = other[some]
    want = np.array([drawn.row(s, drawn.graph.with_weights(mixed)) for s in range(n)])
    assert_answers(prepared.update(some, other[some]), want)


def test_saved_and_loaded(tmp_path: Path) -> None:
    turns = town().with_turns(forbidden=[("n", "m", "e")], costs={("n", "m", "s"): 3})
    prepared, file = nearfar.prepare(turns), tmp_path / "town.nfp"
    prepared.save(file)
    loaded = nearfar.load(file, turns=True)
    assert np.array_equal(nearfar.distances(loaded), nearfar.distances(turns))
    assert loaded.path("n", "e") == prepared.path("n", "e")
    assert loaded.original.digest() == town().digest()
    with pytest.raises(OptionError, match="with turn costs: add turns=True"):
        nearfar.load(file)
    nearfar.prepare(town()).save(file)
    with pytest.raises(OptionError, match="without turn costs: leave out turns=True"):
        nearfar.load(file, turns=True)


def test_errors_of_prepared() -> None:
    prepared = nearfar.prepare(town().with_turns(closed=["m"]))
    assert nearfar.prepare(prepared) is prepared
    with pytest.raises(UnreachableError, match="vertex 'w' is not reached from 's'"):
        prepared.path("s", "w")
    with pytest.raises(GraphError, match="edge 99 does not exist: the graph has 10 edges"):
        prepared.update([99], [1])
    with pytest.raises(GraphError, match="one weight per edge position"):
        prepared.update([1, 2], [1])
    with pytest.raises(GraphError, match="use reweight"):
        prepared.update([1], [0.5])
    with pytest.raises(OptionError, match="does not name each of the 5 vertices"):
        nearfar.prepare(prepared, [0, 0, 1, 2, 3])


@given(st.integers(0, 2**32))
def test_reduced_labelled_and_sparse(seed: int) -> None:
    drawn = Drawn(seed)
    n, want = drawn.graph.n_vertices, drawn.matrix()
    others = np.where(np.eye(n, dtype=bool), np.inf, want)
    count, total, most = nearfar.distances(drawn.turns, reduce="summary")
    reached = np.isfinite(others)
    assert np.array_equal(count, reached.sum(axis=1))
    assert np.array_equal(total, np.where(reached, others, 0).sum(axis=1))
    greatest = np.where(reached, others, -1).max(axis=1)
    assert np.array_equal(as_floats(most), np.where(reached.any(axis=1), greatest, np.inf))
    near, far = nearfar.distances(drawn.turns, reduce="nearest:2")
    ranked = np.sort(others, axis=1)[:, :2]
    assert np.array_equal(as_floats(far)[:, : ranked.shape[1]], ranked)
    assert (near[np.isfinite(as_floats(far))] >= 0).all()
    sparse = nearfar.distances(drawn.turns, out="csr")
    assert sparse.nnz == np.isfinite(want).sum()
    frame = nearfar.distances(drawn.turns, out="pandas")
    assert frame.shape == (n, n)
    assert np.array_equal(frame.to_numpy(dtype=float, na_value=np.inf), want)


@given(st.integers(0, 2**32), st.booleans())
def test_nearest(seed: int, ready: bool) -> None:
    drawn = Drawn(seed)
    n, want = drawn.graph.n_vertices, drawn.matrix()
    turns: Any = nearfar.prepare(drawn.turns) if ready else drawn.turns
    places = np.flatnonzero(np.random.default_rng(seed).random(n) < 0.5)
    places = places if len(places) else np.array([0])
    found = nearfar.nearest(turns, places)
    assert np.array_equal(as_floats(found.distances), want[places].min(axis=0))
    both = nearfar.nearest(turns, places, k=2)
    ranked = np.full((n, 2), np.inf)
    ranked[:, : len(places)] = np.sort(want[places], axis=0)[:2].T
    assert np.array_equal(as_floats(both.distances), ranked)
    for v in range(n):
        for source, far in [
            (found.sources[v], as_floats(found.distances)[v]),
            *zip(both.sources[v], as_floats(both.distances)[v], strict=True),
        ]:
            assert (source == -1) == (far == np.inf)
            if source >= 0:
                assert source in places
                assert want[source, v] == far


@given(st.integers(0, 2**32))
def test_k_shortest_paths(seed: int) -> None:
    drawn = Drawn(seed, low=1)
    n = drawn.graph.n_vertices
    for s, t in [(0, n - 1), (n // 2, 0)]:
        if s == t:
            continue
        found = nearfar.k_shortest_paths(drawn.turns, s, t, 6)
        walks = sorted(drawn.walks(s, t, 25))
        lengths = [length for length, _ in walks][:6]
        assert [length for _, length in found if length <= 25] == lengths
        known = [[s, *drawn.graph.indices[edges].tolist()] for _, edges in walks]
        assert all(path in known for path, length in found if length <= 25)


def shares(drawn: Drawn, sources: list[int], targets: list[int]) -> Any:
    """Return betweenness of vertices, with endpoints, and of edges, from all shortest paths."""
    inside, edges = np.zeros(drawn.graph.n_vertices), np.zeros(drawn.graph.n_edges)
    ends = inside.copy()
    for s in sources:
        row = drawn.row(s)
        for t in targets:
            if s == t or row[t] == math.inf:
                continue
            every = [walk for length, walk in drawn.walks(s, t, row[t]) if length == row[t]]
            for walk in every:
                edges[walk] += 1 / len(every)
                for e in walk[:-1]:
                    inside[drawn.graph.indices[e]] += 1 / len(every)
            ends[[s, t]] += 1
    return inside, inside + ends, edges


@given(st.integers(0, 2**32), st.booleans())
def test_betweenness(seed: int, ready: bool) -> None:
    drawn = Drawn(seed, low=1)
    n = drawn.graph.n_vertices
    turns: Any = nearfar.prepare(drawn.turns) if ready else drawn.turns
    rng = np.random.default_rng(seed)
    some = sorted({0, *np.flatnonzero(rng.random(n) < 0.6).tolist()})
    for sources, targets in ((None, None), (some, None), (None, some), (some, some)):
        want = shares(drawn, sources or list(range(n)), targets or list(range(n)))
        given_ = {"targets": targets, "normalized": False}
        found = nearfar.measures.betweenness(turns, sources, **given_)
        assert found == pytest.approx(want[0])
        found = nearfar.measures.betweenness(turns, sources, endpoints=True, **given_)
        assert found == pytest.approx(want[1])
        found = nearfar.measures.betweenness(turns, sources, edges=True, **given_)
        assert found == pytest.approx(want[2])


@given(st.integers(0, 2**32), st.booleans())
def test_distance_measures(seed: int, ready: bool) -> None:
    drawn = Drawn(seed, low=1)
    n, want = drawn.graph.n_vertices, drawn.matrix()
    turns: Any = nearfar.prepare(drawn.turns) if ready else drawn.turns
    others = np.where(np.eye(n, dtype=bool), np.inf, want)
    for outward, rows in ((True, others), (False, others.T)):
        reached = np.isfinite(rows)
        total = np.where(reached, rows, 0).sum(axis=1)
        count = reached.sum(axis=1)
        close = np.divide(count, total, out=np.zeros(n), where=total > 0)
        found = nearfar.measures.closeness(turns, outward=outward, wf_improved=False)
        assert found == pytest.approx(close)
        found = nearfar.measures.harmonic(turns, outward=outward)
        assert found == pytest.approx((1 / rows).sum(axis=1))
    if n > 1:
        assert nearfar.measures.efficiency(turns) == pytest.approx(
            (1 / others).sum() / (n * (n - 1))
        )
    if np.isfinite(want).all():
        far = want.max(axis=1)
        assert nearfar.measures.eccentricity(turns).tolist() == far.tolist()
        assert nearfar.measures.diameter(turns) == far.max()
        assert nearfar.measures.radius(turns) == far.min()
        assert nearfar.measures.center(turns) == np.flatnonzero(far == far.min()).tolist()
        assert nearfar.measures.periphery(turns) == np.flatnonzero(far == far.max()).tolist()
    else:
        with pytest.raises(UnreachableError):
            nearfar.measures.diameter(turns)


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_transposed(seed: int) -> None:
    drawn = Drawn(seed)
    turned = drawn.turns.transpose()
    assert turned.transpose() is drawn.turns
    want = drawn.matrix()
    assert np.array_equal(as_floats(nearfar.distances(turned)), want.T)
    for s in range(drawn.graph.n_vertices):
        paths = nearfar.sssp(turned, s)
        for t in np.flatnonzero(paths.reachable).tolist():
            path = paths.path_to(t)
            assert path[0] == s
            assert path[-1] == t
            assert turned.original.indices[paths.edges_to(t)].tolist() == path[1:]


def test_isochrone(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    graph = nearfar.generate("grid", rows=5, columns=5, missing=0)
    graph = Graph(
        graph.indptr,
        graph.indices,
        graph.weights,
        coordinates=[(i % 5, i // 5) for i in range(25)],
    )
    turns = graph.with_turns(closed=[7])
    paths = nearfar.isochrone(turns, 0, tmp_path / "map.svg")
    assert (tmp_path / "map.svg").stat().st_size > 1000
    assert np.array_equal(paths.distances, nearfar.sssp(turns, 0).distances)


def test_helsinki() -> None:
    city = nearfar.read(data_path("transport-misc/Helsinki.osm.pbf.xz"))
    turns = city.with_turns(forbidden=city.forbidden_turns)
    prepared = nearfar.prepare(turns)
    assert len(city.forbidden_turns) == 30
    ends = list(zip(city.tails().tolist(), city.indices.tolist(), strict=True))
    between: dict[Turn, list[int]] = {}
    for e, pair in enumerate(ends):
        between.setdefault(pair, []).append(e)
    forbidden = {
        (a, b)
        for u, v, w in (city.indices_of(turn).tolist() for turn in city.forbidden_turns)
        for a in between[u, v]
        for b in between[v, w]
    }
    places = np.random.default_rng(3).choice(city.n_vertices, 300, replace=False)
    names = city.name_of(places)
    longer = 0
    for place in places[:40].tolist():
        want = np.array(by_hand(city, place, forbidden, {}, set()))
        longer += int((want > nearfar.sssp(city, city.name_of(place)).distances).sum())
        for graph in (turns, prepared):
            found = nearfar.distances(graph, [city.name_of(place)], targets=names)[0]
            rounding = 0 if graph is turns else 1e-12
            np.testing.assert_allclose(as_floats(found), want[places], rtol=rounding)
    assert longer > 100
