"""`weight=` of every call that takes a graph, and external names in all answers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
import networkx as nx
from nearfar import Graph, NegativeCycleError
from nearfar.errors import GraphError, NearfarError, OptionError, ProofError
from nearfar.measures import describe
from nearfar.solve import potentials, read_rows

#: From "a" to "c": 4 by length over "b", one edge directly.
LENGTHS = [("a", "b", 3), ("b", "c", 1), ("a", "c", 9)]

#: Distance of "c" from "a" by each call.
CALLS: dict[str, Callable[..., Any]] = {
    "sssp": lambda g, **kw: nearfar.sssp(g, "a", **kw).distance_to("c"),
    "shortest_path": lambda g, **kw: nearfar.shortest_path(g, "a", "c", **kw)[1],
    "distances": lambda g, **kw: nearfar.distances(g, ["a"], targets=["c"], **kw).item(),
    "pairs": lambda g, **kw: nearfar.distances(g, pairs=[("a", "c")], **kw).item(),
    "all_pairs": lambda g, **kw: nearfar.all_pairs(g, **kw)[0, 2].item(),
    "nearest": lambda g, **kw: nearfar.nearest(g, ["a"], **kw).distances[2].item(),
    "k_shortest_paths": lambda g, **kw: nearfar.k_shortest_paths(g, "a", "c", 1, **kw)[0][1],
}


@pytest.fixture
def roads() -> Any:
    graph = nx.DiGraph()
    for u, v, length in LENGTHS:
        graph.add_edge(u, v, length=length, kind="road")
    return graph


@pytest.mark.parametrize("name", CALLS)
def test_weight_names_the_attribute_of_each_call(roads: Any, name: str) -> None:
    """Regression: `shortest_path(G, a, b)` over edges with `length` counted hops."""
    call = CALLS[name]
    with pytest.raises(GraphError, match="numbers in length: choose with weight='length'"):
        call(roads)
    with pytest.raises(GraphError, match=r"no edge attribute 'lenght'; did you mean 'length'\?"):
        call(roads, weight="lenght")
    assert call(roads, weight="length") == 4
    assert call(roads, weight=lambda u, v, data: 2 * data["length"]) == 8
    assert call(roads, weight=None) == 1
    read = Graph.from_networkx(roads, weight="length")
    with pytest.raises(GraphError, match="weight is 'length': a Graph or a matrix has one weight"):
        call(read, weight="length")
    assert (call(read), call(read, weight=None)) == (4, 1)


def test_weight_of_a_matrix_and_of_a_prepared_graph() -> None:
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [3, 1, 9])
    for one in (graph.to_scipy(), nearfar.prepare(graph)):
        assert nearfar.shortest_path(one, 0, 2) == ([0, 1, 2], 4)
        assert nearfar.shortest_path(one, 0, 2, weight=None) == ([0, 2], 1)
        with pytest.raises(GraphError, match="weight is 'km'"):
            nearfar.sssp(one, 0, weight="km")


def test_weight_of_a_map(roads: Any, tmp_path: Path) -> None:
    graph = Graph.from_edges(
        [0, 1, 0], [1, 2, 2], [3, 1, 9], coordinates=np.array([[0, 0], [1, 0], [1, 1]])
    )
    pytest.importorskip("matplotlib")
    drawn = nearfar.isochrone(graph, 0, tmp_path / "map.png", weight=None)
    assert drawn.distance_to(2) == 1
    with pytest.raises(GraphError, match="no edge attribute 'lenght'"):
        nearfar.isochrone(roads, "a", tmp_path / "none.png", weight="lenght")


def test_weight_of_a_search_for_a_negative_cycle() -> None:
    graph = nx.DiGraph()
    graph.add_edge("x", "y", gain=1.0)
    graph.add_edge("y", "x", gain=-1.5)
    with pytest.raises(GraphError, match="choose with weight='gain'"):
        nearfar.find_negative_cycle(graph)
    found = nearfar.find_negative_cycle(graph, weight="gain")
    assert found is not None
    assert (sorted(found.vertices), found.total) == (["x", "y"], -0.5)
    assert nearfar.find_negative_cycle(graph, weight=None) is None
    with pytest.raises(GraphError, match="cannot convert list to a graph"):
        nearfar.find_negative_cycle([[0, 1]])


# ---- names ------------------------------------------------------------------------------------

SIZE = 6
ENDS = ([0, 1, 2, 0, 3], [1, 2, 3, 2, 4])  # vertex 5 is reached by nothing

#: Names unlike any index, so that a returned index is detected.
NAMES: dict[str, Any] = {
    "numbers": range(1001, 1001 + SIZE),
    "table": np.array([907, 905, 903, 911, 913, 901]),
    "texts": np.array(["Hel", "Arn", "Osl", "Cph", "Rkv", "Tll"]),
    "objects": np.array([("p", 7), "q", 1003.5, 1004, b"r", frozenset("s")], dtype=object),
}


def vertices_in(found: Any) -> Iterator[Any]:
    """Yield every vertex of an answer: of lists, arrays and containers; no vertex is None."""
    if isinstance(found, np.ndarray):
        found = found.tolist()
    if isinstance(found, list):
        for one in found:
            yield from vertices_in(one)
    elif found is not None:
        yield found


def answers(graph: Graph) -> Iterator[tuple[str, Any]]:
    """Yield vertices that every public function returns, with their origin."""
    names = [graph.name_of(v) for v in range(SIZE)]
    first, last, alone = names[0], names[4], names[5]
    paths = nearfar.sssp(graph, first)
    yield "Paths.source", paths.source
    yield "Paths.farthest", paths.farthest
    yield "Paths.path_to", paths.path_to(last)
    flat = paths.paths_to([last, alone, first])
    yield "Paths.paths_to", flat.vertices
    yield "FlatPaths[i]", flat[0]
    assert len(flat[1]) == 0
    yield "shortest_path", nearfar.shortest_path(graph, first, last)[0]
    for path, _ in nearfar.k_shortest_paths(graph, first, last, 9):
        yield "k_shortest_paths", path
    found = nearfar.nearest(graph, [first, names[3]])
    assert found.sources[5] is None
    yield "nearest", found.sources
    for targets in (None, names[::-1]):
        for reduce in ("nearest:2", "nearest:9"):
            near, _ = nearfar.distances(graph, [first, alone], targets=targets, reduce=reduce)
            assert near[0, -1] is not None or reduce == "nearest:9"
            yield f"{reduce} of {targets}", near
            yield f"all_pairs {reduce}", nearfar.all_pairs(graph, targets=targets, reduce=reduce)[0]
    yield "Paths.tree", nearfar.sssp(paths.tree(), first).path_to(last)
    yield "describe", describe(graph, first).reach.source  # type: ignore[union-attr]
    prepared = nearfar.prepare(graph)
    yield "Prepared.path", prepared.path(first, last)[0]
    yield "a search of Prepared", nearfar.sssp(prepared, first).path_to(last)


@pytest.mark.parametrize("kind", NAMES)
def test_no_index_comes_back(kind: str) -> None:
    """Regression: `k_shortest_paths`, `paths_to`, `farthest` and others gave indices."""
    graph = Graph.from_edges(
        *ENDS, [4, 3, 2, 9, 1], n_vertices=SIZE, vertex_names=NAMES[kind], names=False
    )
    known = {graph.name_of(v) for v in range(SIZE)}
    assert not known & set(range(SIZE))
    seen = set()
    for where, found in answers(graph):
        came = list(vertices_in(found))
        assert came, where
        assert set(came) <= known, where
        seen.update(came)
    assert seen >= known - {graph.name_of(5)}


@pytest.mark.parametrize("kind", NAMES)
def test_names_are_those_of_the_indices(kind: str) -> None:
    """The answers equal those without names, vertex by vertex."""
    graph = Graph.from_edges(
        *ENDS, [4, 3, 2, 9, 1], n_vertices=SIZE, vertex_names=NAMES[kind], names=False
    )
    bare = graph.without_names()
    called = [graph.name_of(v) for v in range(SIZE)]
    named = nearfar.sssp(graph, called[0])
    plain = nearfar.sssp(bare, 0)
    assert named.source == called[plain.source]
    assert named.farthest == called[plain.farthest]
    one, other = named.paths_to(called), plain.paths_to(range(SIZE))
    assert one.offsets.tolist() == other.offsets.tolist()
    assert one.vertices.tolist() == [called[v] for v in other.vertices]
    assert other.vertices.dtype == bare.index_dtype
    ours = nearfar.k_shortest_paths(graph, called[0], called[4], 9)
    theirs = nearfar.k_shortest_paths(bare, 0, 4, 9)
    assert ours == [([called[v] for v in path], length) for path, length in theirs]
    ours, _ = nearfar.all_pairs(graph, reduce="nearest:9", block=4)
    theirs, _ = nearfar.all_pairs(bare, reduce="nearest:9", block=4)
    assert ours.tolist() == [[None if v < 0 else called[v] for v in row] for row in theirs]
    assert nearfar.distances(graph, [], reduce="nearest:2")[0].shape == (0, 2)


@pytest.mark.parametrize("kind", NAMES)
def test_a_negative_cycle_is_told_by_names(kind: str) -> None:
    graph = Graph.from_edges(
        [0, 1, 2, 3, 3],
        [1, 2, 3, 1, 4],
        [1, -4, 1, 1, 1],
        n_vertices=SIZE,
        vertex_names=NAMES[kind],
        names=False,
    )
    names = [graph.name_of(v) for v in range(SIZE)]
    ring = names[1:4]
    turns = [ring[i:] + ring[:i] for i in range(3)]
    found = nearfar.find_negative_cycle(graph)
    assert found is not None
    assert (found.vertices in turns, found.total) == (True, -2)
    methods = ("tarjan_subtree", "goldberg_radzik", "bellman_ford", "bellman_ford_queue")
    calls: list[Callable[[], Any]] = [
        lambda: nearfar.sssp(graph, names[0]),
        *(lambda m=m: nearfar.sssp(graph, names[0], method=m) for m in methods),
        lambda: nearfar.shortest_path(graph, names[0], names[4]),
        lambda: nearfar.distances(graph, names[:2]),
        lambda: nearfar.all_pairs(graph),
        lambda: nearfar.all_pairs(graph, method="floyd_warshall@cpu"),
        lambda: nearfar.all_pairs(graph, method="johnson@cpu"),
        lambda: nearfar.distances(graph, pairs=[(names[0], names[4])]),
        lambda: nearfar.nearest(graph, names[:2]),
        lambda: nearfar.k_shortest_paths(graph, names[0], names[4], 2),
        lambda: nearfar.k_shortest_paths(graph, names[0], names[4], 2, cycles_anywhere=True),
        lambda: nearfar.prepare(graph),
        lambda: potentials(graph),
    ]
    for call in calls:
        with pytest.raises(NegativeCycleError) as caught:
            call()
        assert caught.value.cycle in turns
        assert caught.value.total == -2
        assert str(ring[0])[:80] in str(caught.value)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (again.cycle, str(again)) == (caught.value.cycle, str(caught.value))


def test_messages_tell_names() -> None:
    graph = Graph.from_edges(
        [0, 1], [1, 2], [4, 3], n_vertices=4, vertex_names=range(701, 705), names=False
    )
    paths = nearfar.sssp(graph, 701, predecessors=True)
    nearfar.verify(graph, paths)
    nearfar.answer.certify(graph, 701, paths.distances, paths.predecessors)
    with pytest.raises(NearfarError, match="source 0 is outside the graph: give 701 to 704"):
        nearfar.answer.certify(graph, 0, paths.distances)
    paths.distances[2] = 8
    with pytest.raises(ProofError, match=r"vertex 703 .* from 702 "):
        nearfar.verify(graph, paths)
    assert repr(nearfar.sssp(graph, 702)).startswith("Paths(source=702, reached 2 of 4")
    with pytest.raises(NearfarError, match="704 is not reached from 701"):
        nearfar.shortest_path(graph, 701, 704)


@pytest.mark.parametrize("kind", NAMES)
def test_a_parquet_folder_holds_names(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    graph = Graph.from_edges(
        *ENDS, [4, 3, 2, 9, 1], n_vertices=SIZE, vertex_names=NAMES[kind], names=False
    )
    wanted = [graph.name_of(v) for v in (4, 0, 2)]
    folder = tmp_path / "rows.parquet"
    if kind == "objects":
        with pytest.raises(OptionError, match="cannot hold the names of these sources"):
            nearfar.distances(graph, wanted, out=str(folder))
        assert list(tmp_path.iterdir()) == []
        return
    for _ in range(2):  # written, then read
        nearfar.distances(graph, wanted, out=str(folder), block=2)
        sources, rows = read_rows(folder)
        assert sources.tolist() == wanted
        assert rows.tolist() == nearfar.distances(graph, wanted).tolist()


@pytest.mark.parametrize("weight", [np.array([1, 2]), np.array([7]), [1, 2], {"a": 1}])
def test_an_array_is_no_name_of_a_weight(weight: Any) -> None:
    """Regression: NumPy's message on truth values, or `unhashable type`."""
    made = nx.DiGraph()
    made.add_edge(0, 1, weight=2)
    graph = Graph.from_networkx(made)
    table = {"source": [0], "target": [1], "weight": [2]}
    for call in (
        lambda: Graph.from_any(graph, weight),
        lambda: Graph.from_any(graph.to_scipy(), weight),
        lambda: Graph.from_any(made, weight),
        lambda: nearfar.sssp(graph, 0, weight=weight),
        lambda: nearfar.sssp(graph.to_scipy(), 0, weight=weight),
        lambda: nearfar.sssp(made, 0, weight=weight),
        lambda: Graph.from_dataframe(pytest.importorskip("pandas").DataFrame(table), weight=weight),
    ):
        with pytest.raises(GraphError, match=r"name of an attribute or column; .*from_csr"):
            call()
    with pytest.raises(GraphError, match="no edge attribute 5"):
        nearfar.sssp(made, 0, weight=5)  # type: ignore[arg-type]
