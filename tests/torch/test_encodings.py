"""Distances of a batch in one tensor, compared with NetworkX and PyTorch Geometric's layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
import networkx as nx
from nearfar.errors import GraphError, NegativeCycleError, OptionError
from nearfar.system.devices import runtime
from nearfar.torch import shortest_path_distances


def batch_of(sizes: list[int], seed: int, **given: Any) -> tuple[Any, Any, Any, list[nx.DiGraph]]:
    """Return random directed graphs: edges, graph of each vertex, weights, NetworkX's graphs.

    Edges are unordered; there are parallel edges, and graphs without edges.
    """
    rng = np.random.default_rng(seed)
    ends, weights, graphs, first = [], [], [], 0
    for size in sizes:
        m = int(rng.integers(0, 3 * size + 1)) if size else 0
        pairs = rng.integers(0, size, (2, m)) if m else np.empty((2, 0), dtype=np.int64)
        w = rng.integers(0, 9, m) / given.get("divide", 1)
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(range(size))
        graph.add_weighted_edges_from(zip(*pairs.tolist(), w.tolist(), strict=True))
        graphs.append(graph)
        ends.append(pairs + first)
        weights.append(w)
        first += size
    order = rng.permutation(sum(len(w) for w in weights))
    joined = np.concatenate(ends, axis=1)[:, order]
    return joined, np.repeat(np.arange(len(sizes)), sizes), np.concatenate(weights)[order], graphs


def by_networkx(graphs: list[Any], width: int, weight: str | None, blank: float) -> np.ndarray:
    found = np.full((len(graphs), width, width), blank)
    for at, graph in enumerate(graphs):
        for i, row in nx.all_pairs_dijkstra_path_length(graph, weight=weight):
            for j, distance in row.items():
                found[at, i, j] = distance
    return found


SIZES = [5, 1, 12, 0, 7, 12, 3]


def test_hops_are_those_of_networkx() -> None:
    ends, batch, _, graphs = batch_of(SIZES, 1)
    found = shortest_path_distances(ends, batch)
    assert found.dtype == np.int32
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, by_networkx(graphs, 12, None, -1))
    wider = shortest_path_distances(ends, batch, max_num_nodes=20, batch_size=9, unreached=510)
    assert wider.shape == (9, 20, 20)
    np.testing.assert_array_equal(wider[:7, :12, :12], np.where(found < 0, 510, found))
    assert (wider[7:] == 510).all()
    near = shortest_path_distances(ends, batch, limit=2)
    np.testing.assert_array_equal(near, np.where(found > 2, -1, found))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_weighted_distances_have_the_bits_of_a_search(dtype: str) -> None:
    ends, batch, weights, graphs = batch_of(SIZES, 2, divide=7 if dtype[0] == "f" else 1)
    weights = weights.astype(dtype)
    found = shortest_path_distances(ends, batch, weights[:, None])  # edge_attr of one column
    assert found.dtype == dtype
    blank = np.inf if dtype[0] == "f" else -1
    if dtype != "float32":
        np.testing.assert_array_equal(found, by_networkx(graphs, 12, "weight", blank))
    first = 0
    for at, size in enumerate(SIZES):
        mine = np.flatnonzero(batch[ends[0]] == at)
        own = nearfar.Graph.from_edges(*(ends[:, mine] - first), weights[mine], n_vertices=size)
        rows = nearfar.all_pairs(own) if size else np.empty((0, 0))
        worst = nearfar.graph.dtypes.unreached_value(np.dtype(dtype))
        np.testing.assert_array_equal(found[at, :size, :size], np.where(rows == worst, blank, rows))
        first += size


def test_one_graph_and_none() -> None:
    ring = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
    assert shortest_path_distances(ring).tolist() == [
        [[0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0]]
    ]
    assert shortest_path_distances(ring, num_nodes=5).shape == (1, 5, 5)
    none = np.empty((2, 0), dtype=np.int64)
    assert shortest_path_distances(none, np.empty(0, np.int64)).shape == (0, 0, 0)
    assert shortest_path_distances(none, np.array([0, 0])).tolist() == [[[0, -1], [-1, 0]]]


def test_negative_weights() -> None:
    ends, batch = np.array([[0, 1, 0], [1, 2, 2]]), np.zeros(3, np.int64)
    found = shortest_path_distances(ends, batch, np.array([4.0, -3.0, 2.0]))
    np.testing.assert_array_equal(found[0, 0], [0, 4, 1])
    with pytest.raises(OptionError, match="-1 may be a distance with"):
        shortest_path_distances(ends, batch, np.array([4, -3, 2]))
    whole = shortest_path_distances(ends, batch, np.array([4, -3, 2]), unreached=99)
    assert whole.tolist() == [[[0, 4, 1], [99, 0, -3], [99, 99, 0]]]
    with pytest.raises(NegativeCycleError):
        shortest_path_distances(np.array([[0, 1], [1, 0]]), None, np.array([1.0, -2.0]))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ({"batch": np.array([0, 1])}, "edge 0 joins graph 0 and graph 1"),
        ({"batch": np.array([1, 0])}, "batch is not ascending"),
        ({"batch": np.array([0])}, "ends outside 0 to 0"),
        ({"batch": np.array([0, 0]), "num_nodes": 3}, "num_nodes is 3, but batch has 2"),
        ({"batch": np.array([0.0, 0.0])}, "batch has shape .* dtype float64"),
        ({"num_nodes": 1}, "num_nodes is 1: give at least 2"),
        ({"max_num_nodes": 1}, "max_num_nodes is 1: give at least 2"),
        ({"batch_size": 0}, "batch_size is 0: give at least 1"),
        ({"limit": -1}, "limit is -1: give at least 0"),
        ({"limit": "a"}, "limit is 'a': give a number"),
        ({"max_num_nodes": 2.5}, "max_num_nodes is 2.5: give at least 2"),
        ({"unreached": "x"}, "unreached is 'x': give a number"),
        ({"unreached": 0.5}, "unreached is 0.5, but distances are int32"),
        ({"unreached": float("nan")}, "unreached is nan"),
        ({"edge_weight": np.ones(3)}, "3 weights for 1 edges"),
        ({"cutoff": 3}, "use limit"),
    ],
)
def test_what_does_not_fit_is_refused(call: dict[str, Any], text: str) -> None:
    with pytest.raises((GraphError, OptionError), match=text):
        shortest_path_distances(np.array([[0], [1]]), **call)
    with pytest.raises(GraphError, match=r"edge_index has shape \(1, 2\)"):
        shortest_path_distances(np.array([[0, 1]]))


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", [None, "int32", "float32"])
def test_a_batch_on_a_gpu_stays_there(dtype: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    ends, batch, weights, _ = batch_of(SIZES, 3, divide=7 if dtype == "float32" else 1)
    given = None if dtype is None else weights.astype(dtype)
    want = shortest_path_distances(ends, batch, given, device="cpu")
    moved: list[int] = []
    real = runtime.download
    monkeypatch.setattr(runtime, "download", lambda a: moved.append(a.size) or real(a))
    there = [None if a is None else runtime.upload(a) for a in (ends, batch, given)]
    found = shortest_path_distances(*there, device="cuda")
    assert runtime.is_device_array(found)
    assert max(moved, default=0) < ends.size  # counters and samples, never edges or distances
    np.testing.assert_array_equal(real(found), want)


# ---- compared with PyTorch -----------------------------------------------------------------------


def test_tensors_come_back_as_tensors_in_pytorch_geometrics_layout() -> None:
    torch = pytest.importorskip("torch")
    ends, batch, weights, graphs = batch_of(SIZES, 4)
    tensors = [torch.tensor(a) for a in (ends, batch)]
    found = shortest_path_distances(*tensors)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), by_networkx(graphs, 12, None, -1))
    assert torch.nn.Embedding(14, 4)(found + 1).shape == (7, 12, 12, 4)
    learned = torch.tensor(weights, dtype=torch.float32, requires_grad=True)
    assert shortest_path_distances(*tensors, learned).dtype == torch.float32
    utils = pytest.importorskip("torch_geometric.utils")
    adjacency = utils.to_dense_adj(*tensors, batch_size=7)
    off = ~torch.eye(12, dtype=torch.bool)
    np.testing.assert_array_equal((found == 1)[:, off], (adjacency > 0)[:, off])


def test_a_batch_of_pytorch_geometric() -> None:
    pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    utils = pytest.importorskip("torch_geometric.utils")
    made = [utils.from_networkx(nx.cycle_graph(n)) for n in (3, 6, 4)]
    batch = data.Batch.from_data_list(made)
    found = shortest_path_distances(batch.edge_index, batch.batch)
    assert found.shape == (3, 6, 6)
    assert found[1, 0].tolist() == [0, 1, 2, 3, 2, 1]
    assert found[2, 1].tolist() == [1, 0, 1, 2, -1, -1]
