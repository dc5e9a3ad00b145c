"""nearfar.csgraph with matrices of the (emulated) device: SciPy's numbers, no host copies.

``tests/gpu/test_csgraph_gpu.py`` does the same with CuPy on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs

import nearfar.csgraph as ours
from nearfar.csgraph import rows
from nearfar.errors import GraphError
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances.integer_weights import in_int32
from nearfar.solve.steps import plan
from nearfar.system.devices import runtime
from tests.emulator import fake_cupy

pytestmark = pytest.mark.usefixtures("emulated_gpu")


class DeviceCsr:
    """Part of ``cupyx.scipy.sparse.csr_matrix`` that nearfar uses."""

    __module__ = "cupyx.scipy.sparse"

    def __init__(self, host: sp.csr_matrix) -> None:
        self.indptr, self.indices = runtime.upload(host.indptr), runtime.upload(host.indices)
        self.data, self.shape, self.dtype = runtime.upload(host.data), host.shape, host.dtype

    def tocsr(self) -> DeviceCsr:
        return self


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> set[tuple[int, ...]]:
    """Record the shapes of arrays copied from the device to the host."""
    shapes: set[tuple[int, ...]] = set()
    get, download = fake_cupy.ndarray.get, runtime.download

    def counted_get(self: Any, *args: Any, **kwargs: Any) -> Any:
        shapes.add(self.shape)
        return get(self, *args, **kwargs)

    def counted_download(array: Any) -> Any:
        shapes.add(array.shape)
        return download(array)

    monkeypatch.setattr(fake_cupy.ndarray, "get", counted_get)
    monkeypatch.setattr(runtime, "download", counted_download)
    return shapes


def only_statistics(copied: set[tuple[int, ...]], n: int, m: int) -> bool:
    """Return whether neither edges nor answers were copied, but at most statistics for a choice."""
    vertices = {n, n + 1, n + 2}
    edges = {m, 2 * m, m + 3}
    return not any({*shape} & (vertices | edges) for shape in copied)


def matrix(seed: int, n: int = 400, dtype: Any = np.float64) -> sp.csr_matrix:
    rng = np.random.default_rng(seed)
    found = sp.csr_matrix(sp.random_array((n, n), density=4 / n, rng=rng, format="csr"))
    if np.dtype(dtype).kind != "f":
        found.data = np.ceil(found.data * 1000)
    return found.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int64, np.int8])
@pytest.mark.parametrize("indices", [3, [0, 5, 5], [[1, 2], [3, 4]]])
@pytest.mark.parametrize("directed", [True, False])
def test_rows(indices: Any, directed: bool, dtype: Any, copied: set[tuple[int, ...]]) -> None:
    host = matrix(1, dtype=np.float64 if dtype is np.int8 else dtype)
    if dtype is np.int8:
        host.data = np.ceil(host.data * 100)
        host = host.astype(dtype)
    got, before = ours.dijkstra(
        DeviceCsr(host), indices=indices, directed=directed, return_predecessors=True
    )
    assert runtime.is_device_array(got)
    assert runtime.is_device_array(before)
    assert (got.dtype, before.dtype) == (np.float64, np.int32)
    assert only_statistics(copied, 400, host.nnz)
    want = theirs.dijkstra(host.astype(np.float64), indices=indices, directed=directed)
    np.testing.assert_array_equal(runtime.download(got), want)
    here = ours.dijkstra(host, indices=indices, directed=directed, return_predecessors=True)[1]
    np.testing.assert_array_equal(runtime.download(before), here)


@pytest.mark.parametrize("fraction", [0, 0.5])
def test_many_sources_with_integer_weights_are_searched_in_int32(
    fraction: float, monkeypatch: pytest.MonkeyPatch, copied: set[tuple[int, ...]]
) -> None:
    """As for host arrays: half the memory, and edges that no path needs are left out."""
    host = matrix(7)
    host.data = np.ceil(host.data * 1000)
    host.data[-1] += fraction  # beyond the sample
    monkeypatch.setattr(plan, "MANY_EDGES", 1)
    searched: list[Graph] = []
    run = rows.distances
    monkeypatch.setattr(rows, "distances", lambda g, *a, **k: searched.append(g) or run(g, *a, **k))
    got = ours.dijkstra(DeviceCsr(host), indices=[0, 5, 9, 11, 3])
    assert (in_int32(searched[0]) is None) == bool(fraction)
    assert runtime.is_device_array(got)
    assert got.dtype == np.float64
    assert only_statistics(copied, 400, host.nnz)
    want = theirs.dijkstra(host, indices=[0, 5, 9, 11, 3])
    np.testing.assert_array_equal(runtime.download(got), want)


def test_limit_and_unweighted(copied: set[tuple[int, ...]]) -> None:
    host = matrix(2)
    got = ours.dijkstra(DeviceCsr(host), indices=[0, 1], limit=0.5)
    hops = ours.shortest_path(DeviceCsr(host), indices=7, unweighted=True)
    assert only_statistics(copied, 400, host.nnz)
    want = theirs.dijkstra(host, indices=[0, 1], limit=0.5)
    np.testing.assert_array_equal(runtime.download(got), want)
    want = theirs.dijkstra(host, indices=7, unweighted=True)
    np.testing.assert_array_equal(runtime.download(hops), want)


def test_min_only(copied: set[tuple[int, ...]]) -> None:
    host = matrix(3)
    got, before, nearest = ours.dijkstra(
        DeviceCsr(host), indices=[1, 2, 9], min_only=True, return_predecessors=True
    )
    assert all(map(runtime.is_device_array, (got, before, nearest)))
    assert only_statistics(copied, 400, host.nnz)
    here = ours.dijkstra(host, indices=[1, 2, 9], min_only=True, return_predecessors=True)
    for there, want in zip((got, before, nearest), here, strict=True):
        np.testing.assert_array_equal(runtime.download(there), want)


def test_dense_with_entries_that_are_no_edges() -> None:
    dense = matrix(4, n=60).toarray()
    dense[3, 4], dense[5, 6], dense[7, 8] = np.nan, np.inf, -np.inf
    got = ours.dijkstra(runtime.upload(dense), indices=[1, 7])
    assert runtime.is_device_array(got)
    want = ours.dijkstra(dense, indices=[1, 7])
    np.testing.assert_array_equal(runtime.download(got), want)


def test_sparse_entries_that_are_no_edges() -> None:
    host = matrix(5)
    host.data[[3, 50, 200]] = np.nan, np.inf, -np.inf
    got = ours.dijkstra(DeviceCsr(host), indices=[1, 7])
    np.testing.assert_array_equal(runtime.download(got), ours.dijkstra(host, indices=[1, 7]))


def test_negative_weights_are_answered_too() -> None:
    host = sp.csr_matrix(np.array([[0.0, 4, 1], [0, 0, 0], [0, -2, 0]]))
    got = ours.bellman_ford(DeviceCsr(host), indices=0)
    assert runtime.is_device_array(got)
    np.testing.assert_array_equal(runtime.download(got), [0, -1, 1])
    cycle = DeviceCsr(sp.csr_matrix(np.array([[0.0, 1], [-2, 0]])))
    with pytest.raises(theirs.NegativeCycleError):
        ours.johnson(cycle)


def test_a_run_on_the_host_returns_to_the_device() -> None:
    host = matrix(6)
    got = ours.dijkstra(DeviceCsr(host), indices=[0, 1], device="cpu")
    assert runtime.is_device_array(got)
    np.testing.assert_array_equal(runtime.download(got), theirs.dijkstra(host, indices=[0, 1]))


def test_int32_sums_that_do_not_fit_are_repeated_in_64_bits() -> None:
    n = 40
    host = sp.csr_matrix(
        (np.full(n - 1, 2**30, np.int32), (np.arange(n - 1), np.arange(1, n))), shape=(n, n)
    )
    for indices in (0, [0, 1, 2]):
        got = ours.dijkstra(DeviceCsr(host), indices=indices)
        want = theirs.dijkstra(host.astype(np.float64), indices=indices)
        np.testing.assert_array_equal(runtime.download(got), want)


def test_what_is_no_square_matrix_of_numbers_is_refused() -> None:
    with pytest.raises(GraphError, match=r"must be of shape \(N, N\)"):
        ours.dijkstra(runtime.upload(np.ones((2, 3))), indices=0)
    with pytest.raises(GraphError, match="give real numbers"):
        ours.dijkstra(runtime.upload(np.ones((2, 2), dtype=complex)), indices=0)
