"""Many sources in the lanes of warps on the emulated device, where warps share long rows."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar import Graph, distances
from nearfar.algorithms.batched import cuda
from tests.zoo import DTYPES, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def hubs(dtype: str, n: int = 90) -> Graph:
    """Return two stars whose leaves also have random edges, some of weight zero."""
    rng = np.random.default_rng(6)
    leaves = np.arange(2, n)
    sources = np.r_[np.repeat([0, 1], n - 2), leaves, rng.integers(2, n, n)]
    targets = np.r_[leaves, leaves, rng.integers(0, n, n - 2), rng.integers(0, n, n)]
    weights = rng.integers(0, 9, len(sources))
    return as_dtype(Graph.from_edges(sources, targets, weights, n_vertices=n), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 1), (7, 2), (64, 4), (1 << 20, 4)])
def test_rows_of_any_length_and_number_of_sources(
    dtype: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row is long from ``shape[0]`` edges on, and has pieces of 2 to 16 edges."""
    monkeypatch.setattr(cuda, "_long_rows", lambda _: shape)
    graph, rng = hubs(dtype), np.random.default_rng(3)
    for count in (1, 2, 3, 8, 16, 17, 32, 33, 70):
        sources = rng.integers(0, graph.n_vertices, count)
        limit = 5 if count % 3 == 0 else None
        columns = [5, 0, 88] if count % 2 else None
        asked = {"limit": limit, "targets": columns}
        found = distances(graph, sources, method="lanes@cuda", **asked)
        want = distances(graph, sources, method="worker_per_source@cpu", **asked)
        np.testing.assert_array_equal(found, want)


def test_long_rows_are_found_by_the_mean_degree() -> None:
    for degree in (1.0, 20.0, 40.0, 1000.0):
        long_row, log_piece = cuda._long_rows(degree)
        assert long_row <= 128  # one warp takes long for more
        assert long_row >= min(128, 2 * degree)  # otherwise most rows of even graphs are long
        assert 1 < long_row >> log_piece <= 4
