"""The proof rejects every kind of wrong answer, also answers that are right edge by edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar import Graph
from nearfar.answer.proof import certify
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.errors import GraphError, OptionError, ProofError, VertexError
from nearfar.graph.dtypes import unreached_value
from tests import oracle
from tests.strategies import graphs


def line() -> Graph:
    return Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 1, 1], n_vertices=5)


TOP = np.iinfo(np.int64).max


@pytest.mark.parametrize(
    ("distances", "predecessors", "message"),
    [
        ([1, 1, 2, 3, TOP], None, "source 0 has distance 1"),
        ([0, 1, 2, 4, TOP], None, "vertex 3 has distance 4, but the edge from 2"),
        ([0, 1, 2, 2, TOP], None, "vertex 3 has distance 2, but no predecessor"),
        ([0, 1, 2, TOP, TOP], None, "vertex 3 is unreached, but the edge from 2"),
        ([0, 1, 2, 3, 9], None, "vertex 4 has distance 9, but no predecessor"),
        ([0, -1, 0, 1, TOP], None, "which no path with these weights can have"),
        ([0, 1, 2, 3, TOP], [-1, 0, 1, 1, -1], "no edge from the predecessor 1"),
        ([0, 1, 2, 3, TOP], [-1, 0, 1, 2, 2], "unreached vertices neither have nor are"),
        ([0, 1, 2, 3, TOP], [1, 0, 1, 2, -1], "the source 0 has predecessor 1"),
        ([0, 1, 2, 3, TOP], [-1, 0, 1, 77, -1], "predecessor 77, which is not a vertex"),
    ],
)
def test_wrong_answers(distances, predecessors, message: str) -> None:
    with pytest.raises(ProofError, match=message):
        certify(line(), 0, np.array(distances, dtype=np.int64), predecessors)


@pytest.mark.parametrize("source", [-1, 5, 2**40, 0.0, True, "0", None])
def test_a_source_that_is_not_a_vertex(source) -> None:
    """Regression: 2**40 was truncated to 0 and "proven"; -1 read memory before the arrays."""
    with pytest.raises(VertexError, match="source"):
        certify(line(), source, np.array([0, 1, 2, 3, TOP]))


@pytest.mark.parametrize(
    ("predecessors", "error"),
    [
        ([-1.0, 0.5, 1.2, 2.9, -1.0], GraphError),
        ([-1, 2**32, 1, 2, -1], ProofError),
        (np.array([2**64 - 1, 0, 1, 2, 3], dtype=np.uint64), ProofError),
        (["a"] * 5, GraphError),
    ],
)
def test_predecessors_are_not_cut_to_fit(predecessors, error: type[Exception]) -> None:
    with pytest.raises(error, match="predecessor"):
        certify(line(), 0, np.array([0, 1, 2, 3, TOP]), predecessors)


def test_distances_of_other_kinds() -> None:
    given = np.array([0, 1, 2, 3, TOP])
    certify(line(), 0, given.astype(">i8"))
    certify(line(), 0, [0.0, 1.0, 2.0, 3.0, np.inf])
    for kind in (np.int8, np.uint64, bool, object, "U5"):
        with pytest.raises(GraphError, match="distances have dtype"):
            certify(line(), 0, np.array([0, 1, 2, 3, 4]).astype(kind))
    fine = Graph.from_edges([0, 1], [1, 2], [0.1, 0.2])
    rounded = nearfar.sssp(fine.astype(np.float32), 0).distances
    with pytest.raises(ProofError):  # the proof of another graph
        certify(fine, 0, rounded)
    certify(fine.astype(np.float32), 0, rounded)
    whole = Graph.from_edges([0], [1], np.array([2.0]))
    certify(whole, 0, np.array([0, 2]))


@pytest.mark.parametrize("limit", [3, 3.0, 3.7, np.float32(3), 2**70, np.inf])
def test_limits_of_any_kind(limit) -> None:
    certify(line(), 0, np.array([0, 1, 2, 3, TOP]), None, limit)
    with pytest.raises(ProofError, match="beyond the limit 2"):
        certify(line(), 0, np.array([0, 1, 2, 3, TOP]), None, 2.5)
    for wrong in (np.nan, "3", True, -1, -np.inf):
        with pytest.raises(OptionError, match="limit"):
            certify(line(), 0, np.array([0, 1, 2, 3, TOP]), None, wrong)


def test_a_limit_with_negative_weights() -> None:
    """The shortest path to 2 leads over 1, beyond the limit; a distance of 5 must be rejected."""
    g = Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [10, -8, 5, 1])
    tree = [-1, 0, 1, 2]
    certify(g, 0, np.array([0, TOP, 2, 3]), tree, 5)
    certify(g, 0, np.array([0, TOP, 2, TOP]), tree, 2)
    certify(g, 0, np.array([0, 10, 2, 3]), tree, 10)
    for distances, predecessors, limit in (
        ([0, TOP, 5, TOP], [-1, -1, 0, -1], 5),
        ([0, TOP, 5, TOP], [-1, 0, 0, 2], 5),
        ([0, TOP, 2, TOP], tree, 3),
        ([0, 10, 2, 3], tree, 5),
        ([0, TOP, 2, 3], [-1, 0, 1, 1], 5),
        ([0, TOP, 2, 3], [-1, 3, 1, 2], 5),
        ([0, TOP, 2, 3], [-1, 0, 1, 9], 5),
        ([0, TOP, 2, 3], [-1, -1, 1, 2], 5),
    ):
        with pytest.raises(ProofError):
            certify(g, 0, np.array(distances), predecessors, limit)
    with pytest.raises(OptionError, match="needs the predecessors"):
        certify(g, 0, np.array([0, TOP, 2, 3]), None, 5)


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.int32, np.int64, np.float32, np.float64]))
def test_answers_with_a_limit_and_negative_weights_pass(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    n, m = 12, 40
    tails, heads = np.sort(rng.integers(0, n, (2, m)), axis=0)
    keep = tails != heads
    weights = rng.integers(-9, 9, m).astype(dtype)
    g = Graph.from_edges(tails[keep], heads[keep], weights[keep], n_vertices=n)
    paths = nearfar.sssp(g, 0, limit=int(rng.integers(0, 12)))
    nearfar.verify(g, paths)
    reached = np.flatnonzero(paths.reachable)
    paths.distances[reached[int(rng.integers(len(reached)))]] += dtype(1)
    with pytest.raises(ProofError):
        nearfar.verify(g, paths)


def test_zero_weight_vouchers_are_caught() -> None:
    """Vertices 1 and 2 are predecessors of each other at a distance without support."""
    g = Graph.from_edges([0, 1, 2], [1, 2, 1], [5, 0, 0])
    with pytest.raises(ProofError, match="no predecessor"):
        certify(g, 0, np.array([0, 3, 3]))
    with pytest.raises(ProofError, match="form a cycle"):
        certify(g, 0, np.array([0, 3, 3]), np.array([-1, 2, 1]))
    with pytest.raises(ProofError, match="form a cycle"):
        certify(g, 0, np.array([0, 5, 5]), np.array([-1, 2, 1]))
    certify(g, 0, np.array([0, 5, 5]), np.array([-1, 0, 1]))


def test_limit() -> None:
    top = np.iinfo(np.int64).max
    certify(line(), 0, np.array([0, 1, 2, top, top]), limit=2)
    with pytest.raises(ProofError, match="beyond the limit 2"):
        certify(line(), 0, np.array([0, 1, 2, 3, top]), limit=2)
    with pytest.raises(ProofError, match="unreached"):
        certify(line(), 0, np.array([0, 1, top, top, top]), limit=2)


def test_shape() -> None:
    with pytest.raises(ProofError, match="shape"):
        certify(line(), 0, np.zeros(3, dtype=np.int64))


def test_a_hub_with_many_edges_is_linear() -> None:
    n = 300_000
    g = Graph.from_edges(np.zeros(n - 1, dtype=np.int64), np.arange(1, n), 1)
    nearfar.verify(g, nearfar.sssp(g, 0, predecessors=True))


@given(graph=graphs(), data=st.data())
def test_any_change_of_a_right_answer_is_caught(graph: Graph, data: st.DataObject) -> None:
    distances = oracle.dijkstra(graph, 0)
    certify(graph, 0, distances, tight_predecessors(graph, 0, distances))
    victim = data.draw(st.integers(0, graph.n_vertices - 1))
    wrong = distances.copy()
    wrong[victim] = data.draw(st.integers(0, 40))
    if wrong[victim] != distances[victim]:
        with pytest.raises(ProofError):
            certify(graph, 0, wrong)


@given(graph=graphs(negative=True, dtypes=("int64",)))
def test_negative_weights(graph: Graph) -> None:
    distances = oracle.bellman_ford(graph, 0)
    if distances is not None:
        certify(graph, 0, distances, tight_predecessors(graph, 0, distances))


@given(graph=graphs())
def test_predecessors_take_the_smallest_nearer_id(graph: Graph) -> None:
    d = oracle.dijkstra(graph, 0)
    if d.dtype != graph.weight_dtype:
        return
    p = tight_predecessors(graph, 0, d)
    top = unreached_value(d.dtype)
    best = {}
    for u in range(graph.n_vertices):
        for e in range(graph.indptr[u], graph.indptr[u + 1]):
            v = int(graph.indices[e])
            if d[u] != top and d[u] < d[v] and d[u] + graph.effective_weights[e] == d[v]:
                best[v] = min(best.get(v, u), u)
    for v, u in best.items():
        assert p[v] == u
