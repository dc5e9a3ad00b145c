"""nearfar.csgraph with CuPy input: CuPy output, SciPy's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs

import nearfar.csgraph as ours
from nearfar import Graph


def matrices(seed: int) -> tuple[sp.csr_matrix, Any]:
    """Return one matrix for SciPy and the same one on the device."""
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    rng = np.random.default_rng(seed)
    host = sp.csr_matrix(sp.random_array((300, 300), density=0.02, rng=rng, format="csr"))
    return host, sparse.csr_matrix(host)


@pytest.mark.parametrize("indices", [None, 3, [0, 5, 5], [[1, 2], [3, 4]]])
@pytest.mark.parametrize("directed", [True, False])
def test_sparse_matrix_of_the_device(indices: object, directed: bool) -> None:
    import cupy

    host, device = matrices(1)
    got, before = ours.dijkstra(
        device, indices=indices, directed=directed, return_predecessors=True
    )
    assert isinstance(got, cupy.ndarray)
    assert isinstance(before, cupy.ndarray)
    assert got.dtype == np.float64
    assert before.dtype == np.int32
    want = theirs.dijkstra(host, indices=indices, directed=directed)
    np.testing.assert_array_equal(got.get(), want)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("indices", [3, [0, 5, 9], [[1, 2], [3, 4]]])
@pytest.mark.parametrize("directed", [True, False])
def test_no_edge_and_no_answer_goes_over_the_host(
    indices: object, directed: bool, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only statistics for an automatic choice are copied to the host, never the graph's arrays."""
    import cupy

    made: list[Graph] = []
    fill = Graph._fill

    def recorded(self: Graph, *args: Any, **kwargs: Any) -> None:
        made.append(self)
        fill(self, *args, **kwargs)

    monkeypatch.setattr(Graph, "_fill", recorded)
    host, device = matrices(5)
    if np.dtype(dtype).kind != "f":
        host.data, device.data = np.ceil(host.data * 1000), cupy.ceil(device.data * 1000)
    host = host.astype(dtype)
    device.data = device.data.astype(dtype)
    got, before = ours.dijkstra(
        device, indices=indices, directed=directed, return_predecessors=True
    )
    assert isinstance(got, cupy.ndarray)
    assert isinstance(before, cupy.ndarray)
    assert made
    for graph in made:
        assert not {"indptr", "indices", "weights"} & set(graph.__dict__)
    want = theirs.dijkstra(host.astype(np.float64), indices=indices, directed=directed)
    np.testing.assert_array_equal(got.get(), want)


def test_broken_arrays_of_the_device_are_refused() -> None:
    import cupy

    from nearfar import Graph
    from nearfar.errors import GraphError

    good = cupy.asarray([0, 1, 2, 3]), cupy.asarray([1, 2, 0]), cupy.asarray([1.0, 2.0, 3.0])
    assert Graph.from_csr(*good).max_weight == 3.0
    for place, broken, message in (
        (0, [0, 2, 1, 3], "must be nondecreasing"),
        (1, [1, 3, 0], "edge 1 goes to 3"),
        (2, [1.0, np.nan, 3.0], "weight of edge 1 is nan"),
    ):
        arrays = list(good)
        arrays[place] = cupy.asarray(broken)
        with pytest.raises(GraphError, match=message):
            Graph.from_csr(*arrays)


def test_facts_of_a_large_graph() -> None:
    """Records of many blocks are joined to the host's counts."""
    import cupy

    from nearfar import Graph
    from nearfar.generators import generate

    host = generate("uniform_random", vertices=200_000, degree=8, low=0)
    made = Graph.from_csr(*map(cupy.asarray, (host.indptr, host.indices, host.weights)))
    for fact in ("n_negative", "has_zero_weight", "min_weight", "max_weight", "max_degree"):
        assert getattr(made, fact) == getattr(host, fact), fact
    assert made.mean_weight == pytest.approx(host.mean_weight)
    assert made.widest_vertex == host.widest_vertex


def test_dense_array_of_the_device() -> None:
    import cupy

    host, _ = matrices(2)
    dense = host.toarray()
    got = ours.shortest_path(cupy.asarray(dense), indices=cupy.asarray([1, 7]))
    assert isinstance(got, cupy.ndarray)
    np.testing.assert_array_equal(got.get(), theirs.dijkstra(dense, indices=[1, 7]))


def test_min_only_on_the_device() -> None:
    host, device = matrices(3)
    got, _, nearest = ours.dijkstra(
        device, indices=[1, 2, 9], min_only=True, return_predecessors=True
    )
    want = theirs.dijkstra(host, indices=[1, 2, 9], min_only=True)
    np.testing.assert_array_equal(got.get(), want)
    assert set(nearest.get()[np.isfinite(want)].tolist()) <= {1, 2, 9}


def test_host_matrix_on_the_device_gives_host_arrays() -> None:
    host, _ = matrices(4)
    got = ours.dijkstra(host, indices=[0, 1, 2], device="cuda")
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, theirs.dijkstra(host, indices=[0, 1, 2]))
