"""Negative cycles and sums at the limits of the range: every method and dtype decides alike."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar.cpu.potentials import cycle_total, proof_wanted
from nearfar.errors import DistanceOverflowError, NegativeCycleError, ProofError, VariantUnavailable
from nearfar.graph.graph import Graph
from nearfar.solve.negative_cycles import find_negative_cycle

FORMS = [
    "bellman_ford",
    "bellman_ford_queue",
    "bellman_ford_edge_classes",
    "tarjan_subtree",
    "goldberg_radzik",
]
TOP = 1.7976931348623157e308
LAST = 2**63 - 1

#: Searches from one source, then methods that read the whole graph.
SEARCHES = {
    **{
        form: lambda g, s, form=form: nearfar.sssp(g, s, method=f"{form}@cpu").distances
        for form in FORMS
    },
    "auto": lambda g, s: nearfar.sssp(g, s, device="cpu").distances,
    "distances": lambda g, s: nearfar.distances(g, [s], device="cpu")[0],
    "pairs": lambda g, s: nearfar.distances(
        g, pairs=[(s, v) for v in range(g.n_vertices)], device="cpu"
    ),
}
WHOLE = {
    "johnson": lambda g, s: nearfar.distances(g, [s], method="johnson@cpu")[0],
    "floyd_warshall": lambda g, s: nearfar.all_pairs(g, method="floyd_warshall@cpu")[s],
}

TREE = {"method": "elimination_tree_rows@cpu"}


def of_pairs(answering, source, sums):
    n = getattr(answering, "prepared", answering).n_vertices
    return answering.distances_of_pairs([(source, v) for v in range(n)], sums=sums)


#: Answers of a prepared graph, in each form of sums.
PREPARED = {
    "rows": lambda p, s, sums: nearfar.distances(p, [s], **TREE, sums=sums)[0],
    "one": lambda p, s, sums: (
        nearfar.sssp(p, s, method="elimination_tree@cpu", sums=sums).distances
    ),
    "pairs": of_pairs,
    "labels": lambda p, s, sums: of_pairs(p.label(), s, sums),
    "nearest": lambda p, s, sums: nearfar.nearest(p.summing(sums), [s], k=1).distances[:, 0],
}

#: Negative cycles that rounding or saturation hid: tails, heads, weights, source, total.
HIDDEN = {
    "below the rounding of 1": (
        ([0, 1, 2], [1, 2, 0], np.array([1, -1, -2.7e-39], np.float32), 0),
        float(np.float32(-2.7e-39)),
    ),
    "absorbed by potentials": (([0, 2, 1], [1, 1, 2], [-1e16, -1.0, 0.5], 1), -0.5),
    "huge self-loop": (([0, 1], [1, 1], [1.0, -1e307], 0), -1e307),
    "sum beyond the range": (
        ([0, 1], [1, 0], [-1.79e308, -4e307], 0),
        int(Fraction(-1.79e308) + Fraction(-4e307)),
    ),
    "int64 extremes": (
        ([0, 1, 2], [1, 2, 0], np.array([-LAST, -LAST, 5], np.int64), 0),
        -2 * LAST + 5,
    ),
    "beyond a path that overflows": (
        ([0, 1, 2], [1, 2, 2], np.array([LAST - 1, LAST - 1, -1], np.int64), 0),
        -1,
    ),
    "smallest of all": (([0, 1], [1, 0], [1.0, -1.0000000000000002], 0), -(2.0**-52)),
    "subnormal beside huge": (([0, 1, 2], [1, 2, 0], [TOP, -TOP, -5e-324], 0), -5e-324),
}


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("method", [*SEARCHES, *WHOLE])
def test_hidden_negative_cycle_is_raised(name, method):
    (tails, heads, weights, source), total = HIDDEN[name]
    graph = Graph.from_edges(tails, heads, weights)
    try:
        with pytest.raises(NegativeCycleError) as caught:
            (SEARCHES | WHOLE)[method](graph, source)
    except VariantUnavailable:  # refuses sums that may leave the range
        assert method in WHOLE
        return
    assert caught.value.total == total < 0
    assert type(caught.value.total) is type(total)


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_negative_cycle_is_found_and_refused(name):
    (tails, heads, weights, _), total = HIDDEN[name]
    graph = Graph.from_edges(tails, heads, weights)
    assert find_negative_cycle(graph).total == total
    with pytest.raises(NegativeCycleError):
        nearfar.prepare(graph, force=True)


@pytest.mark.parametrize("method", [*SEARCHES, *WHOLE])
def test_sums_below_float32_are_widened(method):
    graph = Graph.from_edges([0, 1], [1, 2], np.array([-3e38, -3e38], np.float32))
    got = (SEARCHES | WHOLE)[method](graph, 0)
    third = float(np.float32(-3e38))
    assert got.dtype == np.float64
    assert got.tolist() == [0, third, 2 * third]


@pytest.mark.parametrize("method", SEARCHES)
def test_sums_below_64_bits_are_an_error(method):
    for weights in ([-TOP, -TOP], np.array([-LAST, -LAST], np.int64)):
        with pytest.raises(DistanceOverflowError):
            SEARCHES[method](Graph.from_edges([0, 1], [1, 2], weights), 0)


@pytest.mark.parametrize("sums", ["fixed", "search"])
@pytest.mark.parametrize("name", PREPARED)
def test_prepared_sums_below_the_range(name, sums):
    ask = PREPARED[name]
    narrow = Graph.from_edges([0, 1], [1, 2], np.array([-3e38, -3e38], np.float32))
    third = float(np.float32(-3e38))
    assert ask(nearfar.prepare(narrow), 0, sums).tolist() == [0, third, 2 * third]
    wide = nearfar.prepare(Graph.from_edges([2, 0], [0, 1], [-TOP, -8.99e307]))
    with pytest.raises(DistanceOverflowError):
        ask(wide, 2, sums)
    assert ask(wide, 0, sums).tolist() == [0, -8.99e307, math.inf]
    # Only the potentials leave the range.
    far = nearfar.prepare(Graph.from_edges([0, 1, 2], [3, 2, 0], [TOP, -4.49e307, -TOP]))
    assert ask(far, 0, sums).tolist() == [0, math.inf, math.inf, TOP]


def test_reductions_of_sums_below_the_range():
    wide = nearfar.prepare(Graph.from_edges([2, 0], [0, 1], [-TOP, -8.99e307]))
    for reduce in ("sum", "mean", "max", "nearest:2", "summary"):
        with pytest.raises(DistanceOverflowError):
            nearfar.distances(wide, [2], reduce=reduce, **TREE)


def test_lowest_integers_are_distances():
    graph = Graph.from_edges([0], [1], np.array([-LAST], np.int64))
    for form in FORMS:
        assert nearfar.sssp(graph, 0, method=f"{form}@cpu").distances.tolist() == [0, -LAST]


@pytest.mark.parametrize("method", SEARCHES)
def test_potentials_beyond_the_range_spoil_no_row(method):
    graph = Graph.from_edges([0, 1, 2], [3, 2, 0], [TOP, -4.49e307, -TOP])
    assert SEARCHES[method](graph, 0).tolist() == [0, math.inf, math.inf, TOP]
    graph = Graph.from_edges([1, 3], [0, 0], [-8.98e307, 1.79e308])
    assert SEARCHES[method](graph, 0).tolist() == [0, math.inf, math.inf, math.inf]


def test_total_is_exact():
    parts = [1e308, 1e308, -1e308, -1.5e308]
    ring = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], parts)
    assert cycle_total(ring, [0, 1, 2, 3]) == float(sum(map(Fraction, parts)))


@pytest.mark.parametrize(
    ("weights", "answer"),
    [
        ([-TOP, -TOP], [0, -TOP, -math.inf]),
        ([-TOP, -TOP], [0, -TOP, math.nan]),
        ([-TOP, TOP], [0, -math.inf, math.nan]),
        (np.array([-(2**31) + 1] * 2, np.int32), np.array([0, *[-(2**31) + 1] * 2], np.int32)),
    ],
)
def test_proof_refuses_infinite_and_clamped_distances(weights, answer):
    graph = Graph.from_edges([0, 1], [1, 2], weights)
    with pytest.raises(ProofError):
        nearfar.answer.certify(graph, 0, np.asarray(answer))


def test_proof_is_wanted_once_per_part_of_a_graph():
    graph = Graph.from_edges([0, 1, 3], [1, 2, 4], [0.1, -0.05, 0.2])
    assert proof_wanted(graph, 0)
    nearfar.sssp(graph, 0, method="tarjan_subtree@cpu")
    assert not proof_wanted(graph, 1)
    assert proof_wanted(graph, 3)
    assert proof_wanted(graph, -1)
    assert find_negative_cycle(graph) is None
    assert not proof_wanted(graph, -1)


def test_a_search_that_lost_a_sum_proves_nothing_beyond():
    """From 2, vertex 0 is beyond float32, so that its negative loop is not found."""
    weights = np.array([-1, -1, 8.5e37, 3.4e38, 1], np.float32)
    graph = Graph.from_edges([0, 0, 1, 2, 3], [1, 0, 0, 3, 1], weights)
    for source in (2, 3):
        for form in FORMS:
            with pytest.raises(NegativeCycleError):
                nearfar.sssp(graph, source, method=f"{form}@cpu")


def test_limit_between_two_float32_numbers():
    graph = Graph.from_edges([0], [1], np.array([16777216], np.float32))
    assert nearfar.sssp(graph, 0, limit=16777215.9).n_reached == 1
    assert nearfar.distances(graph, [0], limit=16777215.9)[0, 1] == np.inf
    assert nearfar.sssp(graph, 0, limit=16777216).n_reached == 2


@pytest.mark.parametrize("kind", [int, np.int64, np.uint64])
def test_limits_beyond_2_53_count_every_unit(kind):
    most = 2**53 + 1
    graph = Graph.from_edges([0, 0], [1, 2], np.array([most, most + 1], np.int64))
    prepared = nearfar.prepare(graph)
    for limit, reached in ((kind(most - 1), 1), (kind(most), 2), (kind(most + 1), 3)):
        for method in ("auto", "dijkstra_binary_heap", "delta_stepping", "tarjan_subtree"):
            assert nearfar.sssp(graph, 0, method=method, limit=limit).n_reached == reached
        for method in ("auto", "lanes", "worker_per_source", "bounded"):
            row = nearfar.distances(graph, [0, 0], method=method, limit=limit)[0]
            assert (row < LAST).sum() == reached
            call = {"method": method, "limit": limit}
            assert nearfar.distances(graph, [0], reduce="count", **call)[0] == reached - 1
            assert nearfar.distances(graph, [0], out="csr", **call).nnz == reached
        assert (nearfar.distances(prepared, [0], limit=limit) < LAST).sum() == reached
        pairs = [(0, 0), (0, 1), (0, 2)]
        assert (nearfar.distances(prepared, pairs=pairs, limit=limit) < LAST).sum() == reached
        assert len(nearfar.k_shortest_paths(graph, 0, 1, 1, limit=limit)) == (reached > 1)


def test_sum_of_large_integers_is_rounded_once():
    parts = [152, 107447051326681, 1915422587438301861, 76863]
    star = Graph.from_edges([0] * 4, [1, 2, 3, 4], np.array(parts, np.int64))
    assert nearfar.distances(star, [0], reduce="sum")[0] == float(sum(parts))
    far = Graph.from_edges([0] * 4, [1, 2, 3, 4], np.array([LAST - 1] * 4, np.int64))
    assert nearfar.distances(far, [0], reduce="sum")[0] == float(4 * (LAST - 1))


def test_k_shortest_paths_are_as_long_as_searches_say():
    graph = Graph.from_edges([0, 1], [1, 2], np.array([0.1, 0.2], np.float32))
    assert nearfar.k_shortest_paths(graph, 0, 2, 1) == [nearfar.shortest_path(graph, 0, 2)]
    chain = Graph.from_edges([0, 1, 2], [1, 2, 3], [1e308, 1e308, 1.0])
    assert nearfar.k_shortest_paths(chain, 2, 3, 1) == [([2, 3], 1.0)]
    with pytest.raises(DistanceOverflowError):
        nearfar.k_shortest_paths(chain, 0, 3, 1)


def exact_distances(graph: Graph, source: int) -> dict[int, Fraction] | None:
    """Return distances as fractions by rounds over all edges, or None for a negative cycle."""
    weights, tails = graph.effective_weights.tolist(), graph.tails().tolist()
    edges = list(zip(tails, graph.indices.tolist(), map(Fraction, weights), strict=True))
    distance = {source: Fraction(0)}
    for _ in range(graph.n_vertices + 1):
        before = dict(distance)
        for u, v, w in edges:
            if u in distance and (v not in distance or distance[u] + w < distance[v]):
                distance[v] = distance[u] + w
        if distance == before:
            return distance
    return None


def pool_of(dtype: np.dtype) -> list:
    if dtype.kind == "i":
        top = int(np.iinfo(dtype).max)
        return [top, -top, -top - 1, top // 2, -(top // 2), top - 1, 5, 2, 1, 0, -1, -2, -3]
    top, tiny = float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_subnormal)
    plain = [0.1, 0.2, -0.3, 0.3, -0.1, -0.2, 1.0, -1.0, 0.5, -0.5, 0.0]
    return [*plain, 1e16, -1e16, tiny, -tiny, top, -top, top / 4, -top / 4, top / 2, -top / 2]


@st.composite
def graphs(draw):
    dtype = np.dtype(draw(st.sampled_from(["int32", "int64", "float32", "float64"])))
    n = draw(st.integers(1, 6))
    vertex = st.integers(0, n - 1)
    weight = st.sampled_from(draw(st.lists(st.sampled_from(pool_of(dtype)), min_size=1)))
    edges = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=3 * n))
    tails, heads, weights = zip(*edges, strict=True) if edges else ((), (), ())
    return Graph.from_edges(tails, heads, np.array(weights, dtype), n_vertices=n)


@given(graphs(), st.data())
def test_every_door_agrees_with_fractions(graph, data):
    source = data.draw(st.integers(0, graph.n_vertices - 1))
    rows = [exact_distances(graph, v) for v in range(graph.n_vertices)]
    cyclic = any(row is None for row in rows)
    assert (find_negative_cycle(graph) is not None) == cyclic
    doors = dict(SEARCHES | WHOLE)
    if cyclic:
        with pytest.raises(NegativeCycleError):
            nearfar.prepare(graph, force=True)
    else:
        prepared = nearfar.prepare(graph, force=True)
        for name, ask in PREPARED.items():
            for sums in ("fixed", "search"):
                doors[f"prepared {name} {sums}"] = lambda _, s, ask=ask, sums=sums: ask(
                    prepared, s, sums
                )
    floating = graph.weight_dtype.kind == "f"
    top = Fraction(TOP) if floating else Fraction(LAST - 1)
    spare = top / 10**12 if floating else Fraction(0)  # sums that exceed the range only by rounding
    for name, door in doors.items():
        wanted = rows[source]
        hidden = cyclic if name in WHOLE else wanted is None
        try:
            got = door(graph, source)
        except NegativeCycleError:
            assert hidden
        except DistanceOverflowError:
            every = rows if name == "floyd_warshall" else [wanted]
            values = [x for row in every if row for x in row.values()]
            assert not hidden
            assert any(x > top - spare or x < -top - 2 + spare for x in values)
        except VariantUnavailable:
            assert name in WHOLE or name.startswith("prepared")
        else:
            assert not hidden
            reached = np.array([v in wanted for v in range(graph.n_vertices)])
            none = np.inf if floating else np.iinfo(got.dtype).max
            assert (got[~reached] == none).all()
            for v, exact in wanted.items():
                if not floating:
                    assert int(got[v]) == exact
                else:
                    assert math.isfinite(got[v])


def test_random_graphs_with_negative_floats_are_proven_without_alarm():
    """Weights with ties, for which the proof compares sums exactly."""
    rng = np.random.default_rng(3)
    alarms = 0
    for trial in range(100):
        n = int(rng.integers(2, 60))
        m = int(rng.integers(1, 5 * n))
        tails, heads = rng.integers(0, n, m), rng.integers(0, n, m)
        height = np.round(rng.random(n) * 9, 1)
        weights = np.round(height[heads] - height[tails] + 0.1 * rng.integers(0, 3, m), 1)
        dtype = [np.float32, np.float64][trial % 2]
        graph = Graph.from_edges(tails, heads, weights.astype(dtype), n_vertices=n)
        wanted = any(exact_distances(graph, v) is None for v in range(n)) if n < 16 else None
        found = find_negative_cycle(graph)
        if wanted is not None:
            assert (found is not None) == wanted
        if found is not None:
            alarms += 1
            assert found.total < 0
        for source in range(min(n, 5)):
            row = exact_distances(graph, source)
            for form in FORMS:
                fresh = Graph(graph.indptr, graph.indices, graph.weights)
                if row is None:
                    with pytest.raises(NegativeCycleError):
                        nearfar.sssp(fresh, source, method=f"{form}@cpu")
                else:
                    distances = nearfar.sssp(fresh, source, method=f"{form}@cpu").distances
                    exactly = np.array([float(row.get(v, math.inf)) for v in range(n)])
                    np.testing.assert_allclose(distances, exactly, rtol=1e-5, atol=1e-5)
    assert 0 < alarms < 100


def level_graph(rng: np.random.Generator, dtype: type) -> Graph:
    """Return a graph with cycles of exact weight 0 whose rounded sums may be lower."""
    n = int(rng.integers(2, 60))
    tails, heads = rng.integers(0, n, (2, 3 * n))
    height = rng.integers(-1000, 1000, n)
    if rng.random() < 0.3:  # both directions of an edge cancel exactly
        tails, heads = np.r_[tails, heads], np.r_[heads, tails]
        more = 0
    else:
        more = np.where(rng.random(3 * n) < 0.6, 0, rng.integers(0, 50, 3 * n))
    weights = ((height[tails] - height[heads] + more) * 0.37).astype(dtype)
    return Graph.from_edges(tails, heads, weights, n_vertices=n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_around_cycles_of_weight_zero_changes_no_bit(dtype):
    """Every method, and every repetition, returns the sums of paths."""
    rng = np.random.default_rng(7)
    answered = 0
    for _ in range(200):
        graph = level_graph(rng, dtype)
        source = int(rng.integers(graph.n_vertices))
        try:
            prepared = nearfar.prepare(graph, force=True)
        except NegativeCycleError:  # rounding of the weights made one
            continue
        answered += 1
        truth = nearfar.sssp(graph, source, method="tarjan_subtree@cpu").distances
        for name, ask in (SEARCHES | WHOLE).items():
            fresh = graph.with_weights(graph.weights.copy())
            for _ in range(3):
                np.testing.assert_array_equal(ask(fresh, source), truth, name)
        for name, ask in PREPARED.items():
            np.testing.assert_array_equal(ask(prepared, source, "search"), truth, name)
    assert answered > 20
