"""Paths: reading an answer."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
import networkx as nx
from nearfar import Graph
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.errors import GraphError, GraphFormatError, UnreachableError, VertexError
from tests.program import succeed
from tests.zoo import ZOO


@pytest.fixture
def named() -> Graph:
    return Graph.from_edges(
        [0, 1, 0],
        [1, 2, 2],
        [4, 3, 9],
        n_vertices=4,
        vertex_names=["a", "b", "c", "d"],
        names=False,
    )


def test_path_and_distance_in_names(named: Graph) -> None:
    p = nearfar.sssp(named, "a")
    assert p.path_to("c") == ["a", "b", "c"]
    assert p.distance_to("c") == 7
    assert p.distance_to("d") == float("inf")
    assert nearfar.shortest_path(named, "a", "c") == (["a", "b", "c"], 7)


def test_unreached_target(named: Graph) -> None:
    with pytest.raises(UnreachableError, match=r"'d' is not reached from 'a'$"):
        nearfar.sssp(named, "a").path_to("d")
    with pytest.raises(UnreachableError, match="within the limit 4"):
        nearfar.sssp(named, "a", limit=4).path_to("c")
    with pytest.raises(VertexError):
        nearfar.sssp(named, "a").path_to("q")


def test_flat_paths(named: Graph) -> None:
    flat = nearfar.sssp(named, "a").paths_to(["c", "d", "a", "b"])
    assert flat.offsets.tolist() == [0, 3, 3, 4, 6]
    assert [p.tolist() for p in flat] == [["a", "b", "c"], [], ["a"], ["a", "b"]]
    assert flat[-1].tolist() == ["a", "b"]
    with pytest.raises(IndexError):
        flat[4]


@pytest.mark.parametrize("name", ["grid", "skewed", "path", "zero_cycle"])
def test_flat_paths_equal_single_ones_and_sum_to_the_distance(name: str) -> None:
    g = ZOO[name]()
    p = nearfar.sssp(g, 0)
    targets = range(g.n_vertices)
    for t, flat in zip(targets, p.paths_to(targets), strict=True):
        if not p.reachable[t]:
            assert len(flat) == 0
            continue
        assert flat.tolist() == p.path_to(t)
        total = 0
        for u, v in itertools.pairwise(flat):
            row = slice(g.indptr[u], g.indptr[u + 1])
            total += g.weights[row][g.indices[row] == v].min()
        assert total == p.distances[t]


def test_edges_of_a_path_over_vertices_of_one_name() -> None:
    """Regression: names of the path were looked up again."""
    graph = Graph.from_csr([0, 1, 2, 3, 3], [1, 2, 3], [3, 4, 5], vertex_names=list("sxxt"))
    paths = nearfar.sssp(graph, "s")
    assert paths.path_to("t") == list("sxxt")
    assert paths.edges_to("t").tolist() == [0, 1, 2]


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".parquet", ".graphml"])
def test_vertices_of_one_name_are_not_made_one(tmp_path: Path, suffix: str) -> None:
    """Regression: files and NetworkX merged vertices of equal names silently."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("networkx")
    pytest.importorskip("pandas")
    graph = Graph.from_csr([0, 1, 2, 3, 3], [1, 2, 3], [3, 4, 5], vertex_names=list("sxxt"))
    with pytest.raises(GraphFormatError, match="'x' is the name of several vertices"):
        nearfar.write(graph, tmp_path / f"g{suffix}")
    assert not list(tmp_path.iterdir())
    for made in (graph.to_networkx, graph.to_pandas):
        with pytest.raises(GraphError, match="'x' is the name of several vertices"):
            made()
    nearfar.write(graph.without_names(), tmp_path / f"g{suffix}")
    nearfar.write(graph, tmp_path / "g.nfg")
    assert succeed("path", tmp_path / "g.nfg", "s", "t") == "s\t0\nx\t3\nx\t7\nt\t12\n"


def test_tree_is_a_tree_with_the_same_distances() -> None:
    g = ZOO["grid"]()
    p = nearfar.sssp(g, 0)
    tree = p.tree()
    assert tree.n_edges == p.n_reached - 1
    np.testing.assert_array_equal(nearfar.sssp(tree, 0).distances, p.distances)


def test_repr(named: Graph) -> None:
    text = repr(nearfar.sssp(named, "a"))
    assert text.startswith("Paths(source='a', reached 3 of 4, farthest 7, int64, ")
    assert "@cpu" in text
    third = Graph.from_edges([0, 1], [1, 2], [1 / 3, 2 / 3])
    assert "weights 0.333333..0.666667" in repr(third)
    assert "farthest 1, float64" in repr(nearfar.sssp(third, 0))


def test_networkx_and_scipy_graphs_are_taken_directly() -> None:
    h = nx.cycle_graph(5)
    assert nearfar.sssp(h, 0).distances.tolist() == [0, 1, 2, 2, 1]
    assert nearfar.sssp(nx.to_scipy_sparse_array(h), 0).distances.tolist() == [0, 1, 2, 2, 1]


def test_path_over_vertices_beyond_the_target_with_negative_weights() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [5, -9, 1])
    assert nearfar.shortest_path(graph, 0, 3) == ([0, 1, 2, 3], -3)
    paths = nearfar.sssp(graph, 0, limit=0)
    assert paths.path_to(3) == [0, 1, 2, 3]
    assert not paths.reachable[1]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_workers_share_the_pass_for_predecessors(dtype: str, directed: bool) -> None:
    # A hub whose row is longer than a block, zero-weight edges (a plateau) and many equal paths.
    rng = np.random.default_rng(5)
    n, m = 20_000, 90_000
    tails = np.concatenate([np.zeros(n - 1, np.int64), rng.integers(0, n, m)])
    heads = np.concatenate([np.arange(1, n), rng.integers(0, n, m)])
    weights = np.concatenate([np.full(n - 1, 9), rng.integers(0, 4, m)]).astype(dtype)
    graph = Graph.from_edges(tails, heads, weights, n_vertices=n, directed=directed)
    for edges in (graph, graph.with_weights(graph.effective_weights + weights.dtype.type(1))):
        found = nearfar.sssp(edges, 17, device="cpu", threads=1)
        alone = tight_predecessors(edges, 17, found.distances)
        for threads in (2, 3, 8):
            for _ in range(20):
                shared = tight_predecessors(edges, 17, found.distances, threads=threads)
                assert np.array_equal(shared, alone)
    nearfar.verify(edges, nearfar.sssp(edges, 17, device="cpu", threads=4))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, None])
@pytest.mark.parametrize("least", [0, 1])
def test_one_path_is_that_of_the_predecessors(directed: bool, dtype: Any, least: int) -> None:
    rng = np.random.default_rng(7)
    for n, m in ((60, 90), (300, 1500), (4000, 6000)):
        weights = None if dtype is None else rng.integers(least, 5, m).astype(dtype)
        if dtype is not None and np.dtype(dtype).kind == "f":
            weights = weights * dtype(0.1)
        ends = rng.integers(0, n, (2, m))
        graph = Graph.from_edges(*ends, weights, n_vertices=n, directed=directed)
        graph.transpose().view  # noqa: B018 - the edges into a vertex
        for source in rng.integers(0, n, 4):
            wanted = nearfar.sssp(graph, source, predecessors=True, device="cpu")
            for end in rng.choice(np.flatnonzero(wanted.reachable), 6):
                found = nearfar.sssp(graph, source, targets=[end], device="cpu")
                assert found.path_to(end) == wanted.path_to(end)
                assert np.array_equal(found.edges_to(end), wanted.edges_to(end))


def test_one_path_needs_no_predecessors_and_many_do() -> None:
    graph = nearfar.generate("grid", rows=200, columns=200)
    paths = nearfar.sssp(graph, 0, device="cpu")
    paths.path_to(39_999)
    assert paths._predecessors is None
    for end in range(39_000, 39_200):
        paths.path_to(end)
    assert paths._predecessors is not None
