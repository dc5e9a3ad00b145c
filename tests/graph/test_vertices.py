"""Sources and targets in every shape in which people have vertices."""

from __future__ import annotations

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


def test_sets_as_targets() -> None:
    assert nearfar.sssp(line(), 0, targets={1, 2}).n_reached == 3


@pytest.mark.parametrize(
    "wrong", [[0, 1.5], [0, True], [0, [1]], [2**70], [-(2**70)], [0, None], "01", [[0, 1]], [0, 4]]
)
def test_what_is_no_vertex(wrong) -> None:
    for call in (
        lambda: nearfar.distances(line(), wrong),
        lambda: nearfar.distances(line(), [0], targets=wrong),
        lambda: nearfar.sssp(line(), 0, targets=wrong),
    ):
        with pytest.raises(VertexError):
            call()


def test_names_of_several_kinds() -> None:
    """An array of 1 and "a" would hold the strings "1" and "a"."""
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(1, "a", 4), ("a", (2, 3), 5)])
    assert nearfar.distances(graph, [1, "a"], targets=["a", (2, 3)]).tolist() == [[4, 9], [0, 5]]
    assert nearfar.sssp(graph, 1, targets=["a", (2, 3)]).n_reached == 3


@pytest.mark.parametrize("n", [3.0, 3.7, "4", [4]])
def test_a_number_of_vertices_that_is_none(n) -> None:
    with pytest.raises(GraphError, match=r"n_vertices is .*: give a whole number"):
        Graph.from_edges([0], [1], n_vertices=n)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"block": 1.5}, "block is 1.5"),
        ({"memory": "1G"}, "memory is '1G'"),
        ({"memory": float("nan")}, "memory is nan"),
        ({"method": None}, "method is None"),
        ({"stats": []}, "stats is"),
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
