"""The search on a bare matrix: equal answers, and nothing wrong with a matrix goes unseen."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs

import nearfar
import nearfar.csgraph as ours
from nearfar.csgraph.one_search import search_once
from nearfar.csgraph.rows import Engine
from tests.test_csgraph import assert_tree, random_matrix


@pytest.mark.parametrize("density", [0.01, 0.5])
@pytest.mark.parametrize("whole", [True, False])
def test_one_search_reads_the_bare_matrix(density: float, whole: bool) -> None:
    matrix = random_matrix(5, n=300, density=density)
    if not whole:
        matrix.data = np.random.default_rng(6).random(matrix.nnz)
    matrix.data[::7] = np.nan
    found = search_once(matrix, 3, np.inf, True, Engine(threads=1))
    assert found is not None
    clean = matrix.tocoo()
    keep = ~np.isnan(clean.data)
    clean = sp.csr_array((clean.data[keep], (clean.row[keep], clean.col[keep])), shape=matrix.shape)
    np.testing.assert_array_equal(found[0], theirs.dijkstra(clean, indices=3))
    assert found[1] is not None
    assert_tree(clean, found[0], found[1], 3)
    near = search_once(matrix, [3], 4, False, Engine(threads=1))
    assert near is not None
    np.testing.assert_array_equal(near[0], theirs.dijkstra(clean, indices=3, limit=4))


@pytest.mark.parametrize("row", [0, 39])
@pytest.mark.parametrize("weight", [-1.0, np.inf, -np.inf, 1e308])
def test_one_search_leaves_odd_weights_to_the_long_way(row: int, weight: float) -> None:
    matrix = sp.csr_array(np.triu(np.ones((40, 40)), 1).T)
    matrix = sp.csr_array(matrix + sp.csr_array(([1.0], ([0], [3])), shape=(40, 40)))
    matrix.data[matrix.indptr[row]] = weight
    # From vertex 5 the search reads row 0, but never row 39: both are checked.
    assert search_once(matrix, 5, np.inf, False, Engine(threads=1)) is None


def test_one_search_does_not_follow_an_edge_out_of_the_graph() -> None:
    matrix = random_matrix(5)
    indices = matrix.indices.copy()
    indices[7] = 1_000_000
    bad = sp.csr_array(matrix.shape)
    bad.indptr, bad.indices, bad.data = matrix.indptr, indices, matrix.data
    with pytest.raises(nearfar.errors.GraphError, match="1000000"):
        ours.dijkstra(bad, indices=0, threads=1)


def test_a_view_keeps_its_arrays() -> None:
    from nearfar._cpu import GraphView

    weights = np.ones(1, dtype=np.int32)
    alive = weakref.ref(weights)
    view = GraphView(np.array([0, 1], dtype=np.int32), np.zeros(1, dtype=np.int32), weights)
    del weights
    assert alive() is not None
    del view
    assert alive() is None
