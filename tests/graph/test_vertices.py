"""Sources and targets in every form in which users have vertices."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import nearfar
import networkx as nx
from nearfar import Graph
from nearfar.errors import GraphError, OptionError, VertexError


def line() -> Graph:
    return Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([4, 3, 2], dtype=np.int32))


@pytest.mark.parametrize(
    "given",
    [
        [1, 2],
        (1, 2),
        {1, 2},
        {1: "a", 2: "b"},
        range(1, 3),
        iter([1, 2]),
        np.array([1, 2], dtype=np.uint8),
        np.array([0, 1, 2, 3])[1:3],
        [np.int64(1), 2],
    ],
)
def test_many(given) -> None:
    found = nearfar.distances(line(), given)
    np.testing.assert_array_equal(found, nearfar.distances(line(), [1, 2]))


@pytest.mark.parametrize("one", [2, np.int8(2), np.array(2)])
def test_one(one) -> None:
    assert nearfar.distances(line(), one).shape == (1, 4)
    assert nearfar.distances(line(), 0, targets=one).tolist() == [[7]]
    assert nearfar.sssp(line(), 0, targets=one).distances[2] == 7


def test_one_where_many_are_expected() -> None:
    """They raised TypeError, and a name was read letter by letter."""
    assert nearfar.sssp(line(), 1).paths_to(3).vertices.tolist() == [1, 2, 3]
    with pytest.raises(VertexError, match="'x' is not an integer"):
        line().subgraph("x")
    named = Graph.from_edges(["ab", "c"], ["c", "d"])
    assert named.subgraph("ab").vertex_names.tolist() == ["ab"]
    assert nearfar.sssp(named, "c").paths_to("d").vertices.tolist() == ["c", "d"]


def test_sets_as_targets() -> None:
    assert nearfar.sssp(line(), 0, targets={1, 2}).n_reached == 3


@pytest.mark.parametrize(
    "wrong", [[0, 1.5], [0, True], [0, [1]], [2**70], [-(2**70)], [0, None], "01", [[0, 1]], [0, 4]]
)
def test_what_is_not_a_vertex(wrong) -> None:
    for call in (
        lambda: nearfar.distances(line(), wrong),
        lambda: nearfar.distances(line(), [0], targets=wrong),
        lambda: nearfar.sssp(line(), 0, targets=wrong),
    ):
        with pytest.raises(VertexError):
            call()


def test_names_of_several_kinds() -> None:
    """An array of 1 and "a" would contain the strings "1" and "a"."""
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(1, "a", 4), ("a", (2, 3), 5)])
    assert nearfar.distances(graph, [1, "a"], targets=["a", (2, 3)]).tolist() == [[4, 9], [0, 5]]
    assert nearfar.sssp(graph, 1, targets=["a", (2, 3)]).n_reached == 3


@pytest.mark.parametrize("names", [[b"c", b"c\0", b"d"], ["c", "c\0", "d"]])
def test_a_nul_at_the_end_of_a_name_is_part_of_it(names) -> None:
    """NumPy drops it from arrays of text, as of the keys that a digest gives."""
    graph = Graph.from_edges(names[:2], names[1:], [3, 4])
    assert nearfar.shortest_path(graph, names[0], names[2]) == (names, 7)
    given = Graph.from_edges([0, 1], [1, 2], [3, 4], vertex_names=names, names=False)
    assert nearfar.shortest_path(given, names[0], names[2]) == (names, 7)


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_times_are_names(unit: str) -> None:
    """NumPy makes nanoseconds integers, which are not what the caller gave."""
    times = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], f"M8[{unit}]")
    for given in (times, list(times)):
        graph = Graph.from_edges(given[:2], given[1:], [3, 4])
        path, length = nearfar.shortest_path(graph, times[0], times[2])
        assert [str(day)[:10] for day in path] == ["2026-01-01", "2026-01-02", "2026-01-03"]
        assert length == 7
        assert graph.indices_of(times).tolist() == [0, 1, 2]
        assert nearfar.shortest_path(graph, path[0], path[2])[1] == 7
    nodes = nx.DiGraph()
    nodes.add_edge(times[0], times[1], weight=3)
    assert nearfar.distances(nodes, [times[0]], targets=[times[1]]).tolist() == [[3]]


def test_columns_of_arrow_are_vertices() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"source": [0, 1], "target": [1, 2]})
    assert nearfar.distances(line(), table["source"], targets=table["target"]).shape == (2, 2)
    named = Graph.from_edges(pa.array(["a", "b"]), pa.array(["b", "c"]), [3, 4])
    assert nearfar.distances(named, pa.array(["a"]), targets=pa.array(["c"])).tolist() == [[7]]


@pytest.mark.parametrize("names", [[1, "a", 2], [(1, "a"), (2, "b"), (3, "c")]])
def test_names_that_polars_cannot_hold(names) -> None:
    pytest.importorskip("polars")
    graph = Graph.from_edges([0, 1], [1, 2], [3, 4], vertex_names=names, names=False)
    for call in (
        lambda: nearfar.sssp(graph, names[0]).to_frame("polars"),
        lambda: nearfar.distances(graph, out="polars"),
        lambda: nearfar.distances(graph, pairs=[names[:2], names[1:]], out="polars"),
        lambda: nearfar.nearest(graph, [names[0]]).to_frame(graph, "polars"),
    ):
        with pytest.raises(OptionError, match=r"no polars column holds .* such as .*1.*'a'"):
            call()


@pytest.mark.parametrize("n", [3.0, 3.7, "4", [4]])
def test_a_number_of_vertices_that_is_none(n) -> None:
    with pytest.raises(GraphError, match=r"n_vertices is .*: give an integer"):
        Graph.from_edges([0], [1], n_vertices=n)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"block": 1.5}, "block is 1.5"),
        ({"memory": "1G"}, "memory is '1G'"),
        ({"memory": float("nan")}, "memory is nan"),
        ({"method": None}, "method is None"),
        ({"stats": []}, "stats is"),
        ({"progress": True}, "progress is True: give a function, or None"),
        ({"pairs": [0, 1]}, "pair"),
        ({"reduce": ("histogram", 5)}, "ascending edges"),
        ({"reduce": ("histogram", ["a", "b"])}, "ascending edges"),
        ({"reduce": "nearest:²"}, "nearest:k"),
        ({"out": ""}, "give the name of a file"),
    ],
)
def test_arguments_of_the_wrong_kind(given, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        nearfar.distances(line(), **given)
    with pytest.raises(OptionError, match="method is 3"):
        nearfar.sssp(line(), 0, method=3)  # type: ignore[arg-type]


NAMES = [None, range(4), range(1, 5), range(-2, 2), [9, 7, 8, 5], ["a", "b", "c", "d"]]


@pytest.mark.parametrize("names", NAMES)
def test_names_in_names_out(names) -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [4, 3, 2], vertex_names=names, names=False)
    told = list(range(4)) if names is None else list(names)
    assert [graph.name_of(i) for i in range(4)] == told
    assert [graph.index_of(name) for name in told] == [0, 1, 2, 3]
    for several in (told, tuple(told), np.array(told), iter(told)):
        if not hasattr(several, "__next__"):
            assert graph.index_of(several).tolist() == [0, 1, 2, 3]
            assert graph.index_of(several).dtype == np.int64
    assert sorted(graph.index_of(set(told)).tolist()) == [0, 1, 2, 3]
    assert graph.index_of([]).tolist() == []
    assert graph.name_of([3, 0]).tolist() == [told[3], told[0]]
    assert graph.name_of(np.array([[1], [2]])).tolist() == [[told[1]], [told[2]]]
    paths = nearfar.sssp(graph, told[0], targets=told)
    assert paths.path_to(told[3]) == told
    again = pickle.loads(pickle.dumps(graph))
    assert again.index_of(told).tolist() == [0, 1, 2, 3]
    plain = graph.without_names()
    assert plain.vertex_names is None
    assert plain is graph.without_names() is plain.without_names()
    assert nearfar.sssp(plain, 0).distances.tolist() == paths.distances.tolist()
    assert graph.transpose().name_of(2) == graph.astype(np.float64).name_of(2) == told[2]
    for wrong in ([told[0], "?"], [told[0], 99], ["99"], [None], [[told[0]]], [99.5]):
        with pytest.raises(VertexError):
            graph.index_of(wrong)
    for call in (
        lambda: graph.index_of(np.array([[told[0]]])),
        lambda: graph.index_of(told, "source"),
        lambda: nearfar.sssp(graph, told),
        lambda: nearfar.sssp(graph, (told[0],)),
    ):
        with pytest.raises(VertexError):
            call()


def test_consecutive_names_take_no_memory() -> None:
    names = range(1, 2**16 + 1)
    graph = Graph.from_edges([0], [2**16 - 1], vertex_names=names, names=False)
    assert graph.vertex_names is names
    assert graph.index_of(np.array([1, 2**16], dtype=np.uint32)).tolist() == [
        0,
        2**16 - 1,
    ]
    assert "_index_by_name" not in graph.__dict__
    assert pickle.loads(pickle.dumps(graph)).vertex_names == names
    for bad in (0, 2**16 + 1, [1, 0], np.array([2**16 + 1]), np.array([2**63], dtype=np.uint64)):
        with pytest.raises(VertexError, match="give 1 to 65536"):
            graph.index_of(bad)
    with pytest.raises(GraphError, match="vertex_names has length 3: give 2 names"):
        Graph.from_edges([0], [1], vertex_names=range(3), names=False)
    by_twos = Graph.from_edges([0], [1], vertex_names=range(0, 4, 2), names=False)
    assert by_twos.name_of(1) == 2


def test_a_tuple_that_is_a_name_is_one_vertex() -> None:
    grid = Graph.from_networkx(nx.grid_2d_graph(2, 2))
    corner = grid.index_of((1, 1))
    assert grid.name_of(corner) == (1, 1)
    assert grid.index_of(((0, 0), (1, 1))).tolist() == [grid.index_of((0, 0)), corner]
    with pytest.raises(VertexError):
        grid.index_of((5, 5))
    with pytest.raises(VertexError):
        grid.index_of(([0], 1))


def test_matrix_functions_count_places() -> None:
    """SciPy's indices are rows of the matrix, regardless of names."""
    import nearfar.csgraph

    graph = Graph.from_edges([0, 1], [1, 2], [4.0, 3.0], vertex_names=range(1, 4), names=False)
    assert nearfar.csgraph.dijkstra(graph, indices=0).tolist() == [0, 4, 7]
    assert nearfar.distances(graph, pairs=[(1, 3), (2, 3)]).tolist() == [7, 3]


def test_consecutive_names_in_every_room(tmp_path) -> None:
    """Prepared graphs and the nearest of several places answer in the file's numbers."""
    grid = nearfar.generate("grid", rows=6, columns=7, missing=0, seed=4)
    graph = Graph.from_csr(
        grid.indptr, grid.indices, grid.weights, directed=False, vertex_names=range(1, 43)
    )
    want = nearfar.distances(grid, [0, 5, 9], targets=[7, 41])
    np.testing.assert_array_equal(nearfar.distances(graph, [1, 6, 10], targets=[8, 42]), want)
    near = nearfar.nearest(graph, [1, 42])
    assert set(near.sources.tolist()) == {1, 42}
    prepared = nearfar.prepare(graph)
    pairs = np.array([[1, 8], [6, 42], [10, 42]])
    np.testing.assert_array_equal(prepared.distances_of_pairs(pairs), np.diag(want[:, [0, 1, 1]]))
    prepared.save(tmp_path / "p.nfp")
    assert nearfar.load(tmp_path / "p.nfp").vertex_names == range(1, 43)


class TestIntegerNames:
    """Integers are names, not indices, if names were given."""

    def test_ends_are_names_where_names_are_given(self) -> None:
        numbers = Graph.from_edges([2, 1], [1, 0], [10, 20], vertex_names=[2, 1, 0])
        texts = Graph.from_edges(["2", "1"], ["1", "0"], [10, 20], vertex_names=["2", "1", "0"])
        assert nearfar.shortest_path(numbers, 2, 1) == ([2, 1], 10)
        assert nearfar.shortest_path(texts, "2", "1") == (["2", "1"], 10)
        assert numbers.indices.tolist() == texts.indices.tolist() == [1, 2]
        by_range = Graph.from_edges([7, 8], [8, 9], [1, 1], vertex_names=range(7, 11))
        assert by_range.indices.tolist() == [1, 2]

    def test_indices_beside_names_are_said(self) -> None:
        g = Graph.from_edges([2, 1], [1, 0], [10, 20], vertex_names=[2, 1, 0], names=False)
        assert nearfar.shortest_path(g, 0, 1) == ([0, 1], 10)
        with pytest.raises(GraphError, match=r"0 is not among vertex_names.*names=False"):
            Graph.from_edges([0], [1], vertex_names=["a", "b"])

    def test_large_ids(self) -> None:
        ids = np.array([10_264_346_111, 98_765, 10_264_346_111])
        others = np.array([98_765, 5_000_000_000, 5_000_000_000])
        for given in (ids, ids.tolist(), ids.astype(np.uint64)):
            g = Graph.from_edges(given, others, [1, 2, 9], names=True)
            assert g.vertex_names.tolist() == sorted({*ids.tolist(), *others.tolist()})  # type: ignore[union-attr]
            assert nearfar.shortest_path(g, ids[0], others[1]) == (
                [10_264_346_111, 98_765, 5_000_000_000],
                3,
            )
        known = np.unique(np.concatenate([ids, others, [4]]))
        more = Graph.from_edges(ids, others, [1, 2, 9], vertex_names=known)
        assert more.n_vertices == 4
        assert nearfar.shortest_path(more, ids[0], others[1])[1] == 3
        with pytest.raises(GraphError, match="98765 is not among vertex_names"):
            Graph.from_edges(ids, others, vertex_names=[10_264_346_111, 5_000_000_000])

    def test_other_numbers_are_names_where_that_is_said(self) -> None:
        g = Graph.from_edges([0.5, 1.5], [1.5, 2.5], [1, 2], names=True)
        assert nearfar.shortest_path(g, 0.5, 2.5) == ([0.5, 1.5, 2.5], 3)

    def test_gaps_are_remarked_on(self) -> None:
        with pytest.warns(UserWarning, match="310 vertices, of which 3 have an edge.*names=True"):
            Graph.from_edges([101, 205], [205, 309], [1.0, 2.0])
        assert Graph.from_edges([101], [309], names=False).n_vertices == 310
        assert Graph.from_edges([101], [309], n_vertices=310).n_vertices == 310
        assert Graph.from_edges([0], [19]).n_vertices == 20  # one vertex in ten has edges
        # Many sinks of one source are no gaps.
        assert Graph.from_edges(np.zeros(999, np.int64), np.arange(1, 1000)).n_vertices == 1000

    @pytest.mark.parametrize("names", [[5, 6, 6], ["5", "6", "6"]])
    def test_a_name_of_several_vertices_is_no_end(self, names: list[object]) -> None:
        with pytest.raises(GraphError, match="name of several vertices"):
            Graph.from_edges(names[:1], names[1:2], vertex_names=names)
        assert Graph.from_edges(names[:1], names[:1], vertex_names=names).n_vertices == 3
