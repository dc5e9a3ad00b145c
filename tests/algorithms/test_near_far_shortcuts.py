"""Rows with shortcuts past vertices of few edges, on the emulated device."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nearfar
from nearfar import Graph
from nearfar.algorithms.near_far.one_launch import driver as one_launch
from nearfar.cuda.device_graph import device_graph
from nearfar.cuda.graph.row_heads import RowHeads, row_heads
from nearfar.errors import OutOfMemoryError
from nearfar.generators import generate
from tests import oracle
from tests.zoo import DTYPES, ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")

NONE, LONG, REMOVED = -1, -2, -3  # head_edges.cuh


def heads_of(graph: Graph, depth: int = 1) -> NDArray[np.int32]:
    """Return targets and weights of rows of eight edges with shortcuts."""
    heads = row_heads(graph, device_graph(graph), 8, depth=depth)
    return np.asarray(heads.edges.get()).view(np.int32).reshape(graph.n_vertices, 8, 2)


def mixed(seed: int) -> Graph:
    """Return two-way and one-way streets, parallel edges, asymmetric weights, and loops."""
    rng = np.random.default_rng(seed)
    n = 120
    a, b = rng.integers(0, n, 150), rng.integers(0, n, 150)
    w = rng.integers(0, 20, 150)
    one, other = rng.integers(0, n, 30), rng.integers(0, n, 30)
    loops = rng.integers(0, n, 4)
    another = (w[:20] + rng.integers(-1, 2, 20)).clip(0)
    weights = np.concatenate([w, w, another, rng.integers(0, 9, 34)]).astype(np.int32)
    return Graph.from_edges(
        np.concatenate([a, b, a[:20], one, loops]),
        np.concatenate([b, a, b[:20], other, loops]),
        weights,
        n_vertices=n,
    )


@pytest.mark.parametrize("seed", range(6))
def test_from_every_vertex(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_launch, "_MOST_DEGREE", 1e9)
    monkeypatch.setattr(one_launch, "_FEW_LONG", 1.0)
    graph = mixed(seed)
    assert (heads_of(graph)[:, 7, 0] == REMOVED).any()
    for source in range(0, graph.n_vertices, 3):
        paths = nearfar.sssp(graph, source, method="near_far@cuda", shortcuts=True)
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, source))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(4))
def test_float_sums_are_rounded_as_along_the_path(
    seed: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights over eight decades: sums in another order would differ in their last bits."""
    monkeypatch.setattr(one_launch, "_MOST_DEGREE", 1e9)
    monkeypatch.setattr(one_launch, "_FEW_LONG", 1.0)
    graph = mixed(seed)
    tail, head = graph.tails(np.int64), graph.indices
    lesser, greater = np.minimum(tail, head), np.maximum(tail, head)
    # A function of the two ends and the integer weight, so that pairs of edges stay pairs.
    mixed_up = (lesser * 7919 + greater * 104729 + graph.weights * 31) % 1009
    weights = (graph.weights > 2) * np.exp(mixed_up / 1009 * 18.0)
    graph = graph.with_weights(weights.astype(dtype))
    heads = row_heads(graph, device_graph(graph), 8, depth=2)
    assert heads.out > 0.2
    room = heads.row // np.dtype(dtype).itemsize - (10 if dtype == "float32" else 5)
    parts = [("target", np.int32, 8), ("chain", np.uint8, 8), ("weight", dtype, room)]
    rows = heads.edges.get().view(np.dtype(parts, align=True))
    first, count = rows["chain"] & 15, np.where(rows["target"] >= 0, rows["chain"] >> 4, 0)
    assert {1, 2, 3} <= set(count.ravel())
    chains = [
        (v, rows["weight"][v, first[v, j] : first[v, j] + count[v, j]])
        for v, j in zip(*np.nonzero(count > 1), strict=True)
    ]
    differ = 0
    for source in range(0, graph.n_vertices, 5):
        want = oracle.dijkstra(graph, source)
        paths = nearfar.sssp(graph, source, method="near_far@cuda", shortcuts=True)
        np.testing.assert_array_equal(paths.distances, want)
        for v, weights in chains:
            in_order = functools.reduce(operator.add, weights, want[v])
            differ += np.isfinite(want[v]) and in_order != want[v] + weights.sum()
    assert differ > 100


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_zoo(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_launch, "_MOST_DEGREE", 1e9)
    monkeypatch.setattr(one_launch, "_FEW_LONG", 1.0)
    mixed_steps = {"local_limit": 3, "delta": 20.0}  # grid steps relax rows as they are
    options = (mixed_steps, {"delta": 1.0}, {"delta": 1e9, "local_rounds": 2})
    graphs = [as_dtype(make(), dtype) for make in ZOO.values()]
    for i, graph in enumerate(graph for graph in graphs if graph.n_edges):
        for each in (i + DTYPES.index(dtype), i + DTYPES.index(dtype) + 1):
            given = options[each % 3]
            paths = nearfar.sssp(graph, 0, method="near_far@cuda", shortcuts=True, **given)
            np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_rows(depth: int) -> None:
    """No edge leads back to removed vertices; distances between the others are unchanged."""
    graph = generate("grid", rows=13, columns=11)
    heads = heads_of(graph, depth)
    out = heads[:, 7, 0] == REMOVED
    before = heads_of(graph, depth - 1)[:, 7, 0] == REMOVED if depth > 1 else np.zeros_like(out)
    assert (before <= out).all()
    assert out.sum() > before.sum()
    if depth == 1:
        assert graph.n_vertices // 4 < out.sum() < graph.n_vertices // 2
        assert not (out[graph.tails(np.int64)] & out[graph.indices]).any()
    kept = ~out
    tail, place = np.nonzero((heads[:, :, 0] >= 0) & kept[:, None])
    head, weight = heads[tail, place].T
    assert kept[head].all()
    past = Graph.from_edges(tail, head, weight, n_vertices=graph.n_vertices)
    start = int(np.flatnonzero(kept)[0])
    want = oracle.dijkstra(graph, start)
    np.testing.assert_array_equal(oracle.dijkstra(past, start)[kept], want[kept])
    hops = nearfar.sssp(past.without_weights(), start, device="cpu").distances[kept].max()
    assert hops < nearfar.sssp(graph.without_weights(), start, device="cpu").distances.max()


def test_rows_that_do_not_fit_stay() -> None:
    """A hub of many streets, each with a removable vertex in its middle."""
    streets = 30
    middle, end = np.arange(1, streets + 1), np.arange(streets + 1, 2 * streets + 1)
    hub = np.zeros(streets, int)
    weights = np.arange(1, 2 * streets + 1).astype(np.int32)
    graph = Graph.from_edges(
        np.append(hub, middle), np.append(middle, end), weights, directed=False
    )
    assert heads_of(graph)[0, 0, 0] == LONG
    for source in (0, 1, 2 * streets):
        paths = nearfar.sssp(graph, source, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, source))


def test_sums_that_do_not_fit_make_no_shortcut() -> None:
    big = np.iinfo(np.int32).max // 2 + 10
    path = np.arange(5)
    weights = np.array([3, big, big, 4, 5], np.int32)
    graph = Graph.from_edges(path, path + 1, weights, directed=False)
    heads = heads_of(graph)
    assert (heads[:, 7, 0] == REMOVED).any()
    assert heads[:, :, 1].min() >= 0
    for source in range(6):
        paths = nearfar.sssp(graph, source, method="near_far@cuda")
        np.testing.assert_array_equal(
            paths.distances, oracle.dijkstra(as_dtype(graph, "int64"), source)
        )


@pytest.mark.parametrize("source", [0, 3])
def test_targets_and_limits(source: int) -> None:
    graph = generate("grid", rows=17, columns=15)
    out = np.flatnonzero(heads_of(graph, 2)[:, 7, 0] == REMOVED)
    want = oracle.dijkstra(graph, source)
    options: dict[str, Any] = {"method": "near_far@cuda", "delta": 300, "shortcuts": True}
    full = nearfar.sssp(graph, source, **options)
    near = out[np.argsort(want[out])[3:6]]
    paths = nearfar.sssp(graph, source, targets=near, **options)
    np.testing.assert_array_equal(paths.distances[near], want[near])
    assert paths.stats["iterations"] < full.stats["iterations"]
    limit = int(np.median(want))
    paths = nearfar.sssp(graph, source, limit=limit, **options)
    within = want <= limit
    np.testing.assert_array_equal(paths.distances[within], want[within])
    assert not paths.reachable[~within].any()


def test_where_shortcuts_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[RowHeads] = []

    def watched(*given: Any, **named: Any) -> RowHeads:
        made.append(row_heads(*given, **named))
        return made[-1]

    monkeypatch.setattr(one_launch, "row_heads", watched)
    ring = np.arange(99)
    graph = Graph.from_edges(ring, ring + 1, (ring % 7).astype(np.int32), directed=False)
    cases: tuple[tuple[Graph, dict[str, Any], bool], ...] = (
        (graph, {}, True),
        (graph, {"shortcuts": False}, False),
        (generate("grid", rows=9, columns=9), {}, False),
        (generate("grid", rows=9, columns=9), {"shortcuts": True}, True),
        (as_dtype(graph, "int64"), {}, True),
        (as_dtype(graph, "float32"), {}, True),
        (as_dtype(graph, "float64"), {"shortcuts": False}, False),
        (Graph(graph.indptr, graph.indices), {"shortcuts": True}, False),
    )
    for given, options, expected in cases:
        want = oracle.dijkstra(given, 0)
        paths = nearfar.sssp(given, 0, method="near_far@cuda", **options)
        np.testing.assert_array_equal(paths.distances, want)
        assert (made[-1].depth > 0) is expected


def lattice(side: int, steps: list[int]) -> Graph:
    """Return a torus of side * side vertices, each with an edge to those some numbers later."""
    n = side * side
    one = np.tile(np.arange(n), len(steps))
    other = (one + np.repeat(steps, n)) % n
    weights = (one % 9 + 1).astype(np.int32)
    return Graph.from_edges(one, other, weights, n_vertices=n, directed=False)


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (lattice(9, [1, 9]), 4),
        (lattice(9, [1, 9, 10]), 8),
        (lattice(9, [1, 9, 10, 8, 20]), None),
        (mixed(0), 8),  # many rows have more than four edges, none more than eight
    ],
)
def test_rows_are_at_fixed_positions_where_nearly_all_fit(graph: Graph, width: int | None) -> None:
    found = one_launch._heads(graph, device_graph(graph), False)
    assert (found and found.width) == width
    paths = nearfar.sssp(graph, 0, method="near_far@cuda")
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


def test_one_way_streets_keep_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """If weights differ between directions, no vertex can be removed."""
    made: list[RowHeads] = []

    def watched(*given: Any, **named: Any) -> RowHeads:
        made.append(row_heads(*given, **named))
        return made[-1]

    monkeypatch.setattr(one_launch, "row_heads", watched)
    ring = np.arange(50)
    graph = Graph.from_edges(
        np.append(ring, (ring + 1) % 50),
        np.append((ring + 1) % 50, ring),
        np.arange(1, 101, dtype=np.int32),
    )
    cases: tuple[tuple[dict[str, Any], list[int]], ...] = (
        ({}, [8, 4]),
        ({"shortcuts": True}, [8]),
    )
    for options, widths in cases:
        made.clear()
        paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options)
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        assert [heads.width for heads in made] == widths
        assert made[0].out == 0


def test_without_room_for_shortcuts_rows_travel_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    widths = []

    def refuse(graph: Graph, device: Any, width: int, *, depth: int) -> RowHeads:
        widths.append(width)
        if depth:
            raise OutOfMemoryError(2, 1, "none")
        return row_heads(graph, device, width)

    monkeypatch.setattr(one_launch, "row_heads", refuse)
    graph = ZOO["path"]()
    paths = nearfar.sssp(graph, 0, method="near_far@cuda")
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
    assert widths == [8, 4]
