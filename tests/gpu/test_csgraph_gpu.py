"""nearfar.csgraph with CuPy input: CuPy output, SciPy's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs

import nearfar.csgraph as ours


def matrices(seed: int) -> tuple[sp.csr_matrix, Any]:
    """One matrix for SciPy and the same on the device."""
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
