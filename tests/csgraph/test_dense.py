"""Dense matrices are searched without lists of their edges."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse.csgraph as theirs

import nearfar.csgraph as ours
from nearfar import _cpu

INF = np.inf


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list to which every search of a dense matrix appends whether it was answered."""
    called: list[bool] = []
    real = _cpu.dense_rows

    def noted(*given: Any) -> bool:
        called.append(real(*given))
        return called[-1]

    monkeypatch.setattr(_cpu, "dense_rows", noted)
    return called


def square(n: int, seed: int, *, share: float = 0.6, ties: bool = False) -> Any:
    """Return a random matrix with entries of every kind that is no edge."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(1, 6, (n, n)).astype(float) if ties else rng.random((n, n)) + 0.01
    matrix[rng.random((n, n)) > share] = 0
    for value in (np.nan, INF, -INF):
        matrix[rng.random((n, n)) < 0.02] = value
    return matrix


def listed(matrix: Any, directed: bool) -> Any:
    """Return the same edges as a sparse matrix, in both directions if they are undirected."""
    values = np.asarray(matrix, dtype=float)
    values = np.where(np.isfinite(values) & (values != 0), values, INF)
    return theirs.csgraph_from_dense(values if directed else np.minimum(values, values.T), INF)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 33, 64, 130])
@pytest.mark.parametrize("ties", [False, True])
def test_rows_and_predecessors_are_those_of_a_list_of_edges(
    n: int, ties: bool, calls: list[bool]
) -> None:
    matrix = square(n, n, ties=ties)
    sources = [[0], [n - 1, 0, n // 2], np.arange(n)]
    limits = [INF, 2.0 if ties else 0.3, 0.0]
    for directed, unweighted, limit, indices, threads in itertools.product(
        [True, False], [True, False], limits, sources, [1, 3]
    ):
        given: dict[str, Any] = {"indices": indices, "limit": limit, "return_predecessors": True}
        found = ours.dijkstra(matrix, directed, unweighted=unweighted, threads=threads, **given)
        sparse = listed(matrix, directed)
        if unweighted:
            sparse.data[:] = 1
        expected = ours.dijkstra(sparse, method_variant="dijkstra_binary_heap", **given)
        for own, other in zip(found, expected, strict=True):
            assert np.array_equal(own, other)
            assert own.dtype == other.dtype
        given["return_predecessors"] = False
        alone = ours.dijkstra(matrix, directed, unweighted=unweighted, threads=threads, **given)
        assert np.array_equal(alone, expected[0])
        least = ours.dijkstra(
            matrix, directed, indices, True, unweighted, limit, min_only=True, threads=threads
        )
        assert np.array_equal(least[0], expected[0].min(axis=0))
        reached = np.isfinite(least[0])
        assert np.array_equal(reached, least[2] >= 0)
        by_source = dict(zip(np.asarray(indices).tolist(), expected[0], strict=True))
        for v in np.flatnonzero(reached):
            assert by_source[int(least[2][v])][v] == least[0][v]
    assert calls
    assert all(calls)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.float32, bool])
def test_other_dtypes_and_layouts(dtype: type, calls: list[bool]) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.integers(0, 9, (40, 40)).astype(dtype)
    expected = theirs.dijkstra(matrix.astype(float))
    for given in (
        matrix,
        np.asfortranarray(matrix),
        matrix.tolist(),
        np.repeat(matrix, 2, 1)[:, ::2],
    ):
        assert np.array_equal(ours.dijkstra(given), expected)
        assert np.array_equal(ours.shortest_path(given), expected)
    assert calls == [True] * 8


def test_all_functions_agree_with_scipy(calls: list[bool]) -> None:
    matrix = square(50, 5, ties=True)
    for name in ("dijkstra", "johnson", "bellman_ford", "floyd_warshall"):
        for directed in (True, False):
            found = getattr(ours, name)(matrix, directed=directed)
            clean = listed(matrix, directed)
            assert np.array_equal(found, getattr(theirs, name)(clean)), name
    assert calls == [True] * 8


def test_predecessors_are_strictly_nearer_where_an_edge_changes_no_sum(calls: list[bool]) -> None:
    """1e16 + 1 == 1e16, so that vertices 2 and 3 are as far as each other."""
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[0, 2] = 1e16
    matrix[1, 3] = matrix[3, 1] = matrix[2, 3] = matrix[3, 2] = 1
    distances, before = ours.dijkstra(matrix, indices=0, return_predecessors=True)
    expected = ours.dijkstra(listed(matrix, True), indices=0, return_predecessors=True)
    assert np.array_equal(distances, expected[0])
    assert np.array_equal(before, expected[1])
    both = ours.dijkstra(
        matrix, directed=False, indices=[0], return_predecessors=True, min_only=True
    )
    assert np.array_equal(both[0], expected[0])
    assert both[2].tolist() == [0, 0, 0, 0]
    assert calls == [False, False]


def test_others_are_searched_by_their_edges(calls: list[bool]) -> None:
    negative = square(30, 1)
    negative[3, 4] = -0.001
    with pytest.warns(UserWarning, match="negative"):
        ours.dijkstra(negative, indices=3)
    overflow = np.full((3, 3), 1e308)
    assert np.array_equal(ours.dijkstra(overflow), theirs.dijkstra(overflow))
    thin = square(60, 2, share=0.05)
    assert np.array_equal(ours.dijkstra(thin), ours.dijkstra(listed(thin, True)))
    assert calls == [False] * 3
    masked = np.ma.masked_array(square(20, 4), mask=np.eye(20, dtype=bool))
    ours.dijkstra(masked, indices=0)
    ours.dijkstra(square(9, 1), indices=[])
    ours.dijkstra(square(9, 1), indices=1, method_variant="delta_stepping")
    ours.dijkstra(np.full((9, 9), 2**52), indices=1)
    assert calls == [False] * 3


def test_errors_of_a_dense_matrix() -> None:
    for wrong in (np.zeros((2, 3)), np.zeros(4), np.zeros((2, 2), dtype=complex)):
        with pytest.raises(ValueError, match=r"shape|dtype"):
            ours.dijkstra(wrong)
    with pytest.raises(ValueError, match="out of range"):
        ours.dijkstra(np.ones((3, 3)), indices=3)
    with pytest.raises(IndexError):
        _cpu.dense_rows(
            np.ones((3, 3)),
            False,
            False,
            np.array([3]),
            False,
            None,
            1,
            np.empty((1, 3)),
            None,
            None,
        )
