"""Orders, the elimination tree and its counts, compared with elimination by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import nearfar
from nearfar import Graph, GraphError, OptionError, OutOfMemoryError, _cpu
from nearfar.prepared.order.elimination import Structure, elimination_order, structure_of
from nearfar.prepared.order.tree import analyse, build_arcs, check_worth
from tests import zoo
from tests.loading import load_program
from tests.strategies import graphs


def by_hand(graph: Graph, order: np.ndarray) -> list[set[int]]:
    """Return the later neighbours of each vertex when it is eliminated."""
    near: list[set[int]] = [set() for _ in range(graph.n_vertices)]
    for u, v in zip(graph.tails().tolist(), graph.indices.tolist(), strict=True):
        if u != v:
            near[u].add(v)
            near[v].add(u)
    upper: list[set[int]] = [set() for _ in range(graph.n_vertices)]
    for v in order.tolist():
        upper[v] = set(near[v])
        for u in near[v]:
            near[u] |= near[v] - {u}
            near[u].discard(v)
    return upper


def check(graph: Graph, order: np.ndarray) -> None:
    n = graph.n_vertices
    assert sorted(order.tolist()) == list(range(n))
    structure = structure_of(graph)
    tree, figures = analyse(graph, structure, order)
    arcs = build_arcs(graph, structure, tree)
    upper = by_hand(graph, order)
    assert figures.n_arcs == arcs.n_arcs == sum(map(len, upper))
    assert figures.n_triangles == sum(len(u) * (len(u) - 1) // 2 for u in upper)
    assert (tree.label[tree.vertex] == np.arange(n)).all()
    lower: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for v in range(n):
        mine = slice(arcs.first[v], arcs.first[v + 1])
        assert arcs.first[v + 1] - arcs.first[v] == tree.arcs[v]
        above = []
        a = int(tree.parent[v])
        while a >= 0:
            assert tree.low[a] <= tree.low[v]
            assert a > v
            above.append(a)
            a = int(tree.parent[a])
        above.reverse()
        assert tree.depth[v] == len(above)
        heads = [above[d] for d in arcs.head_depth[mine]]
        assert heads == sorted(heads, reverse=True)
        assert {int(tree.vertex[h]) for h in heads} == upper[tree.vertex[v]]
        for j, h in zip(range(mine.start, mine.stop), heads, strict=True):
            lower[h].append((j, v))
    for v in range(n):
        mine = slice(arcs.lower_first[v], arcs.lower_first[v + 1])
        pairs = zip(arcs.lower_arc[mine].tolist(), arcs.lower_tail[mine].tolist(), strict=True)
        assert list(pairs) == lower[v]
    placed = {}
    for v in range(n):
        for i in range(int(arcs.edge_first[v]), int(arcs.edge_first[v + 1])):
            placed[int(arcs.edge[i])] = (v, int(arcs.edge_place[i]))
    tails = graph.tails()
    for e in range(graph.n_edges):
        x, y = int(tree.label[tails[e]]), int(tree.label[graph.indices[e]])
        if x == y:
            assert e not in placed
        else:
            assert placed[e] == (min(x, y), 2 * int(tree.depth[max(x, y)]) + (x > y))


@given(graphs(max_vertices=40))
def test_any_graph(graph: Graph) -> None:
    order, _ = elimination_order(structure_of(graph), "multilevel")
    check(graph, order)
    check(graph, np.arange(graph.n_vertices, dtype=np.int32)[::-1].copy())


def grid(side: int) -> Graph:
    at = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    heads = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    x, y = np.divmod(np.arange(side * side), side)
    made = Graph.from_edges(tails, heads, n_vertices=side * side, directed=False)
    return Graph(
        made.indptr, made.indices, directed=False, coordinates=np.stack([x, y], 1).astype(float)
    )


def test_grid_has_small_separators() -> None:
    graph = grid(40)
    structure = structure_of(graph)
    order, used = elimination_order(structure)
    assert used == "multilevel"
    check(graph, order)
    _, figures = analyse(graph, structure, order)
    # Row by row the tree is 1,600 high and each vertex has 40 arcs: 64,000.
    assert figures.n_arcs < 28_000
    assert figures.height < 160


def test_same_seed_same_order() -> None:
    structure = structure_of(grid(20))
    found = [elimination_order(structure, seed=seed)[0] for seed in (3, 3, 4)]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()


def test_several_components() -> None:
    one = grid(12)
    n = one.n_vertices
    tails = np.concatenate([one.tails() + k * n for k in range(3)])
    heads = np.concatenate([one.indices + k * n for k in range(3)])
    graph = Graph.from_edges(tails, heads, n_vertices=3 * n + 5)
    structure = structure_of(graph)
    order, _ = elimination_order(structure)
    tree, figures = analyse(graph, structure, order)
    assert (tree.parent < 0).sum() == 8
    assert figures.height < 60
    check(graph, order)


def test_chain_makes_a_low_tree() -> None:
    n = 5000
    graph = Graph.from_edges(np.arange(n - 1), np.arange(1, n), n_vertices=n)
    structure = structure_of(graph)
    order, _ = elimination_order(structure)
    _, figures = analyse(graph, structure, order)
    assert figures.height < 40
    assert figures.n_arcs <= 2 * n


@pytest.mark.parametrize("build", [zoo.self_loops, zoo.parallel_edges, zoo.no_edges])
def test_odd_graphs(build: object) -> None:
    graph = build()  # type: ignore[operator]
    check(graph, elimination_order(structure_of(graph))[0])


def test_star_eliminates_its_centre_last() -> None:
    graph = Graph.from_edges(np.zeros(50, int), np.arange(1, 51))
    order, _ = elimination_order(structure_of(graph))
    assert set(order[-2:].tolist()) >= {0}
    _, figures = analyse(graph, structure_of(graph), order)
    assert figures.n_shortcuts == 0


def test_given_order() -> None:
    graph = grid(5)
    structure = structure_of(graph)
    wanted = np.random.default_rng(1).permutation(25)
    found, method = elimination_order(structure, wanted)
    assert method == "given"
    assert (found == wanted).all()
    for wrong in (wanted[:-1], np.zeros(25, int), wanted.astype(float), wanted + 1):
        with pytest.raises(OptionError, match="order"):
            elimination_order(structure, wrong)


def test_unknown_method() -> None:
    graph = grid(3)
    with pytest.raises(OptionError, match="did you mean 'multilevel'"):
        elimination_order(structure_of(graph), "multilevels")
    with pytest.raises(OptionError, match="seed"):
        elimination_order(structure_of(graph), "multilevel", -1)


@pytest.mark.parametrize("name", ["grid", "country_roads", "kronecker", "star"])
def test_the_same_order_on_any_number_of_threads(name: str) -> None:
    """All workers divide large pieces together, and small ones separately."""
    made = {
        "grid": lambda: nearfar.generate("grid", rows=220, columns=220),
        "country_roads": lambda: nearfar.generate("country_roads", vertices=80_000),
        "kronecker": lambda: nearfar.generate("kronecker", scale=12),
        "star": lambda: Graph.from_edges(np.zeros(40_000, int), np.arange(1, 40_001)),
    }[name]()
    structure = structure_of(made)
    n = structure.n_vertices
    # Without the reductions, which would eliminate the whole star.
    orders = [_cpu.prepared_dissect(*_rows(structure), 3, threads) for threads in (1, 2, 5)]
    assert np.array_equal(np.sort(orders[0]), np.arange(n))
    assert all(np.array_equal(orders[0], other) for other in orders[1:])


def _rows(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    return structure.first, structure.neighbour


def test_orders_of_roads_have_few_arcs() -> None:
    """As few as METIS's, with trees less than one and a half times as high."""
    pytest.importorskip("pymetis")
    structure = structure_of(graph := nearfar.generate("country_roads", vertices=30_000))
    metis_order = load_program("benchmarks", "prepared_graphs").metis_order
    ours, theirs = (
        analyse(graph, structure, order)[1]
        for order in (elimination_order(structure)[0], metis_order(structure))
    )
    assert ours.n_arcs < 1.02 * theirs.n_arcs
    assert ours.height < 1.5 * theirs.height


def test_refusal_names_the_figures() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    graph = Graph.from_edges(rng.integers(0, n, 12 * n), rng.integers(0, n, 12 * n), n_vertices=n)
    structure = structure_of(graph)
    _, figures = analyse(graph, structure, elimination_order(structure)[0])
    with pytest.raises(GraphError, match=f"{figures.n_arcs:,} arcs.*force=True"):
        check_worth(figures)
    check_worth(figures, force=True)
    with pytest.raises(OutOfMemoryError):
        check_worth(figures, memory=1000, force=True)
    with pytest.raises(OptionError, match="memory"):
        check_worth(figures, memory=-1)
    with pytest.raises(OptionError, match="memory is inf"):
        check_worth(figures, memory=float("inf"))
