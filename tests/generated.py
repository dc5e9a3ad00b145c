"""Shared helpers of the generator tests: edge lists, names of graphs, and two checks."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from nearfar import Graph


def edges(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sources = graph.tails(np.int64)
    return sources, graph.indices.astype(np.int64), graph.effective_weights


def fingerprint(graph: Graph) -> str:
    """Return a digest of the arrays that does not depend on the width of the index."""
    state = hashlib.sha256()
    for array in (graph.indptr.astype("<i8"), graph.indices.astype("<i8"), graph.effective_weights):
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


def assert_fits(observed: np.ndarray, expected: np.ndarray) -> None:
    """Check that chi-square is within six standard deviations of its mean."""
    observed, expected = np.asarray(observed, float), np.asarray(expected, float)
    assert expected.min() >= 5
    chi2 = float(((observed - expected) ** 2 / expected).sum())
    freedom = len(expected) - 1
    assert abs(chi2 - freedom) < 6 * math.sqrt(2 * freedom), (chi2, freedom)


def assert_symmetric(graph: Graph) -> None:
    assert not graph.directed
    s, t, w = edges(graph)
    forth, back = np.lexsort((w, t, s)), np.lexsort((w, s, t))
    np.testing.assert_array_equal(s[forth], t[back])
    np.testing.assert_array_equal(t[forth], s[back])
    np.testing.assert_array_equal(w[forth], w[back])
